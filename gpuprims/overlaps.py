"""Overlaps of arrays, found from shapes and strides alone, so that they are the same on every device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Span = tuple[int, int, int]
# Steps of NumPy's exact search; what takes more counts as an overlap.
_MOST_WORK = 10**6
# Where arrays that have no memory begin. Nothing is read there.
_NOWHERE = 1 << 46


class _Interface:
    """What NumPy makes an array of, by address."""

    def __init__(self, interface: dict[str, Any]) -> None:
        self.__array_interface__ = interface


def meet(one: Span, other: Span) -> bool:
    """Whether two stretches of memory have bytes in common: each a memory object, its first byte and past its last."""
    return one[0] == other[0] and max(one[1], other[1]) < min(one[2], other[2])


def overlap(one: Span, first: Any, other: Span, second: Any) -> bool:
    """Whether two arrays, which lie in these stretches, have bytes in common; interleaved ones have none."""
    if not meet(one, other):
        return False
    low = min(one[1], other[1])
    return _shared(*(_shadow(span[1] - low, array) for span, array in ((one, first), (other, second))))


def repeats(array: Any) -> bool:
    """Whether an array has a byte that belongs to two of its elements."""
    if array.flags.c_contiguous:
        return False
    walks = zip(array.strides, array.shape, strict=True)
    axes = sorted((abs(stride), length) for stride, length in walks if length != 1)
    if any(length == 0 for _, length in axes):
        return False
    reach = array.dtype.itemsize
    for stride, length in axes:
        if stride < reach:  # less than the axes within take: the elements may still interleave
            return stride == 0 or _meets_itself(axes, array.dtype.itemsize)
        reach += stride * (length - 1)
    return False


def _meets_itself(axes: Sequence[tuple[int, int]], itemsize: int) -> bool:
    """Look for two elements with a byte in common, by the first axis along which their places differ."""
    whole = _lying(0, [length for _, length in axes], [stride for stride, _ in axes], itemsize)
    for _ in axes:
        first = whole[0, ...]  # a view: without the dots, the last would be read
        if _shared(whole[1:], first):
            return True
        whole = first
    return False


def _shared(one: np.ndarray, other: np.ndarray) -> bool:
    try:
        return np.shares_memory(one, other, max_work=_MOST_WORK)  # type: ignore[arg-type]  # its types know 0 and -1
    except np.exceptions.TooHardError:
        return True


def _shadow(low: int, array: Any) -> np.ndarray:
    """Return an array without memory, in the place of one whose lowest byte is known."""
    below = sum(stride * (n - 1) for stride, n in zip(array.strides, array.shape, strict=True) if stride < 0)
    return _lying(low - below, array.shape, array.strides, array.dtype.itemsize)


def _lying(first: int, shape: Sequence[int], strides: Sequence[int], itemsize: int) -> np.ndarray:
    interface = {
        "version": 3,
        "typestr": f"|V{itemsize}",
        "data": (_NOWHERE + first, False),
        "shape": tuple(shape),
        "strides": tuple(strides),
    }
    return np.asarray(_Interface(interface))
