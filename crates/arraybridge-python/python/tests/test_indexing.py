"""Parts by index, and copies by Python's own means."""

import copy
import pickle

import numpy as np
import pytest

import arraybridge_rs as ab

PLAIN = np.arange(24, dtype="float32").reshape(2, 3, 4)
INDICES = [1, -1, slice(None), slice(None, None, -1), np.s_[:, 1:], np.s_[0, 1, 2], np.s_[..., 0], None]
INDICES += [np.s_[:, None], [1, 0], np.s_[[0, 1], [2, 0]], PLAIN > 3, True, False, np.int8(1), ()]


@pytest.mark.parametrize("library", ["ndarray", "xla", "python"])
@pytest.mark.parametrize("index", INDICES, ids=str)
def test_any_index_of_numpy_is_taken_in_main_memory(index, library):
    if library == "xla" and not ab.libraries()["xla"]["available"]:
        pytest.skip("no plugin of XLA")
    array = ab.convert(PLAIN, library)
    part = array[index]
    assert isinstance(part, ab.Array) and part.library == array.library
    assert part.shape == PLAIN[index].shape and part.dtype == PLAIN.dtype
    np.testing.assert_array_equal(np.asarray(part), PLAIN[index])


def test_arrays_index_arrays():
    array, mask = ab.convert(PLAIN, "ndarray"), ab.convert(PLAIN > 3, "ndarray")
    np.testing.assert_array_equal(np.asarray(array[mask]), PLAIN[PLAIN > 3])
    np.testing.assert_array_equal(np.asarray(array[ab.convert(np.array([1, 0]), "ndarray")]), PLAIN[[1, 0]])
    np.testing.assert_array_equal(np.asarray(array[array[0, 0, 1] > 0]), PLAIN[True])
    np.testing.assert_array_equal(np.asarray(array[:, ab.Array(np.array([2]))]), PLAIN[:, [2]])


@pytest.mark.parametrize("library", ["ndarray", "python"])
def test_indices_that_are_not_there_are_index_errors(library):
    array = ab.convert(PLAIN, library)
    for index in (2, -3, 10**30, -(10**30), np.s_[0, 5], np.s_[0, 0, 0, 0], 1.5):
        with pytest.raises(IndexError):
            array[index]


def test_objects_are_indexed_by_their_own_librarys_rules(package):
    torch = package("torch")
    tensor = torch.arange(6.0).reshape(2, 3)
    part = ab.Array(tensor)[:, 1:]
    part.unwrap()[0, 0] = 9
    assert part.library == "python:torch" and tensor[0, 1] == 9


def test_frames_are_indexed_by_place_as_their_values_are(package):
    pd = package("pandas")
    frame = pd.DataFrame({"x": [1.0, 2.0], "y": [3.0, 4.0]})
    assert np.asarray(ab.Array(frame)[1]).tolist() == [2, 4]
    assert np.asarray(ab.Array(pd.Series([1.0, 2.0], index=["a", "b"]))[1]) == 2


@pytest.mark.parametrize("library", ["ndarray", "xla", "python"])
@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, lambda array: pickle.loads(pickle.dumps(array))])
def test_copies_are_of_the_same_library_and_share_no_memory(way, library):
    if library == "xla" and not ab.libraries()["xla"]["available"]:
        pytest.skip("no plugin of XLA")
    array = ab.convert(PLAIN, library)
    other = way(array)
    assert (other.library, other.device, other.dtype) == (array.library, array.device, array.dtype)
    np.asarray(other)[...] = 7
    np.testing.assert_array_equal(np.asarray(array), PLAIN)


@pytest.mark.parametrize("name", ["torch", "jax", "cupy"])
def test_copies_of_objects_are_of_their_library(package, name):
    package(name)
    array = ab.Array(ab.Array(PLAIN).give(name))
    for other in (copy.copy(array), array.to("python"), pickle.loads(pickle.dumps(array))):
        assert other.library == array.library and other.unwrap() is not array.unwrap()
        np.testing.assert_array_equal(np.asarray(other), PLAIN)


def test_an_array_of_an_array_is_computed_with():
    array = ab.Array(ab.convert(PLAIN, "ndarray"))
    assert np.asarray(array + 1)[0, 0, 0] == 1 and np.asarray(array[1]).shape == (3, 4)
