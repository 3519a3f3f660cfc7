"""Tables of bins: NumPy's edges in the form that kernels read.

Kernels compare elements with thresholds in the elements' own dtype. A threshold is the smallest element of a bin, so
kernels find the same bin as NumPy.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal

import numpy as np

from gpuprims.core.kernel_spec import Dtype
from gpuprims.errors import ArgumentError, DtypeError
from gpuprims.primitives.histogram.spec import TABLE_HEADER
from gpuprims.primitives.histogram.thresholds import Order, find_thresholds

# Kernels count bins in 32 bits.
MOST_BINS = 2**30
# If cells are bins, elements up to a limit from the middle of a cell, in cells, are in its bin. The least limit,
# and the largest part of uncertain elements where smaller cells are possible.
_LEAST_LIMIT, _MOST_DOUBT = 0.25, 0.125
# Most cells of the guide, for each bin and for all.
_CELLS_PER_BIN, _MOST_CELLS = 16, 2**16
# Upper bound of the distance, in cells, by which rounding moves an element.
_MARGIN = 2.0**-5
_IMPURE = np.uint32(1 << 31)


@dataclass(frozen=True, eq=False)
class Table:
    """The bins in the form that kernels read; see ``binning.h``.

    ``bins`` counts the bins up to the last that elements of the dtype can be in. ``edges`` are NumPy's. A table equals
    only itself, so that caches do not compare contents. A "sought" table has no contents: kernels make them.
    """

    kind: Literal["direct", "even", "edges", "sought"]
    bins: int
    header: np.ndarray
    thresholds: np.ndarray
    guide: np.ndarray
    edges: np.ndarray

    @cached_property
    def words(self) -> np.ndarray:
        """The table in memory, as 64-bit words; the edges come last, and the header says where."""
        if self.kind == "direct":
            return self.header
        size = (self.bins + 2) * self.thresholds.itemsize // 8
        end = TABLE_HEADER + size + (self.guide.size + 1) // 2
        words = np.zeros(end + (self.edges.nbytes + 7) // 8, np.uint64)
        words[:TABLE_HEADER] = self.header
        words[TABLE_HEADER - 1] = (end << 32) + self.edges.nbytes // 4
        words[TABLE_HEADER:].view(self.thresholds.dtype)[: self.bins + 1] = self.thresholds
        words[TABLE_HEADER + size :].view(np.uint32)[: self.guide.size] = self.guide
        words[end:].view(np.uint8)[: self.edges.nbytes] = self.edges.view(np.uint8)
        return words

    @property
    def edges_in_words(self) -> bool:
        """True if the edges are whole words of 32 bits, which kernels copy."""
        return self.edges.nbytes % 4 == 0


def key_dtype(dtype: Dtype) -> Dtype:
    """Return the dtype in which kernels compare elements: their own, or one of 32 bits that holds it."""
    if dtype.kind == "c":
        raise DtypeError(f"histogram: real numbers, which have an order; got dtype {dtype}")
    if dtype.itemsize >= 4:
        return dtype
    return np.dtype(np.float32 if dtype.kind == "f" else np.int32)


@lru_cache(maxsize=64)
def direct(bins: int) -> Table:
    """Return the table for elements that are the numbers of their bins."""
    none = np.zeros(0, np.uint32)
    return Table("direct", bins, np.zeros(TABLE_HEADER, np.uint64), none, none, none)


def make_table(dtype: Dtype, bins: Any, limits: tuple[Any, Any] | None) -> Table:
    """Return the table of a number of bins between two limits, or of explicit edges."""
    order = Order(np.dtype(np.uint8) if dtype.kind == "b" else dtype)
    try:
        edges = np.histogram_bin_edges(np.empty(0, order.dtype), bins, limits)
    except ValueError as error:  # NumPy raises it if bins are narrower than the spacing of floats
        raise ArgumentError(f"histogram: bins that floats can tell apart; got {bins} in {limits}") from error
    low, high = (edges[0], edges[-1]) if limits is None else limits
    ends = (low, high) if limits is None or low != high else (low - 0.5, high + 0.5)  # as in NumPy
    starts, last = find_thresholds(order, bins, limits, edges, ends)
    thresholds = np.append(order.elements(starts), order.elements(last)).astype(key_dtype(dtype))
    return _even(thresholds, edges) or _uneven(thresholds, edges)


@lru_cache(maxsize=64)
def guided(table: Table) -> Table:
    """Return a table of the same bins, which need not be even."""
    return table if table.kind == "edges" else _uneven(table.thresholds, table.edges)


def _uneven(thresholds: np.ndarray, edges: np.ndarray) -> Table:
    return _by_integers(thresholds, edges) or _guided(thresholds, edges)


def _distances(elements: np.ndarray, first: Any) -> np.ndarray:
    """Return the distances from the first element, as DISTANCE of ``spec.py`` computes them."""
    kind = elements.dtype if elements.dtype.kind == "f" else np.dtype(f"u{elements.itemsize}")
    with np.errstate(over="ignore", invalid="ignore"):
        distances: np.ndarray = np.subtract(elements.view(kind), np.asarray(first).view(kind)).astype(np.float32)
    return distances


def _even(thresholds: np.ndarray, edges: np.ndarray) -> Table | None:
    """Return a table of bins of equal width, with a cell for each bin; None if the widths differ too much."""
    bins, numbers = len(thresholds) - 1, Order(thresholds.dtype).numbers(thresholds)
    if bins != len(edges) - 1 or numbers[0] > numbers[-1] or (numbers[1:-1] <= numbers[:-2]).any():
        return None
    # Try the width of the bins, and the mean distance of thresholds, which suits integers. The bias moves an edge just
    # into the cell above, by the spacing of floats that number cells.
    with np.errstate(all="ignore"):
        width = np.float64(edges[-1]) - np.float64(edges[0])
        scales = np.float32(bins / width), _scale(thresholds[:-1], bins - 1)
    bias = np.spacing(np.float32(max(bins - 1, 1))) - np.float32(0.5)
    found = [(_limits(thresholds, scale, bias), scale) for scale in scales]
    limits, scale = max(found, key=lambda one: one[0])
    doubt = 1 - 2 * min(limits)
    if min(limits) < _LEAST_LIMIT or (doubt > _MOST_DOUBT and bins <= _MOST_CELLS // _CELLS_PER_BIN):
        return None
    header = _header(thresholds, (scale, bias, *limits), bins - 1)
    return Table("even", bins, header, thresholds, np.zeros(0, np.uint32), edges)


def _by_integers(thresholds: np.ndarray, edges: np.ndarray) -> Table | None:
    """Return a table with a cell for each integer, so that none is in doubt; None for floats, or too many integers."""
    cells = 0 if thresholds.dtype.kind == "f" else int(thresholds[-1]) - int(thresholds[0]) + 1
    if not 0 < cells <= _MOST_CELLS:
        return None
    inner = _distances(thresholds[1:-1], thresholds[0])
    guide = np.searchsorted(inner, np.arange(cells + 2), "right").astype(np.uint32)
    return Table("edges", len(thresholds) - 1, _header(thresholds, (1, 0, 0, 0), cells), thresholds, guide, edges)


def _guided(thresholds: np.ndarray, edges: np.ndarray) -> Table:
    """Return a table for any thresholds, with a guide of small cells, most of them within a bin."""
    bins = len(thresholds) - 1
    cells = min(1 << int(_CELLS_PER_BIN * bins - 1).bit_length(), _MOST_CELLS)
    scale = _scale(thresholds, cells)
    if not np.isfinite(scale) or scale == 0:  # kernels search all thresholds
        guide = np.array([0, 0, max(bins - 1, 0)], np.uint32) | _IMPURE
        return Table("edges", bins, _header(thresholds, (0, 0, 0, 0), 1), thresholds, guide, edges)
    inner = _distances(thresholds[1:-1], thresholds[0]).astype(np.float64) * np.float64(scale)
    lower = np.searchsorted(inner, np.arange(cells + 2) - _MARGIN).astype(np.uint32)
    upper = np.searchsorted(inner, np.arange(1, cells + 3) + _MARGIN, "right")
    guide = np.where(upper > lower, lower | _IMPURE, lower)
    return Table("edges", bins, _header(thresholds, (scale, -0.5, 0, 0), cells), thresholds, guide, edges)


def _scale(thresholds: np.ndarray, cells: int) -> np.float32:
    if not cells:
        return np.float32(0)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        scale: np.float32 = np.float32(cells) / _distances(thresholds[-1:], thresholds[0])[0]
    return scale


def _limits(thresholds: np.ndarray, scale: np.float32, bias: np.float32) -> tuple[float, float]:
    """Return the largest distances from the middle of a cell at which an element is certainly in the cell's bin.

    The first holds if the kernel rounds a product and the next sum once, the second in any case.
    """
    if not np.isfinite(scale) or scale == 0:
        return 0.0, 0.0
    starts, bins = thresholds[1:-1], np.arange(1, len(thresholds) - 1)
    order = Order(thresholds.dtype)
    before = order.elements(order.numbers(starts) - np.uint64(1))
    together, apart = 1.0, 1.0
    for elements, own, wrong in ((starts, bins, 1), (before, bins - 1, -1)):
        for fused, cells, aside in _cells(elements, thresholds[0], scale, bias):
            # The first elements of a bin may lie in the upper half of the cell below, the last in the lower half above.
            near = wrong * aside[cells != own]
            if ((cells != own) & (cells != own - wrong)).any() or not (near > 0).all():
                return 0.0, 0.0
            limit = float(np.nextafter(near.min(initial=np.float32(2)), np.float32(0)))
            together, apart = min(together, limit) if fused else together, min(apart, limit)
    return together, apart


def _cells(elements: np.ndarray, first: Any, scale: np.float32, bias: np.float32) -> Iterator[tuple[bool, Any, Any]]:
    """Yield cells, and distances from their middle, with products rounded before the sum or not."""
    distances = _distances(elements, first)
    with np.errstate(over="ignore", invalid="ignore"):
        exact = distances.astype(np.float64) * np.float64(scale)
        products = exact, exact.astype(np.float32).astype(np.float64)
        for a, b in ((0, 0), (0, 1), (1, 0), (1, 1)):
            cells = np.rint((products[a] + np.float64(bias)).astype(np.float32)).astype(np.float64)
            yield a == b == 0, cells, (products[b] - cells - 0.5).astype(np.float32)


def _header(thresholds: np.ndarray, numbers: tuple[Any, ...], last: int) -> np.ndarray:
    words = [thresholds[:1], thresholds[-1:], *(np.array([number], np.float32) for number in numbers)]
    return np.array([*(int(word.view(f"u{word.itemsize}")[0]) for word in words), last, 0], np.uint64)


def check_bins(label: str, bins: int) -> int:
    """Return a number of bins, or raise if it is too large for the indices of kernels."""
    if bins > MOST_BINS:
        raise ArgumentError(f"{label}: at most 2^30 bins; got {bins}")
    return bins
