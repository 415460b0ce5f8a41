"""DLPack in and out of the class."""

import ctypes
import sys

import numpy as np
import pytest
from conftest import NUMPY_2

import arraybridge_rs as ab


def ramp(dtype="float32"):
    return ab.convert(np.arange(6, dtype=dtype).reshape(2, 3), "ndarray")


def name_of(capsule):
    function = ctypes.pythonapi.PyCapsule_GetName
    function.restype, function.argtypes = ctypes.c_char_p, [ctypes.py_object]
    return function(capsule)


DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
DTYPES += ["float16", "float32", "float64", "complex64", "complex128"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (2, 0, 3), (1, 1, 2)])
def test_from_dlpack_is_a_view_of_every_dtype(dtype, shape):
    plain = np.ones(shape, dtype)
    array = ab.convert(plain, "ndarray")
    view = np.from_dlpack(array)
    assert view.dtype == plain.dtype and view.shape == shape
    np.testing.assert_array_equal(view, plain)
    assert plain.size == 0 or np.shares_memory(view, np.asarray(array))


def test_layouts_cross_as_they_are():
    plain = np.arange(24, dtype="int16").reshape(2, 3, 4)
    for view in (plain.T, plain[:, ::2], plain[..., 1:]):
        array = ab.Array(view)
        assert np.from_dlpack(array).strides == view.strides
        np.testing.assert_array_equal(np.from_dlpack(array), view)
        np.testing.assert_array_equal(np.asarray(ab.convert(view, "ndarray")), view)
    backwards = plain[::-1]
    array = ab.Array(backwards)
    assert np.shares_memory(np.asarray(array), plain)
    np.testing.assert_array_equal(np.asarray(ab.convert(backwards, "ndarray")), backwards)
    with pytest.raises(BufferError, match="runs backwards"):
        array.__dlpack__()
    if NUMPY_2:
        np.testing.assert_array_equal(np.from_dlpack(array, copy=True), backwards)
    repeated = np.broadcast_to(plain[0], (2, 3, 4))
    np.testing.assert_array_equal(np.asarray(ab.convert(repeated, "ndarray")), repeated)


def test_versions_and_devices_are_negotiated():
    array = ramp()
    assert array.__dlpack_device__() == (1, 0)
    assert name_of(array.__dlpack__()) == b"dltensor"
    assert name_of(array.__dlpack__(max_version=(0, 8))) == b"dltensor"
    assert name_of(array.__dlpack__(max_version=(1, 0))) == b"dltensor_versioned"
    assert name_of(array.__dlpack__(max_version=(9, 9), dl_device=(1, 0))) == b"dltensor_versioned"
    with pytest.raises(BufferError, match="cannot be had on CUDA 0"):
        array.__dlpack__(dl_device=(2, 0), copy=False)
    with pytest.raises(BufferError, match="no stream"):
        array.__dlpack__(stream=1)
    assert name_of(type(array).__dlpack_c_exchange_api__) == b"dlpack_exchange_api"


@pytest.mark.skipif(not NUMPY_2, reason="NumPy 1.26 does not ask for copies")
def test_copies_are_made_when_they_are_asked_for():
    array = ramp()
    copy = np.from_dlpack(array, copy=True)
    assert not np.shares_memory(copy, np.asarray(array)) and copy.flags.writeable
    assert np.shares_memory(np.from_dlpack(array, copy=False), np.asarray(array))
    view = np.from_dlpack(array)
    view[0, 0] = 8
    assert np.asarray(array)[0, 0] == 8


def test_read_only_arrays_stay_so_and_have_no_legacy_form():
    plain = np.arange(3.0)
    plain.flags.writeable = False
    array = ab.Array(plain)
    with pytest.raises(BufferError, match="read-only"):
        array.__dlpack__()
    if NUMPY_2:
        assert not np.from_dlpack(array).flags.writeable
    assert not np.asarray(array).flags.writeable


