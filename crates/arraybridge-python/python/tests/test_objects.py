"""Objects of other libraries: what is read of them, and what is refused rather than changed."""

import ctypes
import subprocess
import sys

import numpy as np
import pytest
from conftest import NUMPY_2

import arraybridge_rs as ab


def holder(**attributes):
    return type("Holder", (), attributes)()


def test_lazy_views_of_torch_are_refused_rather_than_read_without_their_meaning(package):
    torch = package("torch")
    conjugate = torch.tensor([1 + 2j, 3 - 4j]).conj()
    for tensor, remedy in [
        (conjugate, "resolve_conj"),
        (conjugate.imag, "resolve_neg"),
        (torch.ones(3, requires_grad=True), "detach"),
        (torch.nn.Parameter(torch.ones(3)), "detach"),
        (torch.ones(3, requires_grad=True) * 2, "detach"),
    ]:
        for read in (ab.Array, lambda tensor: ab.convert(tensor, "ndarray")):
            with pytest.raises(BufferError, match=remedy):
                read(tensor)
    resolved = ab.convert(conjugate.resolve_conj(), "ndarray")
    assert np.asarray(resolved).tolist() == [1 - 2j, 3 + 4j]
    imaginary = ab.convert(conjugate.imag.resolve_neg(), "ndarray")
    assert np.asarray(imaginary).tolist() == [-2, 4]
    array = ab.Array(torch.ones(2))
    array.unwrap().requires_grad_()
    with pytest.raises(BufferError, match="detach"):
        np.asarray(array.to("ndarray"))


def test_sparse_and_masked_tensors_are_refused(package):
    torch = package("torch")
    from torch.masked import masked_tensor

    for tensor in (torch.eye(3).to_sparse(), masked_tensor(torch.ones(2), torch.tensor([True, False]))):
        with pytest.raises((BufferError, RuntimeError, TypeError, NotImplementedError)):
            ab.convert(tensor, "ndarray")


def test_masks_are_never_dropped(package):
    masked = np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False])
    for read in (ab.Array, lambda array: ab.convert(array, "ndarray")):
        with pytest.raises(BufferError, match="filled"):
            read(masked)
    array = ab.convert(np.arange(3.0), "ndarray")
    for made in (np.add(array, masked), array + masked, masked + array):
        assert isinstance(made, np.ma.MaskedArray) and made.mask.tolist() == [False, True, False]
    assert np.asarray(ab.convert(masked.filled(0), "ndarray")).tolist() == [1, 0, 3]
    da = package("dask.array")
    with pytest.raises(BufferError, match="filled"):
        ab.convert(da.ma.masked_less(da.arange(4.0, chunks=2), 2), "ndarray")


def test_subclasses_of_ndarray_keep_their_meaning():
    class Quantity(np.ndarray):
        def __array_ufunc__(self, ufunc, method, *inputs, **keywords):
            plain = [np.asarray(value) for value in inputs]
            return getattr(ufunc, method)(*plain, **keywords).view(Quantity)

    quantity = np.ones(3).view(Quantity)
    array = ab.convert(np.arange(3.0), "ndarray")
    for made in (np.add(array, quantity), array + quantity, quantity + array):
        assert type(made) is Quantity
    assert type(np.add(array, np.ones(3).view(np.recarray))) is np.recarray


class DlpackAlone:
    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **keywords):
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return (1, 0)


@pytest.mark.skipif(not NUMPY_2, reason="NumPy 1.26 knows no version of DLPack")
def test_what_speaks_dlpack_alone_is_an_array_for_all_purposes(package):
    plain = np.arange(6.0).reshape(2, 3)
    array = ab.Array(DlpackAlone(plain))
    assert np.shares_memory(np.asarray(array), plain) and np.max(array) == 5
    assert np.asarray(array + 1)[0, 0] == 1 and np.asarray(array == plain).all()
    assert np.shares_memory(np.from_dlpack(array), plain)
    np.add(array, 1, out=array)
    assert plain[0, 0] == 1
    torch = package("torch")
    assert array.give("torch").sum() == plain.sum()


