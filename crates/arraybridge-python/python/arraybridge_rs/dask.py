"""dask arrays: converted chunk by chunk, and made of a stack of arrays.

Nothing here holds the whole array: each chunk is computed, converted and handed on by itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._native import Array
from ._native import convert as convert_one

if TYPE_CHECKING:
    import dask.array as da

__all__ = ["chunks", "convert", "stack"]


def convert(lazy: da.Array, library: str, device: str = "host") -> da.Array:
    """Makes a lazy dask array whose chunks are converted as they are computed.

    Each worker has one chunk in flight. Computing gives an ``Array``: of several chunks, NumPy joins
    them in main memory.

    What dask does by NumPy's functions and by indices runs on the chunks as they are. What it does
    by methods of NumPy's arrays (``mean``, ``reshape``, ``astype``, ``dot``) does not; make NumPy
    arrays of the chunks for that, which share their memory: ``lazy.map_blocks(numpy.asarray)``.
    """
    return lazy.map_blocks(
        convert_one, library, device, dtype=lazy.dtype, meta=np.empty((0,) * lazy.ndim, lazy.dtype)
    )


def chunks(
    lazy: da.Array,
    library: str,
    device: str = "host",
    progress: Callable[[int, int], Any] | None = None,
) -> Iterator[tuple[tuple[slice, ...], Array]]:
    """Computes and converts one chunk after another, in row-major order of the chunks.

    Gives out where each chunk lies and its array. ``progress`` is called with the number of chunks
    that are done and that of all.
    """
    if any(np.isnan(length) for axis in lazy.chunks for length in axis):
        raise ValueError("the chunks' sizes are not known; call `compute_chunk_sizes()` first")
    places = [
        [slice(end - length, end) for length, end in zip(axis, itertools.accumulate(axis))]
        for axis in lazy.chunks
    ]
    count = lazy.npartitions
    indices = itertools.product(*(range(len(axis)) for axis in places))
    for done, index in enumerate(indices, start=1):
        block = lazy.blocks[index] if index else lazy
        array = convert_one(np.asarray(block.compute()), library, device)
        if progress is not None:
            progress(done, count)
        yield tuple(axis[place] for axis, place in zip(places, index)), array


def stack(arrays: Sequence[Array]) -> da.Array:
    """Makes a lazy dask array of arrays of one shape and dtype, on a new first axis.

    Each array is one chunk, read over its own memory where it is in main memory, when it is computed.
    """
    import dask.array as da
    from dask import delayed

    if not arrays:
        raise ValueError("a stack needs at least one array")
    first = arrays[0]
    shape, dtype = first.shape, first.dtype
    for place, array in enumerate(arrays):
        if (array.shape, array.dtype) != (shape, dtype):
            raise ValueError(
                f"array {place} is {array.dtype} {array.shape}, the first one {dtype} {shape}"
            )
    read = delayed(np.asarray, pure=False)
    parts = [da.from_delayed(read(delayed(array, traverse=False)), shape, dtype) for array in arrays]
    return da.stack(parts)
