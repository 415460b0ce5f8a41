"""NumPy's rules for arrays of other libraries, as its interoperability page has them."""

import numpy as np
import pytest

import arraybridge_rs as ab

LIBRARIES = ["ndarray", "xla", "python"]


def ramp(library="ndarray", dtype="float32"):
    if library == "xla" and not ab.libraries()["xla"]["available"]:
        pytest.skip("no plugin of XLA")
    return ab.convert(np.arange(6, dtype=dtype).reshape(2, 3), library)


@pytest.mark.parametrize("library", LIBRARIES)
def test_an_array_tells_what_it_is(library):
    array = ramp(library)
    assert array.shape == (2, 3) and array.ndim == 2 and array.size == 6 and array.nbytes == 24
    assert array.dtype == np.float32 and array.device == "host" and len(array) == 2
    assert array.library == {"python": "python:numpy"}.get(library, library)
    assert repr(array) == f"<arraybridge_rs.Array float32 (2, 3) of {array.library} on host>"
    np.testing.assert_array_equal(np.asarray(array[1]), [3, 4, 5])
    np.testing.assert_array_equal(np.asarray(array[-2]), [0, 1, 2])
    with pytest.raises(IndexError):
        array[2]
    with pytest.raises(TypeError):
        len(array[0][0])


@pytest.mark.parametrize("library", ["ndarray", "python"])
def test_views_share_memory_both_ways(library):
    array = ramp(library)
    view, other = np.asarray(array), np.asarray(array)
    view[0, 0] = 10
    assert other[0, 0] == 10 and np.shares_memory(view, other)
    assert np.max(array) == 10 and np.asarray(array.to("ndarray"))[0, 0] == 10
    del view, other
    assert np.asarray(array)[0, 0] == 10


def test_an_interface_that_names_another_shape_shares_memory():
    class Reshaped:
        def __init__(self, source):
            self.source = source
            self.__array_interface__ = {**source.__array_interface__, "shape": (3, 2), "strides": None}

    array = ramp()
    theirs = np.asarray(Reshaped(array))
    theirs[2, 1] = 50
    assert np.asarray(array)[1, 2] == 50
    ours = ab.Array(Reshaped(np.asarray(array)))
    assert ours.shape == (3, 2) and np.shares_memory(np.asarray(ours), np.asarray(array))


def test_an_interface_outlives_nothing_and_is_no_way_to_rusts_memory():
    array = ramp()
    told = array.__array_interface__
    assert told["version"] == 3 and told["typestr"] == "<f4" and told["shape"] == (2, 3)
    before = told["data"][0]
    # Rust now works with copies for as long as the array lives, although no view is there.
    copy = array.to("ndarray")
    assert copy.__array_interface__["data"][0] != before
    assert array.__array_interface__["data"][0] == before


def test_asarray_casts_and_copies_as_it_is_asked():
    array = ramp()
    assert np.asarray(array, dtype="float64").dtype == np.float64
    assert np.array(array).flags.owndata and not np.shares_memory(np.array(array), np.asarray(array))
    assert array.__array__(copy=True)[0, 1] == 1
    assert np.shares_memory(array.__array__(copy=False), np.asarray(array))
    with pytest.raises(ValueError, match="copy was refused"):
        array.__array__("float64", copy=False)
    assert memoryview(array).shape == (2, 3)


@pytest.mark.parametrize("library", ["ndarray", "xla"])
def test_ufuncs_run_and_results_stay_in_the_library(library):
    array = ramp(library)
    made = np.exp(array)
    assert made.library == library and made.dtype == np.float32
    np.testing.assert_allclose(np.asarray(made), np.exp(np.arange(6).reshape(2, 3)), rtol=1e-6)
    for made in (np.add(array, array), np.add(1, array), np.add(array, np.ones(3, "float32"))):
        assert isinstance(made, ab.Array) and made.library == library
    assert np.asarray(np.add.reduce(array)).tolist() == [3, 5, 7]
    assert np.asarray(np.maximum.reduce(array, axis=1)).tolist() == [2, 5]
    assert np.asarray(np.minimum.reduce(array, axis=(0, 1))).item() == 0
    assert np.asarray(np.add.accumulate(array, axis=1)).tolist() == [[0, 1, 3], [3, 7, 12]]
    assert np.asarray(np.add.reduceat(array, [0, 2], axis=1)).tolist() == [[1, 2], [7, 5]]
    assert np.multiply.outer(array, array).shape == (2, 3, 2, 3)
    both = np.logical_and(array, array)
    assert both.library == library and np.asarray(both).tolist() == [[False, True, True], [True] * 3]
    parts, whole = np.modf(array)
    assert isinstance(parts, ab.Array) and isinstance(whole, ab.Array)
    with pytest.raises(TypeError):
        np.add(array, object())


def test_results_go_back_without_a_copy():
    array = ramp()
    with ab.Counters() as counters:
        np.exp(array)
        np.sqrt(array)
    rows = counters.rows()
    assert {row["mechanism"] for row in rows} == {"shared host buffer"} and len(rows) == 2


