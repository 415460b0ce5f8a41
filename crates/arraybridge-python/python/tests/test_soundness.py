"""What Python code may try with memory that it was handed, and what must not come of it."""

import ctypes
import gc
import os
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest
from conftest import NUMPY_2

import arraybridge_rs as ab


def churn():
    """Takes whatever memory has just been freed."""
    return [np.array(float(i)) for i in range(200)]


def test_bytes_of_bool_are_checked_before_rust_has_them_again():
    array = ab.convert(np.ones((2, 3), bool), "ndarray")
    view = array.__array__()
    view.view("u1")[0, 0] = 2
    del view
    for _ in range(2):
        with pytest.raises(BufferError, match="other than 0 and 1"):
            array.to("ndarray")
    with pytest.raises(BufferError, match="other than 0 and 1"):
        array[0]
    # Nothing was lost: Python code mends what it broke.
    assert array.shape == (2, 3)
    np.asarray(array).view("u1")[0, 0] = 1
    assert np.asarray(array.to("ndarray")).all()


def test_a_numpy_scalar_is_an_array_of_its_own():
    array = ab.Array(np.float64(3.5))
    view = np.from_dlpack(array)
    kept = churn()
    assert view == 3.5 and array.shape == () and len(kept) == 200
    for array in (ab.Array(np.float64(3.5)), ab.Array(np.arange(3.0))[1]):
        assert type(array.unwrap()) is np.ndarray
        assert type(array.__array__()) is np.ndarray
        np.add(array, 1, out=array)
    assert np.asarray(array) == 2.0


class Told(ctypes.Structure):
    """The structure of `__array_struct__`."""

    _fields_ = [
        ("two", ctypes.c_int),
        ("nd", ctypes.c_int),
        ("typekind", ctypes.c_char),
        ("itemsize", ctypes.c_int),
        ("flags", ctypes.c_int),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("data", ctypes.c_void_p),
        ("descr", ctypes.c_void_p),
    ]


def telling(**fields):
    """An object whose `__array_struct__` has these fields, and what keeps its memory."""
    base = np.arange(6.0)
    lengths = (ctypes.c_ssize_t * 1)(6)
    told = Told(2, 1, b"f", 8, 0x701, ctypes.addressof(lengths), None, base.ctypes.data, None)
    for name, value in fields.items():
        setattr(told, name, value)
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]

    class Telling:
        kept = (base, lengths, told)
        __array_struct__ = new(ctypes.addressof(told), None, None)

    return Telling()


def test_structures_without_strides_are_row_major_and_others_are_refused():
    assert np.asarray(ab.convert(telling(), "ndarray")).tolist() == [0, 1, 2, 3, 4, 5]
    with pytest.raises(BufferError, match="no lengths"):
        ab.Array(telling(shape=None))
    with pytest.raises(BufferError, match="more axes"):
        ab.Array(telling(nd=1000))
    with pytest.raises(BufferError, match="null"):
        ab.Array(telling(data=None))


class Reader:
    """A consumer of the array interface that keeps its exporter, as NumPy's page shows it."""

    def __init__(self, array):
        self.array = array
        self.__array_interface__ = dict(array.__array_interface__)


def test_an_address_that_was_told_stays_good_whoever_made_the_array(package):
    arrays = [ab.convert(np.arange(2000.0), "ndarray"), ab.Array(np.arange(2000.0)), ab.Array([0.0, 1.0])]
    for array in arrays:
        seen = np.asarray(Reader(array))
        for _ in range(3):
            array.to("ndarray")
        kept = [np.full(2000, 7.0) for _ in range(30)]
        assert seen[:2].tolist() == [0, 1] and kept
        np.asarray(array)[0] = 5
        assert seen[0] == 5
    dask, pandas = package("dask.array"), package("pandas")
    frame = pandas.DataFrame({"x": [1.0, 2.0], "y": [3, 4]})

    class Fresh:
        def __array__(self, dtype=None, copy=None):
            return np.arange(3.0)

    # These make an array for each reader, so there is no address to tell; the data is there still.
    for made in (dask.arange(200.0, chunks=50), frame, Fresh()):
        array = ab.Array(made)
        with pytest.raises(AttributeError):
            array.__array_interface__
        assert np.asarray(array).shape == array.shape


