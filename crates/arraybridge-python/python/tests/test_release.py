"""Releases that other libraries run while they are detached."""

import ctypes

import numpy as np

import arraybridge_rs as ab


def test_a_tensor_may_be_released_detached_below_a_call_of_ours():
    """A foreign library, called back from here, detaches and calls a deleter of ours."""

    class Tensor(ctypes.Structure):
        _fields_ = [
            ("version", ctypes.c_uint32 * 2),
            ("context", ctypes.c_void_p),
            # A function of `CDLL` is called detached.
            ("deleter", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
        ]

    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    rename = ctypes.pythonapi.PyCapsule_SetName
    rename.argtypes = [ctypes.py_object, ctypes.c_char_p]
    used = ctypes.c_char_p(b"used_dltensor_versioned")

    class Releases:
        done = 0

        def __array__(self, dtype=None, copy=None):
            capsule = ab.convert(np.arange(3.0), "ndarray").__dlpack__(max_version=(1, 0))
            address = pointer_of(capsule, b"dltensor_versioned")
            rename(capsule, used)
            Tensor.from_address(address).deleter(address)
            Releases.done += 1
            return np.zeros(3)

    for _ in range(100):
        ab.convert(Releases(), "ndarray")
    assert Releases.done >= 100
