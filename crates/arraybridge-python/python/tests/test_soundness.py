"""What Python code may try with memory that it was handed, and what must not come of it."""

import ctypes

import numpy as np
import pytest

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