def test_an_address_is_told_of_memory_that_has_not_gone_home():
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(300):
            array, made = ab.convert(np.arange(2000.0), "ndarray"), []
            thread = threading.Thread(target=lambda: made.extend(array.to("ndarray") for _ in range(3)))
            thread.start()
            address = array.__array_interface__["data"][0]
            thread.join()
            assert np.asarray(array).__array_interface__["data"][0] == address
            with ab.Counters() as counters:
                array[0]
            assert all(row["copied"] for row in counters.rows())
    finally:
        sys.setswitchinterval(interval)


def run(code, **environment):
    """Runs a program that may hang or crash, and returns what it prints."""
    head = "import gc, os, threading, time, numpy as np, arraybridge_rs as ab\n"
    command = [sys.executable, "-c", head + code]
    done = subprocess.run(command, capture_output=True, timeout=60, env={**os.environ, **environment})
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def test_an_object_whose_own_code_uses_its_array_is_no_deadlock():
    run("""
class Producer:
    seen = array = None
    def __dlpack_device__(self): return (1, 0)
    def __dlpack__(self, **keywords):
        if self.array is not None and self.seen is None:
            self.seen = "asking"
            self.seen = (self.array.library, self.array.shape, self.array.to("ndarray").shape)
        return np.arange(3.0).__dlpack__()
made = Producer()
made.array = ab.Array(made)
assert made.array.shape == (3,)
assert made.seen == ("python", (3,), (3,)), made.seen
""")


def test_an_object_whose_own_code_uses_its_array_for_ever_is_an_error():
    run("""
class Producer:
    def __dlpack_device__(self): return (1, 0)
    def __dlpack__(self, **keywords):
        if hasattr(self, "array"): self.array.shape
        return np.arange(3.0).__dlpack__()
class Lazy:
    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.array) if hasattr(self, "array") else np.arange(3.0)
for kind in Producer, Lazy:
    made = kind()
    made.array = ab.Array(made)
    for use in (lambda: made.array.shape, lambda: ab.convert(made, "ndarray")):
        try: use()
        except (RecursionError, BufferError) as error: assert "deep" in str(error), error
        else: raise AssertionError(use)
""")


def test_what_the_garbage_collector_runs_may_use_the_array():
    run("""
class Node:
    def __init__(self): self.me = self
    def __del__(self):
        shapes.append(array.shape)
        array.to("ndarray"), np.asarray(array)
shapes, array = [], ab.convert(np.arange(3.0), "ndarray")
uses = [lambda: np.asarray(array), lambda: array.to("python"), lambda: array[0], lambda: array + 1]
for use in uses:
    # It runs after every number of allocations.
    for allocations in range(1, 80):
        gc.disable()
        gc.collect()
        Node()
        gc.set_threshold(allocations)
        gc.enable()
        use()
gc.collect()
assert shapes == [(3,)] * 79 * len(uses), len(shapes)
assert np.asarray(array).tolist() == [0, 1, 2]
""")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_forked_processes_use_arrays_that_were_in_use_elsewhere():
    run("""
array, free = ab.convert(np.arange(3_000_000.0), "ndarray"), ab.convert(np.arange(3.0), "ndarray")
stop = False
def work():
    while not stop: array.to("ndarray"); view = np.asarray(array); array.to("ndarray"); del view
thread = threading.Thread(target=work)
thread.start()
time.sleep(0.2)
for _ in range(8):
    child = os.fork()
    if child == 0:
        try:
            assert array.shape == (3_000_000,) and np.max(free) == 2
            try: np.asarray(array)
            except RuntimeError as error: assert "when the process forked" in str(error)
            os._exit(0)
        except BaseException as error:
            print(repr(error), flush=True)
        os._exit(1)
    until = time.monotonic() + 20
    done = 0
    while not done and time.monotonic() < until: done, status = os.waitpid(child, os.WNOHANG); time.sleep(0.01)
    if not done:
        os.kill(child, 9)
        os.waitpid(child, 0)
    assert done and status == 0, "a child hangs" if not done else status
stop = True
thread.join()
""")


