"""Thresholds: the smallest element of a dtype in each bin of numpy.histogram.

NumPy finds bins by float arithmetic, which rounds, and then compares with the edges. A larger element never has a lower
bin, so each bin has a smallest element, at its edge or near it. If edges are as close as floats are, bisection with
NumPy's own function finds it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpuprims.core.kernel_spec import Dtype
from gpuprims.errors import ArgumentError

# Whole numbers up to it are the same in float64.
_WHOLE = 2.0**53


class Order:
    """Numbers the elements of a dtype in ascending order."""

    def __init__(self, dtype: Dtype) -> None:
        self.dtype = dtype
        self._bits = np.dtype(f"u{dtype.itemsize}")
        self._sign = self._bits.type(1 << (8 * dtype.itemsize - 1))
        self.lowest = self.numbers(np.asarray(-np.inf if dtype.kind == "f" else np.iinfo(dtype).min, dtype))
        self.highest = self.numbers(np.asarray(np.inf if dtype.kind == "f" else np.iinfo(dtype).max, dtype))

    def numbers(self, elements: np.ndarray) -> Any:
        """Return the number of each element."""
        bits = elements.view(self._bits)
        if self.dtype.kind == "u":
            return bits.astype(np.uint64)
        if self.dtype.kind == "i":
            return (bits ^ self._sign).astype(np.uint64)
        return np.where(bits & self._sign, ~bits, bits | self._sign).astype(np.uint64)

    def elements(self, numbers: Any) -> np.ndarray:
        """Return the element of each number."""
        bits = np.asarray(numbers).astype(self._bits)
        if self.dtype.kind == "i":
            bits = bits ^ self._sign
        elif self.dtype.kind == "f":
            bits = np.where(bits & self._sign, bits ^ self._sign, ~bits)
        found: np.ndarray = bits.view(self.dtype)
        return found


def find_thresholds(
    order: Order, bins: Any, limits: Any, edges: np.ndarray, ends: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of the first element of each bin, up to the last that has elements, and of the last element."""
    if limits is None:
        return _of_edges(order, edges)

    def bins_at(numbers: np.ndarray) -> np.ndarray:
        return _bins_at(order, numbers, bins, limits, ends)

    count = len(edges) - 1
    found = _first_places(order, edges[:-1])
    found[:1] = _first_places(order, np.asarray(ends[0])[None])
    last = _last_place(order, ends[1])
    if found[0] > last or order.elements(last) > ends[1]:  # no element of the dtype is in any bin
        return order.highest[None], order.lowest
    wanted = np.arange(count)
    wrong = (found <= last) & (bins_at(found) < wanted)
    below = found > order.lowest
    before = np.where(below, found - below.astype(np.uint64), found)
    wrong |= below & (bins_at(before) >= wanted)
    if wrong.any():  # edges are as close as floats are
        missing = wanted[wrong]
        low, high = (np.full(missing.shape, end, np.uint64) for end in (order.lowest, order.highest))
        found[wrong] = _first_where(lambda numbers: bins_at(numbers) >= missing, low, high)
    reached = bins_at(last[None])[0] + 1  # the highest element has no successor
    return found[: int(min(np.searchsorted(found, last, "right"), reached))], last


def _of_edges(order: Order, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the thresholds of explicit edges, with which NumPy only compares elements; see :func:`find_thresholds`."""
    # NumPy compares in this dtype: float64 if no integer dtype holds both integer dtypes.
    edges = edges.astype(np.result_type(order.dtype, edges.dtype))
    found, last = _first_places(order, edges[:-1]), _last_place(order, edges[-1])
    within = order.elements(found) >= edges[:-1]
    if not within[0] or found[0] > last or order.elements(last) > edges[-1]:  # no element of the dtype is in any bin
        return order.highest[None], order.lowest
    return found[: int(min(np.searchsorted(found, last, "right"), within.sum()))], last


def _first_places(order: Order, edges: np.ndarray) -> np.ndarray:
    """Return the number of the first element at or above each edge, or of the highest element if none is."""
    if edges.dtype.kind == order.dtype.kind == "f":
        with np.errstate(over="ignore"):
            near = edges.astype(order.dtype)
        below = near < edges
        # Of both zeros, -0.0 is the first, and 0.0 the last.
        near = np.where(near == 0, np.where(below, near.dtype.type(0.0), near.dtype.type(-0.0)), near)
        return np.asarray(order.numbers(near) + below)
    low = np.full(edges.shape, order.lowest, np.uint64)
    high = np.full(edges.shape, order.highest, np.uint64)
    if order.dtype.kind != "f" and edges.dtype.kind == "f":  # narrow the search
        near = np.clip(np.ceil(edges).astype(np.float64), -_WHOLE, _WHOLE)
        bounds = [int(order.elements(end)) for end in (order.lowest, order.highest)]
        inside = (near > bounds[0]) & (near < bounds[1]) & (np.abs(near) < _WHOLE)
        found = order.numbers(np.where(inside, near, 0).astype(order.dtype))
        low, high = np.where(inside, found, low), np.where(inside, found, high)
    return _first_where(lambda numbers: order.elements(numbers) >= edges, low, high)


def _first_where(reached: Callable[[np.ndarray], np.ndarray], low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the first number from low to high for which ``reached`` is true, or high."""
    while (low < high).any():
        middle = low + (high - low) // np.uint64(2)
        going, there = low < high, reached(middle)
        high = np.where(going & there, middle, high)
        low = np.where(going & ~there, middle + np.uint64(1), low)
    return low


def _last_place(order: Order, edge: Any) -> np.ndarray:
    """Return the number of the last element at or below an edge, or of the lowest element if none is."""
    low, high = int(order.lowest), int(order.highest)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if order.elements(np.uint64(middle)) <= edge else (low, middle - 1)
    return np.asarray(low, np.uint64)


def _bins_at(order: Order, numbers: np.ndarray, bins: Any, limits: Any, ends: Any) -> np.ndarray:
    """Return NumPy's bin of each element, -1 below the first bin, and the number of bins above the last."""
    elements = order.elements(numbers)
    ascending = np.argsort(numbers, kind="stable")
    lined = elements[ascending]
    try:
        with np.errstate(all="ignore"):  # the caller did not pass these elements
            counts = np.histogram(lined, bins, limits)[0]
    except (IndexError, OverflowError) as error:  # a difference of elements overflows, or an int exceeds int64
        ints = isinstance(error, OverflowError)
        rule = "whole numbers that int64 holds, or of floats" if ints else f"a width that {order.dtype} holds"
        raise ArgumentError(f"histogram: a range of {rule}; got {limits or 'such edges'}") from error
    lower = int(np.count_nonzero(lined < ends[0]))
    lined_bins = np.full(lined.shape, len(counts))
    lined_bins[:lower] = -1
    lined_bins[lower : lower + counts.sum()] = np.repeat(np.arange(len(counts)), counts)
    found = np.empty_like(lined_bins)
    found[ascending] = lined_bins
    return found
