"""Memory of arrays: of host arrays as bytes, and from an array's first byte to its last."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence

import numpy as np
from numpy.lib.array_utils import byte_bounds


def reach(shape: Sequence[int], strides: Sequence[int], itemsize: int) -> tuple[int, int]:
    """Return the first byte of an array and the byte past its last, counted from its first element."""
    if 0 in shape:
        return 0, 0
    low = high = 0
    for n, stride in zip(shape, strides, strict=True):
        low, high = (low + (n - 1) * stride, high) if stride < 0 else (low, high + (n - 1) * stride)
    return low, high + itemsize


def bounds_of(array: np.ndarray) -> tuple[int, int]:
    """Return the first address of a host array and the one past its last."""
    if not array.flags.c_contiguous:
        return byte_bounds(array)
    first: int = array.__array_interface__["data"][0]
    return first, first + array.nbytes


def host_memory(array: np.ndarray) -> tuple[np.ndarray, int]:
    """Return the memory of a host array, as bytes or as it is, and the offset of its first element in bytes."""
    if array.flags.carray:
        return array, 0
    low, high = byte_bounds(array)
    # ctypes makes the memory writable: a driver that shares it asks for that, even when it only reads.
    raw = np.ctypeslib.as_array((ctypes.c_byte * (high - low)).from_address(low))
    memory = raw.view(_Owned)
    memory.owner = array
    return memory, array.__array_interface__["data"][0] - low


def cut_array(array: np.ndarray, start: int, shape: tuple[int, ...]) -> np.ndarray:
    """Return a view of consecutive elements of a C-contiguous host array."""
    return array.reshape(-1)[start : start + math.prod(shape)].reshape(shape)


class _Owned(np.ndarray):
    """Bytes with a reference to the array that owns them."""

    owner: np.ndarray
