"""Memory of arrays: of host arrays as bytes, from an array's first byte to its last, and sections of scratch memory."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.lib.array_utils import byte_bounds

# Bytes to which sections of scratch memory are rounded: a line of GPUs' caches.
_LINE = 128


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
    low, high = reach(array.shape, array.strides, array.itemsize)
    return np.asarray(_Memory(array, low, high - low)), -low


def cut_array(array: np.ndarray, start: int, shape: tuple[int, ...]) -> np.ndarray:
    """Return a view of consecutive elements of a C-contiguous host array."""
    return array.reshape(-1)[start : start + math.prod(shape)].reshape(shape)


def section(nbytes: int) -> int:
    """Return the bytes that a section of scratch memory takes, so that the next one begins at a cache line."""
    return -(-nbytes // _LINE) * _LINE


class _Memory:
    """The bytes of an array, for NumPy; writable, because a driver that shares memory asks for that even to read."""

    __slots__ = ("__array_interface__", "_owner")

    def __init__(self, owner: np.ndarray, low: int, nbytes: int) -> None:
        self._owner = owner
        first = owner.__array_interface__["data"][0]
        self.__array_interface__ = {"version": 3, "typestr": "|i1", "data": (first + low, False), "shape": (nbytes,)}
