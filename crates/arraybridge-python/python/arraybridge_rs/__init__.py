"""Arrays between Python's array libraries and Rust's.

``Array`` holds an array of any library and speaks NumPy's protocols and DLPack; ``convert`` makes one
of any array object. What is copied, and what is not, ``Counters`` tell.
"""

from ._native import Array, Counters, __version__, convert, libraries, plan

__all__ = ["Array", "Counters", "__version__", "convert", "libraries", "plan"]
