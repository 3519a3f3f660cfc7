"""Floats as the bits that they are stored in, and back, and complex numbers of parts, of arrays and of traced elements.

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


def complex_of(real: Any, imag: Any) -> Any:
    """Return the complex number of two parts, floats of one dtype; products with 1j would lose infinities and NaN."""
    if isinstance(real, np.ndarray | np.generic):
        whole = np.empty(np.broadcast_shapes(np.shape(real), np.shape(imag)), f"c{2 * real.dtype.itemsize}")
        whole.real, whole.imag = real, imag
        return whole[()]
    return real.recorder.apply("complex_of", real, imag)
