"""NumPy's own tests of DLPack, from the installed NumPy, on arrays whose DLPack is our class's.

data-apis' array-api-tests are in no package index, so that they cannot be run from one; its strict
reference implementation is, and stands for them below.
"""

import importlib.util
import sys
import types

import numpy as np
import pytest
from conftest import NUMPY_2
from numpy.testing import assert_array_equal

import arraybridge_rs as ab

#: What our class does otherwise than NumPy, and why.
OTHERWISE = {
    "test_dunder_dlpack_stream": "a stream of main memory is a BufferError, as Python's array API has it; NumPy raises RuntimeError",
    "test_dunder_dlpack_copy": "`copy` is True, False or None; anything else is a TypeError, and in NumPy a ValueError",
}


class Ours(np.ndarray):
    """An array that exports as our class does."""

    def __dlpack__(self, **keywords):
        return ab.Array(self.view(np.ndarray)).__dlpack__(**keywords)

    def __dlpack_device__(self):
        return ab.Array(self.view(np.ndarray)).__dlpack_device__()


class Numpy(types.ModuleType):
    """NumPy, except that arrays are made as `Ours`."""

    ndarray = Ours

    def __getattr__(self, name):
        found = getattr(np, name)
        if name in ("arange", "array", "asarray", "ones", "zeros"):
            return lambda *values, **keywords: owned(found(*values, **keywords))
        return found


def owned(array):
    """A copy that owns its memory, as the tests that count references expect."""
    made = Ours(array.shape, array.dtype)
    made[...] = array
    return made


def loaded():
    """NumPy's test module, which imports the stand-in as `numpy`."""
    name = "numpy._core.tests.test_dlpack" if NUMPY_2 else "numpy.core.tests.test_dlpack"
    spec = importlib.util.find_spec(name)
    module = importlib.util.module_from_spec(spec)
    sys.modules["numpy"] = Numpy("numpy")
    try:
        spec.loader.exec_module(module)
    finally:
        sys.modules["numpy"] = np
    return module.TestDLPack


TestDLPack = loaded()
for name, reason in OTHERWISE.items():
    if hasattr(TestDLPack, name):
        marked = pytest.mark.xfail(strict=True, reason=reason)(getattr(TestDLPack, name))
        setattr(TestDLPack, name, marked)


def test_the_strict_array_api_reads_and_is_read(package):
    strict = package("array_api_strict")
    array = strict.reshape(strict.arange(6, dtype=strict.float32), (2, 3))
    ours = ab.Array(array)
    assert ours.library == "python" and ours.dtype == np.float32
    assert_array_equal(np.asarray(ab.convert(array, "ndarray")), np.arange(6).reshape(2, 3))
    for dtype in ("bool", "int8", "uint16", "int64", "float64", "complex128"):
        made = ab.convert(np.ones((2, 0, 3) if dtype == "int8" else (2, 3), dtype), "ndarray")
        theirs = strict.from_dlpack(made)
        assert theirs.dtype == getattr(strict, dtype) and theirs.shape == made.shape
        if made.size:
            assert np.shares_memory(np.asarray(theirs), np.asarray(made))