def test_protocols_that_are_switched_off_are_passed_over():
    plain = np.arange(3.0)
    for names in (["__dlpack__"], ["__array_struct__"], ["__dlpack__", "__array_struct__", "__array__"]):
        array = ab.Array(holder(**dict.fromkeys(names), __array_interface__=plain.__array_interface__))
        assert np.asarray(ab.convert(array, "ndarray")).tolist() == [0, 1, 2]


def test_the_array_interface_is_read_as_numpy_reads_it():
    plain = np.arange(3.0)
    assert ab.Array(holder(__array_struct__=plain.__array_struct__)).shape == (3,)
    told = plain.__array_interface__
    for flag in (0, 1, True):
        data = (told["data"][0], flag)
        array = ab.Array(holder(__array_interface__={**told, "data": data}))
        assert np.asarray(ab.convert(array, "ndarray")).tolist() == [0, 1, 2]
    for address in (2**64 - 8, 2**64 - 16):
        wrong = {**told, "data": (address, False), "shape": (4,)}
        with pytest.raises(BufferError, match="address space"):
            ab.Array(holder(__array_interface__=wrong))


def test_results_are_not_written_into_copies(package):
    da = package("dask.array")
    pd = package("pandas")

    class Copies:
        def __array__(self, dtype=None, copy=None):
            return np.zeros((2, 2))

    frame = pd.DataFrame({"x": [1.0, 2.0], "y": [3, 4]})
    for source in (da.zeros((2, 2)), frame, Copies()):
        array = ab.Array(source)
        for write in (
            lambda: np.add(array, 1, out=array),
            lambda: np.add(np.ones((2, 2)), 1, out=array),
            lambda: np.add.at(array, 0, 1),
            lambda: np.copyto(array, 1),
            lambda: np.fill_diagonal(array, 1),
        ):
            with pytest.raises(ValueError, match="read-only"):
                write()
        with pytest.raises(ValueError, match="read-only"):
            array += 1
        assert np.asarray(array + 1).shape == (2, 2)
    torch = package("torch")
    tensor = torch.zeros(2)
    np.add(ab.Array(tensor), 1, out=ab.Array(tensor))
    assert tensor.tolist() == [1, 1]


def test_a_view_that_is_changed_does_not_change_the_array():
    for array in (ab.convert(np.zeros((2, 3)), "ndarray"), ab.Array(np.zeros((2, 3)))):
        view = array.__array__()
        try:
            view.shape, view.dtype = (3, 2), "int64"
        except AttributeError:
            pytest.skip("this NumPy does not let them be set")
        assert array.shape == (2, 3) and array.dtype == np.float64
        view[0, 0] = 1
        assert np.asarray(array)[0, 0] != 0


def test_bfloat16_is_so_in_numpy(package):
    ml_dtypes = package("ml_dtypes")
    for dtype in (ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn):
        array = ab.convert(np.arange(3).astype(dtype), "ndarray")
        assert not hasattr(array, "__array_interface__")
        for made in (np.asarray(array), np.array(array), array.__array__(), np.asarray(array + array)):
            assert made.dtype == dtype
        np.asarray(array)[0] = 2
        assert np.asarray(array)[0] == 2


def test_functions_are_known_by_what_they_are_and_not_by_name():
    array = ab.convert(np.array([[1.0, 5.0], [2.0, 3.0]]), "ndarray")
    class Named:
        __name__ = "add"

        def reduce(self, values, **keywords):
            return "theirs"

        def __call__(self, *values):
            return "theirs"

    assert array.__array_ufunc__(Named(), "reduce", array) == "theirs"

    assert array.__array_function__(max, (ab.Array,), (array[0],), {}) == 5


def test_copies_that_are_asked_for_are_made():
    plain = np.zeros(3)
    for target in ("python", "python:numpy"):
        assert np.shares_memory(np.asarray(ab.convert(plain, target)), plain)
        copy = ab.convert(plain, target, copy=True)
        np.asarray(copy)[0] = 1
        assert plain[0] == 0
    array = ab.convert(plain, "ndarray")
    for target in ("python", "ndarray"):
        copy = array.to(target, copy=True)
        np.asarray(copy)[0] = 1
        assert np.asarray(array)[0] == 0


