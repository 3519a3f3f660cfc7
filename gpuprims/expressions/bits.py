"""Floats as the bits that they are stored in, and back, of NumPy arrays and of elements of traced functions.

These functions have no names that callers could use: portable functions are written with them.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def bits_of(x: Any) -> Any:
    """Return the bits of a float as an unsigned integer of its size."""
    if isinstance(x, np.ndarray | np.generic):
        return x.view(f"u{x.dtype.itemsize}")
    return x.recorder.apply("bits_of", x)


def float_of(bits: Any) -> Any:
    """Return the float that has the given bits."""
    if isinstance(bits, np.ndarray | np.generic):
        return bits.view(f"f{bits.dtype.itemsize}")
    return bits.recorder.apply("float_of", bits)
