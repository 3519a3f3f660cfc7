"""New CuPy arrays, in less time."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

_BASE = cupy.ndarray.__mro__[1]


def _bare_array(shape: tuple[int, ...], dtype: np.dtype[Any], memory: Any = None) -> cupy.ndarray:
    """Make an array as CuPy's class does, without the Python of its ``__new__``: 1.01 us not 1.36 (CuPy 14.2)."""
    array = _BASE.__new__(cupy.ndarray)
    array._init(shape, dtype, memory)
    return array


# Makes an array, in memory from CuPy's pool if none is given. Only CuPy's versions with such a base class have that
# Python.
new_array = _bare_array if hasattr(_BASE, "_init") else cupy.ndarray