def test_ufuncs_write_where_they_are_told():
    array, target = ramp(), ramp()
    assert np.negative(array, out=target) is target
    assert np.asarray(target)[1, 2] == -5
    np.add.at(array, (0, [0, 0]), 1)
    assert np.asarray(array)[0, 0] == 2
    plain = np.empty((2, 3), "float32")
    assert np.add(array, 1, out=plain) is plain and plain[1, 2] == 6


def test_dtypes_are_those_of_numpy():
    for dtype in ("bool", "int8", "uint16", "int64", "float32", "float64", "complex64"):
        plain = np.arange(6).reshape(2, 3).astype(dtype)
        array = ab.convert(plain, "ndarray")
        for function in (np.sum, np.mean, np.max, np.min, np.prod, np.std):
            if dtype == "complex64" and function in (np.max, np.min):
                continue
            ours, theirs = function(array, axis=0), function(plain, axis=0)
            assert ours.dtype == theirs.dtype, (dtype, function)
            np.testing.assert_allclose(np.asarray(ours), theirs)
    whole = np.exp(ab.convert(np.arange(3), "ndarray"))
    assert whole.dtype == np.float64 and whole.library == "ndarray"


def test_functions_run_and_results_stay_in_the_library():
    array = ramp()
    assert np.max(array, axis=0).library == "ndarray"
    assert np.asarray(np.max(array)).shape == ()
    assert np.mean(array, axis=1, keepdims=True).shape == (2, 1)
    stacked = np.stack([array, array])
    assert isinstance(stacked, ab.Array) and stacked.shape == (2, 2, 3)
    joined = np.concatenate([array, np.zeros((1, 3), "float32")])
    assert joined.library == "ndarray" and joined.shape == (3, 3)
    assert np.reshape(array, (3, 2)).shape == (3, 2) and np.transpose(array).shape == (3, 2)
    assert [part.shape for part in np.split(array, 3, axis=1)] == [(2, 1)] * 3
    assert np.array_equal(array, ramp())
    with pytest.raises(np.exceptions.AxisError if hasattr(np, "exceptions") else ValueError):
        np.max(array, axis=5)


def test_a_class_with_rules_of_its_own_is_left_to_them():
    class Other:
        def __array_ufunc__(self, ufunc, method, *inputs, **keywords):
            return "theirs"

    assert np.add(ramp(), Other()) == "theirs"


def test_array_wrap_brings_results_back():
    array = ramp()
    wrapped = array.__array_wrap__(np.ones(2))
    assert wrapped.library == "ndarray" and wrapped.dtype == np.float64
    assert array.__array_wrap__(np.asarray(3.0), None, True) == 3.0


def test_errors_are_of_pythons_types():
    array = ramp()
    with pytest.raises(ValueError, match="no library `nothing` is registered"):
        array.to("nothing")
    with pytest.raises(ValueError, match="label|expected|device"):
        array.to("ndarray", "nowhere")
    with pytest.raises(ValueError, match="keeps arrays on: host"):
        array.to("ndarray", "accelerator:0")
    with pytest.raises(BufferError, match="a copy was refused"):
        ab.convert(np.ones(3), "ndarray", copy=False)
    with pytest.raises((TypeError, BufferError), match="no dtype here"):
        ab.convert(np.array(["a"], dtype=object), "ndarray")
    with pytest.raises(BufferError, match="byte order"):
        ab.convert(np.ones(3, ">f4"), "ndarray")
    with pytest.raises(TypeError, match="speaks neither"):
        ab.convert(3.5, "ndarray")
    with pytest.raises(TypeError, match="array of ndarray"):
        array.unwrap()
    with pytest.raises(ValueError, match="there is: numpy, torch"):
        array.give("nothing")
    with pytest.raises(AttributeError):
        array.__cuda_array_interface__


def test_plans_and_libraries_speak_of_what_is_not_here():
    assert ab.plan("jax", "accelerator:0", "cupy", "accelerator:0").endswith(": dlpack")
    assert ramp().plan("xla") == "ndarray on host -> xla on host: shared host buffer"
    listed = ab.libraries()
    assert {"cuda", "ndarray", "python", "xla"} <= set(listed)
    assert listed["ndarray"] == {"available": True, "why": "available", "devices": ["host"]}


def test_counters_total_a_block():
    with ab.Counters() as counters:
        ab.convert(np.ones(10), "ndarray")
        ab.convert(np.ones(10), "ndarray").to("ndarray")
    (row,) = counters.rows()
    assert (row["source_library"], row["target_library"]) == ("python:numpy", "ndarray")
    assert row["conversions"] == 2 and row["copied"] and row["nbytes"] == 160
    assert "python:numpy on host" in str(counters) and '"version"' in counters.to_json()
    ab.convert(np.ones(10), "ndarray")
    assert counters.rows()[0]["conversions"] == 2
    with counters, pytest.raises(RuntimeError):
        counters.__enter__()
    with pytest.raises(RuntimeError):
        counters.__exit__(None, None, None)
