"""Find overlaps of arrays from their shapes and strides, in the same way for every device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

Span = tuple[int, int, int]
# Steps of NumPy's exact search; a longer search counts as an overlap.
_MOST_WORK = 10**6
# Address of arrays without memory. Nothing reads there.
_NOWHERE = 1 << 46


class _Interface:
    """An object from which NumPy makes an array at an address."""

    def __init__(self, interface: dict[str, Any]) -> None:
        self.__array_interface__ = interface


def meet(one: Span, other: Span) -> bool:
    """Return True if two spans (memory object, first byte, end) have bytes in common."""
    return one[0] == other[0] and max(one[1], other[1]) < min(one[2], other[2])


def overlap(one: Span, first: Any, other: Span, second: Any) -> bool:
    """Return True if two arrays in these spans have bytes in common; interleaved arrays have none."""
    if not meet(one, other):
        return False
    low = min(one[1], other[1])
    return _shared(*(_shadow(span[1] - low, array) for span, array in ((one, first), (other, second))))


def span_of(driver: Any, array: Any) -> Span:
    """Return the memory object, the first byte and the end of a host array, or of one on the driver's device."""
    return (0, *byte_bounds(array)) if isinstance(array, np.ndarray) else driver.span(array)


def same_elements(driver: Any, one: Any, other: Any) -> bool:
    """Return True if two arrays of one library that meet in memory have each element, in order, at the same place."""
    if one.dtype.itemsize != other.dtype.itemsize or one.size != other.size:
        return False
    ways = [(array.shape, array.strides) for array in (one, other)]
    flat = all(array.flags.c_contiguous for array in (one, other))
    return _first_byte(driver, one) == _first_byte(driver, other) and (ways[0] == ways[1] or flat)


def _first_byte(driver: Any, array: Any) -> Any:
    return array.__array_interface__["data"][0] if isinstance(array, np.ndarray) else driver.span(array)


def repeats(array: Any) -> bool:
    """Return True if two elements of an array share a byte."""
    if array.flags.c_contiguous:
        return False
    steps = zip(array.strides, array.shape, strict=True)
    axes = sorted((abs(stride), length) for stride, length in steps if length != 1)
    if any(length == 0 for _, length in axes):
        return False
    reach = array.dtype.itemsize
    for stride, length in axes:
        if stride < reach:  # shorter than the inner axes: the elements may still interleave
            return stride == 0 or _meets_itself(axes, array.dtype.itemsize)
        reach += stride * (length - 1)
    return False


def _meets_itself(axes: Sequence[tuple[int, int]], itemsize: int) -> bool:
    """Search for two elements with a byte in common, by the first axis along which they differ."""
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
    """Return an array without memory that lies like another one, whose lowest byte is known."""
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