def test_numpy_does_not_write_what_another_library_holds_immutable():
    printed = run(
        """
there = ab.libraries()["xla"]
named = [device for device in there["devices"] if device.startswith("device:")]
if not named: print("skipped:", there["why"])
for device in named:
    array = ab.convert(np.arange(4096, dtype="f4"), "xla", device)
    second = array.to("xla", device)
    view = array.__array__()
    view[:] = 99
    assert np.max(np.asarray(second.to("ndarray"))) == 4095
    assert np.max(np.asarray(array.to("ndarray"))) == 4095
""",
        ARRAYBRIDGE_XLA_CPU_DEVICES="2",
    )
    if "skipped" in printed:
        pytest.skip(printed)


def test_numpy_functions_take_arrays_at_any_depth():
    run("""
array = ab.convert(np.arange(6.0).reshape(2, 3), "ndarray")
plain = np.arange(6.0).reshape(2, 3)
made = np.block([[array, array], [array, array]])
assert made.library == "ndarray" and (np.asarray(made) == np.block([[plain, plain], [plain, plain]])).all()
deep = np.block([[[array], [array]], [[array], [array]]])
assert (np.asarray(deep) == np.block([[[plain], [plain]], [[plain], [plain]]])).all()

# What nothing can be replaced in is not called again.
assert array.__array_function__(np.stack, (ab.Array,), (iter([array]),), {}) is NotImplemented
round = [array]
round.append(round)
nested = array
for _ in range(10_000): nested = [nested]
for odd in (round, nested):
    try: np.concatenate([odd, odd])
    except (TypeError, ValueError, RecursionError): pass
    answer = array.__array_function__(lambda *arguments: arguments, (ab.Array,), (odd,), {})
# A result that holds itself is left as it is.
answer = array.__array_function__(lambda *arguments: round, (ab.Array,), (array,), {})
""")


def on_a_gpu(capsule):
    """Makes a capsule say that its tensor is on a GPU."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    # The device is behind the version, the context, the deleter, the flags and the data.
    ctypes.c_int32.from_address(pointer(capsule, b"dltensor_versioned") + 40).value = 2
    return capsule


@pytest.mark.skipif(not NUMPY_2, reason="NumPy 1.26 makes no versioned capsules")
def test_a_copy_that_was_asked_for_is_believed_only_with_evidence():
    class Producer:
        def __init__(self):
            self.cached = np.arange(3.0)

        def __dlpack_device__(self):
            return (2, 0)

        def __dlpack__(self, *, dl_device=None, **ignored):
            capsule = self.cached.__dlpack__(max_version=(1, 0))
            return capsule if dl_device == (1, 0) else on_a_gpu(capsule)

    producer = Producer()
    made = ab.convert(producer, "ndarray")
    np.asarray(made)[0] = 5
    assert producer.cached[0] == 0


class Tensor(ctypes.Structure):
    """DLPack's description of a tensor."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    ]


def test_the_allocator_of_the_c_exchange_api_says_what_it_refuses():
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = pointer(ab.Array.__dlpack_c_exchange_api__, b"dlpack_exchange_api")
    reporter = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, reporter)
    # The allocator comes behind the version and the previous table.
    allocate = kind(ctypes.c_void_p.from_address(table + 16).value)
    reports, made = [], ctypes.c_void_p()
    report = reporter(lambda _, kind, text: reports.append((kind, text)))
    lengths = (ctypes.c_int64 * 2)(2**40, 2**4)
    there = ctypes.addressof(lengths)
    for ndim, shape, expected in [(-1, there, b"BufferError"), (2, None, b"BufferError"), (2, there, b"MemoryError")]:
        asked = Tensor(None, 1, 0, ndim, 2, 64, 1, shape, None, 0)
        assert allocate(ctypes.addressof(asked), ctypes.addressof(made), None, report) == -1
        assert reports.pop()[0] == expected and not reports and not made.value


