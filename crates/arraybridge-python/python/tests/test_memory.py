"""Who releases memory, and when."""

import ctypes
import gc
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest

import arraybridge_rs as ab


class Tracked(np.ndarray):
    """An array that can be watched."""


def tracked():
    return np.arange(1000.0).view(Tracked)


def test_objects_are_released_with_the_last_handle():
    source = tracked()
    watch, count = weakref.ref(source), sys.getrefcount(source)
    array = ab.Array(source)
    view = np.asarray(array)
    capsule = array.__dlpack__(max_version=(1, 0))
    assert sys.getrefcount(source) > count
    del array, view
    assert watch() is not None
    del capsule
    assert sys.getrefcount(source) == count
    ab.convert(source, "ndarray")
    assert sys.getrefcount(source) == count
    del source
    assert watch() is None


def test_a_view_outlives_the_array_and_memory_goes_back_when_it_is_dropped():
    array = ab.convert(np.arange(6.0), "ndarray")
    view = np.asarray(array)
    address = view.__array_interface__["data"][0]
    with ab.Counters() as counters:
        array.to("ndarray")
    assert all(row["copied"] for row in counters.rows())
    del view
    with ab.Counters() as counters:
        array[0]
    assert not any(row["copied"] for row in counters.rows())
    assert np.asarray(array).__array_interface__["data"][0] == address
    view = np.asarray(array)
    del array
    gc.collect()
    assert view.sum() == 15


def test_an_exception_in_the_middle_of_an_import_releases_everything():
    source = tracked()
    count = sys.getrefcount(source)

    class Failing:
        def __init__(self):
            self.source = source

        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self, **keywords):
            self.capsule = self.source.__dlpack__()
            raise ValueError("after the export")

    for _ in range(10):
        with pytest.raises(ValueError):
            ab.convert(Failing(), "ndarray")
    gc.collect()
    assert sys.getrefcount(source) == count


def test_a_consumer_releases_memory_while_it_is_detached():
    """JAX lets go of the interpreter while it frees what it was given, inside of a call of ours."""

    class Tensor(ctypes.Structure):
        _fields_ = [("content", ctypes.c_byte * 48), ("context", ctypes.c_void_p), ("delete", ctypes.c_void_p)]

    api, arguments = ctypes.pythonapi, (ctypes.py_object, ctypes.c_char_p)
    get, rename = api.PyCapsule_GetPointer, api.PyCapsule_SetName
    get.restype, get.argtypes, rename.argtypes = ctypes.c_void_p, arguments, arguments
    used = b"used_dltensor"
    source = tracked()
    count = sys.getrefcount(source)

    class Consumer:
        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self, **keywords):
            capsule = ab.Array(source).__dlpack__()
            address = get(capsule, b"dltensor")
            rename(capsule, used)
            # A foreign function of this kind is called detached.
            ctypes.CFUNCTYPE(None, ctypes.c_void_p)(Tensor.from_address(address).delete)(address)
            return np.ones(3).__dlpack__()

    for _ in range(10):
        ab.convert(Consumer(), "ndarray")
    assert sys.getrefcount(source) == count


def test_what_is_left_at_exit_is_let_go():
    code = """
import atexit, threading, numpy as np, arraybridge_rs as ab
kept = [ab.Array(np.arange(10.0)), ab.convert(np.ones(5), "ndarray")]
views = [np.asarray(kept[1]), kept[0].__dlpack__(max_version=(1, 0)), np.from_dlpack(kept[1])]
class Late:
    def __del__(self): print("late", np.asarray(kept[0]).sum() if np else "gone")
late = Late()
def work():
    while True: ab.convert(np.ones(100), "ndarray")
threading.Thread(target=work, daemon=True).start()
atexit.register(lambda: ab.convert(np.ones(3), "ndarray"))
"""
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60)
        assert done.returncode == 0, done.stderr.decode()


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_sixteen_threads_neither_leak_nor_lose_anything():
    source = tracked()
    big = np.arange(250_000.0)
    failures, stop = [], threading.Event()

    def work():
        try:
            while not stop.is_set():
                array = ab.convert(source, "ndarray")
                view = np.asarray(array)
                view[0] = 1
                assert np.from_dlpack(array)[0] == 1
                assert np.max(array) == 999
                assert ab.convert(big, "ndarray").to("python").shape == (250_000,)
                array.__dlpack__(max_version=(1, 0))
                del view
                assert array[3].shape == ()
        except BaseException as error:
            failures.append(error)

    count = sys.getrefcount(source)
    threads = [threading.Thread(target=work) for _ in range(16)]
    for thread in threads:
        thread.start()
    seconds = float(__import__("os").environ.get("ARRAYBRIDGE_SOAK_SECONDS", "6"))
    time.sleep(seconds / 3)
    before = resident()
    time.sleep(seconds * 2 / 3)
    grown = resident() - before
    stop.set()
    for thread in threads:
        thread.join()
    assert not failures, failures[0]
    assert sys.getrefcount(source) == count
    assert grown < 64 << 20, f"{grown} bytes more"


def test_one_array_is_used_by_many_threads():
    array = ab.convert(np.arange(1000.0), "ndarray")
    failures = []

    def work():
        try:
            for _ in range(200):
                assert np.max(array) == 999
                assert np.asarray(array)[7] == 7
                assert array.to("python").size == 1000
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "a deadlock"
    assert not failures, failures[0]


def test_subinterpreters_are_refused():
    code = """
import _xxsubinterpreters as sub
made = sub.create()
sub.run_string(made, "import sys; sys.path[:] = %r; import arraybridge_rs")
""" % (sys.path,)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60)
    if b"No module named '_xxsubinterpreters'" in done.stderr:
        pytest.skip("this Python calls them otherwise")
    refused = (b"does not support subinterpreters", b"does not support loading in subinterpreters")
    assert any(text in done.stderr for text in refused), done.stderr.decode()