def test_a_capsule_is_consumed_once_and_an_unused_one_released():
    class Again:
        def __init__(self, capsule):
            self.capsule = capsule

        def __dlpack__(self, **keywords):
            return self.capsule

        def __dlpack_device__(self):
            return (1, 0)

    source = np.arange(6.0)
    count = sys.getrefcount(source)
    for version in [(0, 8), (1, 0)]:
        again = Again(ab.Array(source).__dlpack__(max_version=version))
        if NUMPY_2 or version == (0, 8):
            view = np.from_dlpack(again)
            assert np.shares_memory(view, source)
            with pytest.raises(BufferError, match="taken already"):
                ab.convert(again, "ndarray")
            assert name_of(again.capsule).startswith(b"used_dltensor")
            del view
        del again
        assert sys.getrefcount(source) == count


def test_exceptions_of_producers_are_raised_as_they_are():
    class Failing:
        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self, **keywords):
            raise RuntimeError("mid-import")

    with pytest.raises(RuntimeError, match="^mid-import$"):
        ab.convert(Failing(), "ndarray")


@pytest.mark.parametrize("name", ["jax", "tensorflow", "torch"])
def test_the_other_libraries_read_and_are_read(package, name):
    package(name)
    array = ramp()
    theirs = array.give(name)
    back = ab.Array(theirs)
    assert back.library == f"python:{name}" and back.shape == (2, 3) and back.dtype == np.float32
    np.testing.assert_array_equal(np.asarray(back), np.arange(6).reshape(2, 3))
    assert back.unwrap() is theirs
    doubled = np.multiply(back, 2)
    assert doubled.library == f"python:{name}"
    np.testing.assert_array_equal(np.asarray(ab.convert(theirs, "ndarray")), np.arange(6).reshape(2, 3))
    assert np.exp(ab.Array(ab.Array(np.arange(3)).give(name))).library == f"python:{name}"


def test_bfloat16_crosses(package):
    ml_dtypes = package("ml_dtypes")
    plain = np.arange(4).astype(ml_dtypes.bfloat16)
    array = ab.convert(plain, "ndarray")
    assert str(array.dtype) == "bfloat16"
    jax = package("jax")
    theirs = jax.numpy.from_dlpack(array)
    assert theirs.dtype == jax.numpy.bfloat16 and theirs.tolist() == [0, 1, 2, 3]
    assert ab.convert(theirs, "ndarray").dtype == array.dtype
    for name in ("jax", "tensorflow"):
        given = array.give(name)
        np.testing.assert_array_equal(np.asarray(given).astype("f4"), [0, 1, 2, 3])
    assert np.asarray(array).dtype == plain.dtype and array.__array__().dtype == plain.dtype
    with pytest.raises(AttributeError, match="no such dtype"):
        array.__array_interface__


@pytest.mark.parametrize("name", ["jax", "tensorflow", "torch"])
def test_layouts_are_given_to_the_other_libraries(package, name):
    package(name)
    plain = np.arange(12, dtype="float32").reshape(3, 4)
    views = [plain[::-1], plain[:, ::2], plain.T, np.broadcast_to(plain[0], (3, 4)), plain[:0]]
    views += [np.zeros(()), np.float32(3)]
    for view in views:
        np.testing.assert_array_equal(np.asarray(ab.Array(view).give(name)), view)


@pytest.mark.parametrize("name", ["jax", "tensorflow", "pandas", "array_api_strict"])
def test_objects_are_read_where_they_are(package, name):
    module = package(name)
    plain = np.arange(1000.0, dtype="float32")
    make = {
        "jax": lambda: module.numpy.asarray(plain),
        "tensorflow": lambda: module.constant(plain),
        "pandas": lambda: module.Series(plain),
        "array_api_strict": lambda: module.asarray(plain),
    }
    array = ab.Array(make[name]())
    theirs = np.asarray(array.unwrap())
    assert np.shares_memory(np.asarray(array), theirs)
    assert np.asarray(array).flags.writeable == theirs.flags.writeable
    if NUMPY_2:
        assert np.shares_memory(np.from_dlpack(array), theirs)
    with ab.Counters() as counters:
        ab.convert(array.unwrap(), "ndarray")
    assert [row["copied"] for row in counters.rows()] == [True]
