"""dask and pandas: values chunk by chunk, indices left to the caller."""

import numpy as np
import pytest

import arraybridge_rs as ab


def test_pandas_values_are_read_and_the_index_is_not(package):
    pd = package("pandas")
    series = pd.Series([1.0, 2.0, 3.0], index=["a", "b", "c"])
    frame = pd.DataFrame({"x": [1.0, 2.0], "y": [3.0, 4.0]}, index=[7, 8])
    assert ab.Array(series).library == "python:pandas"
    assert np.asarray(ab.convert(series, "ndarray")).tolist() == [1, 2, 3]
    assert np.asarray(ab.convert(frame, "ndarray")).tolist() == [[1, 3], [2, 4]]
    assert np.sqrt(ab.convert(series, "ndarray")).library == "ndarray"
    with pytest.raises(BufferError, match="no dtype here"):
        ab.convert(pd.DataFrame({"x": [1], "y": ["text"]}), "ndarray")


def test_dask_arrays_are_lazy_until_they_are_read(package):
    da = package("dask.array")
    lazy = da.arange(12, chunks=5, dtype="f4").reshape(3, 4)
    array = ab.Array(lazy)
    assert array.library == "python:dask" and array.shape == (3, 4) and array.dtype == np.float32
    assert np.asarray(ab.convert(lazy, "ndarray"))[2, 3] == 11


def test_chunks_come_one_at_a_time(package):
    da = package("dask.array")
    from arraybridge_rs.dask import chunks

    alive = []

    def made(block):
        alive.append(len(alive))
        return block + 1

    lazy = da.zeros((5, 7), chunks=(2, 3), dtype="f4").map_blocks(made, dtype="f4", meta=np.empty((0, 0), "f4"))
    seen, progress = np.zeros((5, 7)), []
    for done, (place, array) in enumerate(chunks(lazy, "ndarray", progress=lambda *p: progress.append(p)), 1):
        assert len(alive) == done, "only this chunk and those before were computed"
        assert array.library == "ndarray"
        seen[place] += np.asarray(array)
    assert (seen == 1).all() and progress == [(i, 9) for i in range(1, 10)]


def test_lazy_conversion_and_stacks(package):
    da = package("dask.array")
    from arraybridge_rs.dask import convert, stack

    lazy = da.arange(10, chunks=4, dtype="i8")
    made = convert(lazy, "ndarray")
    assert made.chunks == lazy.chunks and made.dtype == lazy.dtype
    assert isinstance(made.blocks[1].compute(), ab.Array)
    assert np.asarray(made.compute()).tolist() == list(range(10))
    planes = [ab.convert(np.full((2, 3), i, "u2"), "ndarray") for i in range(4)]
    whole = stack(planes)
    assert whole.shape == (4, 2, 3) and whole.chunks[0] == (1, 1, 1, 1)
    assert whole[2].sum().compute() == 12
    with pytest.raises(ValueError, match="array 1 is"):
        stack([planes[0], ab.convert(np.ones(2), "ndarray")])
    with pytest.raises(ValueError):
        stack([])


def test_lazy_arrays_of_converted_chunks_are_computed_with(package):
    da = package("dask.array")
    from arraybridge_rs.dask import convert

    plain = np.arange(24.0).reshape(4, 6)
    lazy = convert(da.from_array(plain, chunks=(2, 3)), "ndarray")
    for work in (
        lambda array: array + 1,
        lambda array: array[1:3, ::2],
        lambda array: array[[0, 3]],
        lambda array: array.T,
        lambda array: array.sum(),
        lambda array: array.max(axis=1),
        lambda array: array.rechunk(4) if hasattr(array, "rechunk") else array,
        lambda array: np.exp(array).sum(axis=0),
    ):
        made = work(lazy).compute()
        assert isinstance(made, ab.Array)
        np.testing.assert_allclose(np.asarray(made), work(plain))
    np.testing.assert_allclose(lazy.map_blocks(np.asarray).mean(axis=0).compute(), plain.mean(axis=0))
    assert np.asarray(lazy.compute(scheduler="processes", num_workers=1)).shape == (4, 6)