def test_what_is_no_array_is_a_type_error(package):
    for value in (3.5, object(), np.dtype("f4"), None, "text"):
        with pytest.raises(TypeError, match="speaks neither"):
            ab.Array(value)
    torch = package("torch")
    with pytest.raises(TypeError, match="speaks neither"):
        ab.Array(torch.nn.Linear(2, 2))


@pytest.mark.parametrize("name", ["torch", "jax", "tensorflow"])
@pytest.mark.parametrize("library", ["ndarray", "python"])
def test_bfloat16_is_given(package, name, library):
    ml_dtypes = package("ml_dtypes")
    package(name)
    plain = np.arange(4).astype(ml_dtypes.bfloat16)
    theirs = ab.convert(plain, library).give(name)
    assert "bfloat16" in str(theirs.dtype)
    assert np.asarray(ab.convert(theirs, "ndarray")).astype("f4").tolist() == [0, 1, 2, 3]


class OnADevice:
    """A producer on a device, which is in fact main memory, and what it was asked."""

    def __init__(self, device):
        self.device, self.asked = device, []

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        asked = {"stream": stream, "max_version": max_version, "dl_device": dl_device, "copy": copy}
        self.asked.append({name: value for name, value in asked.items() if value is not None})
        capsule = ab.convert(np.arange(3.0), "ndarray").__dlpack__(max_version=(1, 0))
        pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
        pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        device = ctypes.c_int32 * 2
        # Behind the version, the context, the deleter, the flags and the address.
        place = device.from_address(pointer_of(capsule, b"dltensor_versioned") + 40)
        place[:] = dl_device or self.device
        return capsule


def test_an_object_on_a_device_of_opencl_is_read_by_its_own_array():
    class Buffer(OnADevice):
        def __array__(self, dtype=None, copy=None):
            return np.arange(3.0)

    buffer = Buffer((4, 0))
    array = ab.Array(buffer)
    assert (array.device, array.shape, array.dtype) == ("host", (3,), np.float64)
    assert np.asarray(array).tolist() == [0, 1, 2] and float(np.max(array)) == 2
    assert np.asarray(ab.convert(buffer, "ndarray")).tolist() == [0, 1, 2]
    assert buffer.asked == []
    with pytest.raises(BufferError, match="OpenCL 0 is no device that is understood here"):
        ab.Array(OnADevice((4, 0)))


@pytest.mark.parametrize("kind", [2, 13, 10])
def test_an_object_on_a_device_is_asked_for_its_own_capsule(kind):
    source = OnADevice((kind, 1))
    array = ab.Array(source)
    assert array.device == "accelerator:1" and array.__dlpack_device__() == (kind, 1)
    del source.asked[:]
    array.__dlpack__()
    array.__dlpack__(stream=7, max_version=(1, 2), copy=False)
    array.__dlpack__(dl_device=(1, 0), copy=True)
    given = [{}, {"stream": 7, "max_version": (1, 2), "copy": False}, {"dl_device": (1, 0), "copy": True}]
    assert [asked for asked in source.asked if asked != {"max_version": (1, 3)}] == given


@pytest.mark.parametrize("kind", [2, 3, 13])
def test_memory_that_a_device_shares_is_brought_by_its_library(kind):
    source = OnADevice((kind, 0))
    array = ab.convert(source, "ndarray")
    assert np.asarray(array).tolist() == [0, 1, 2]
    assert {"dl_device": (1, 0), "copy": True, "max_version": (1, 3)} in source.asked


def test_accelerators_are_those_of_any_library_that_sees_some():
    code = """
import sys, types
def module(name, **attributes):
    made = types.ModuleType(name)
    vars(made).update(attributes)
    sys.modules[name] = made
space = types.SimpleNamespace
module("torch", cuda=space(device_count=lambda: 0, empty_cache=lambda: None))
module("cupy", cuda=space(runtime=space(getDeviceCount=lambda: 2)))
import arraybridge_rs as ab
assert ab.libraries()["python"]["devices"] == ["host", "accelerator:0", "accelerator:1"], ab.libraries()
module("torch")
assert len(ab.libraries()["python"]["devices"]) == 3
module("torch", cuda=space(device_count=lambda: 3))
assert len(ab.libraries()["python"]["devices"]) == 4
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr.decode()
