"""Shared by all tests: packages that may be missing are skipped, except in CI, where they fail.

CuPy needs a GPU, and may be missing there too.
"""

import importlib
import os

import numpy as np
import pytest

NUMPY_2 = int(np.__version__.split(".")[0]) >= 2


@pytest.fixture
def package():
    """Imports a package, or skips; with the older NumPy nothing else is installed."""

    def bring(name):
        try:
            return importlib.import_module(name)
        except ImportError as error:
            if os.environ.get("CI") and NUMPY_2 and name != "cupy":
                raise
            pytest.skip(f"no {name}: {error}")

    return bring