def test_an_array_that_its_own_object_holds_is_collected():
    class Holder:
        def __init__(self):
            self.elements = np.arange(10.0)

        def __dlpack__(self, **keywords):
            return self.elements.__dlpack__()

        def __dlpack_device__(self):
            return (1, 0)

    holder = Holder()
    holder.array = ab.Array(holder)
    watch = weakref.ref(holder)
    assert holder.array.shape == (10,)
    del holder
    gc.collect()
    assert watch() is None


def test_nothing_gets_at_an_array_between_the_parts_of_the_proof():
    # Tools replace `__import__` by Python code, which runs wherever a module is looked for.
    run("""
import builtins, weakref
original, armed = builtins.__import__, False
def replaced(*arguments, **keywords):
    global left, strong, weak
    if armed and weak is not None:
        if left == 0: strong = weak(); weak = None
        left -= 1
    return original(*arguments, **keywords)
builtins.__import__ = replaced
def made(array, axis):
    global weak
    result = np.zeros(array.shape)
    weak = weakref.ref(result)
    return result
seized = 0
for left in range(12):
    array = ab.convert(np.arange(1000.0), "ndarray")
    weak, strong, armed = None, None, True
    # What the function returns becomes an array of ndarray, in place if nobody else reaches it.
    second = np.apply_over_axes(made, array, [0])
    armed = False
    assert second.library == "ndarray"
    if strong is not None:
        seized += 1
        strong[0] = -5
    assert np.asarray(second)[0] == 0, left
assert seized
""")


def test_an_export_outlives_what_becomes_of_the_object_it_was_made_of():
    whole = np.full(1_000_000, 7.0)
    part = whole[:]
    exported = np.from_dlpack(ab.Array(part))
    part.shape = (1000, 1000)
    part.dtype = "i8"
    # It lets go of what it is a view of.
    part.__setstate__((1, (3,), np.dtype("f8"), False, bytes(24)))
    del whole
    gc.collect()
    assert exported.shape == (1_000_000,) and (exported == 7).all()

    own = np.zeros(10)
    exported = np.from_dlpack(ab.Array(own))
    with pytest.raises(ValueError, match="resize"):
        own.resize(1_000_000)
    assert exported.shape == (10,)


def test_nobody_reaches_the_array_that_is_held_while_python_has_the_memory():
    array = ab.Array(np.arange(12.0).reshape(3, 4)).to("ndarray")
    view = array.__array__()
    assert not isinstance(view.base, np.ndarray)
    view.shape = (12,)
    view.dtype = "i8"
    view.flags.writeable = False
    assert array.shape == array.__array__().shape == (3, 4) and len(array) == 3
    assert array.__array__().dtype == "f8" and array.__array__().flags.writeable
    assert np.from_dlpack(array).shape == (3, 4) and np.sum(array, axis=1).shape == (3,)
    assert np.shares_memory(array.__array__(), view)


def test_an_array_that_a_producer_keeps_is_not_changed():
    class Producer:
        kept = np.arange(3.0)

        def __array__(self, dtype=None, copy=None):
            return self.kept

    made = ab.Array(Producer())
    view = made.__array__()
    view.shape = (3, 1)
    view.flags.writeable = False
    assert Producer.kept.shape == (3,) and Producer.kept.flags.writeable


RECORDS = np.zeros(1, [("a", "f8"), ("b", "i1")])
ONE_ELEMENT_AXES = {
    "even": np.zeros(1)[::-1],
    "odd": RECORDS["a"][::-1],
    "even, beside gaps": np.zeros((1, 4, 2))[::-1, :, 0],
    "odd, beside gaps": np.lib.stride_tricks.as_strided(np.zeros(64), (1, 4), (-9, 16)),
}


@pytest.mark.parametrize("steps", ONE_ELEMENT_AXES)
def test_an_axis_of_one_element_runs_nowhere(steps):
    array = ONE_ELEMENT_AXES[steps]
    assert array.strides[0] < 0
    exported = np.from_dlpack(ab.Array(array))
    assert exported.shape == array.shape and np.shares_memory(exported, array)
