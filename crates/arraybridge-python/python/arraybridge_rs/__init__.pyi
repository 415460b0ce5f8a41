from collections.abc import Sequence
from types import TracebackType
from typing import Any, TypedDict

import numpy as np
from numpy.typing import DTypeLike, NDArray

__version__: str

class LibraryStatus(TypedDict):
    available: bool
    why: str
    devices: list[str]

class CounterRow(TypedDict):
    source_library: str
    source_device: str
    target_library: str
    target_device: str
    mechanism: str
    copied: bool
    conversions: int
    nbytes: int
    seconds: float

class Array:
    """An array of any library."""

    def __init__(self, object: object) -> None:
        """Wraps an array object as it is, without a copy."""
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def ndim(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def device(self) -> str:
        """``host``, ``accelerator:N`` or ``device:NAME``."""
    @property
    def library(self) -> str:
        """The array's library; ``python:torch`` for an object of PyTorch."""
    def unwrap(self) -> Any:
        """The Python object, for an array of the library ``python``."""
    def give(self, name: str) -> Any:
        """Gives the elements to a Python library by its name, over the same memory where it takes it."""
    def to(self, library: str, device: str = "host", *, copy: bool | None = None) -> Array:
        """Makes an array of another library; this one stays as it is."""
    def plan(self, library: str, device: str = "host") -> str:
        """Says what a conversion would do."""
    def __len__(self) -> int: ...
    def __getitem__(self, index: int) -> Array: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    @property
    def __array_interface__(self) -> dict[str, Any]: ...
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...
    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]: ...
    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **keywords: Any) -> Any: ...
    def __array_function__(
        self, function: Any, types: Any, arguments: Sequence[Any], keywords: dict[str, Any]
    ) -> Any: ...
    def __array_wrap__(self, array: NDArray[Any], context: Any = None, return_scalar: bool = False) -> Any: ...

class Counters:
    """Totals the conversions of a ``with`` block, on the thread that runs it."""

    def __enter__(self) -> Counters: ...
    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        raised: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> bool: ...
    def rows(self) -> list[CounterRow]: ...
    def to_json(self) -> str: ...

def convert(object: object, library: str, device: str = "host", *, copy: bool | None = None) -> Array:
    """Converts an array object of any Python library, or an ``Array``, to a library on a device."""

def plan(source: str, source_device: str, target: str, target_device: str) -> str:
    """Says what a conversion would do, from declarations alone."""

def libraries() -> dict[str, LibraryStatus]:
    """The libraries by name: whether each can be used here, and on which devices."""
