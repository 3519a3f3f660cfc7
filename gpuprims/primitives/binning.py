"""Bins of a histogram: from NumPy's edges to the table that kernels read.

Kernels compare elements with thresholds, the smallest element of each bin, in the elements' own dtype, and so find
NumPy's bin whatever arithmetic leads them near it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal

import numpy as np

from gpuprims.definitions import TABLE_HEADER, Dtype
from gpuprims.errors import ArgumentError, DtypeError
from gpuprims.primitives.thresholds import Order, find_thresholds

# More would be counted by indices of 32 bits no more.
MOST_BINS = 2**30
# Where more elements than these lie near the edge of a bin, guessing by cells of a bin each does not pay.
_MOST_SLACK = 0.125
# Tables of more bins are soon too many to keep.
_LARGE = 2**16
# Cells of the guide, for each bin and altogether.
_CELLS_PER_BIN, _MOST_CELLS = 16, 2**16
_IMPURE = np.uint32(1 << 31)


@dataclass(frozen=True, eq=False)
class Table:
    """What kernels are told of the bins: see ``binning.h``.

    ``bins`` are those that have elements of the dtype; the ones after them are empty whatever the data. A table equals
    itself alone, so that what is made of it is looked up without a comparison of its contents.
    """

    kind: Literal["direct", "even", "edges"]
    bins: int
    header: np.ndarray
    thresholds: np.ndarray
    guide: np.ndarray

    @cached_property
    def words(self) -> np.ndarray:
        """The table as it lies in memory, 64 bits a word."""
        if self.kind == "direct":
            return self.header
        size = (self.bins + 2) * self.thresholds.itemsize // 8
        words = np.zeros(TABLE_HEADER + size + (self.guide.size + 1) // 2, np.uint64)
        words[:TABLE_HEADER] = self.header
        words[TABLE_HEADER:].view(self.thresholds.dtype)[: self.bins + 1] = self.thresholds
        words[TABLE_HEADER + size :].view(np.uint32)[: self.guide.size] = self.guide
        return words


def key_dtype(dtype: Dtype) -> Dtype:
    """Return the dtype in which elements are compared: their own, or the smallest of registers that holds it."""
    if dtype.kind == "c":
        raise DtypeError(f"histogram: real numbers, which have an order; got dtype {dtype}")
    if dtype.itemsize >= 4:
        return dtype
    return np.dtype(np.float32 if dtype.kind == "f" else np.int32)


@lru_cache(maxsize=64)
def direct(bins: int) -> Table:
    """Return the table for elements that are numbers of bins."""
    none = np.zeros(0, np.uint32)
    return Table("direct", bins, np.zeros(TABLE_HEADER, np.uint64), none, none)


def table_of_range(dtype: Dtype, bins: int, low: Any, high: Any) -> tuple[Table, np.ndarray]:
    """Return the table, and NumPy's edges, of so many bins between two numbers, whose types NumPy looks at too."""
    look_up = _kept_of_range if bins <= _LARGE else _large_of_range
    return look_up(dtype, bins, low, high, type(low).__name__, type(high).__name__)


def table_of_edges(dtype: Dtype, edges: np.ndarray) -> tuple[Table, np.ndarray]:
    """Return the table of explicit edges, and those."""
    if edges.size > _LARGE:
        return _table(dtype, edges.copy(), None)
    return _kept_of_edges(dtype, edges.tobytes(), edges.dtype)


@lru_cache(maxsize=32)
def _kept_of_range(dtype: Dtype, bins: int, low: Any, high: Any, *types: str) -> tuple[Table, np.ndarray]:
    return _table(dtype, bins, (low, high))


@lru_cache(maxsize=2)
def _large_of_range(dtype: Dtype, bins: int, low: Any, high: Any, *types: str) -> tuple[Table, np.ndarray]:
    return _table(dtype, bins, (low, high))


@lru_cache(maxsize=32)
def _kept_of_edges(dtype: Dtype, edges: bytes, kind: Dtype) -> tuple[Table, np.ndarray]:
    return _table(dtype, np.frombuffer(edges, kind), None)


def _table(dtype: Dtype, bins: Any, limits: tuple[Any, Any] | None) -> tuple[Table, np.ndarray]:
    order = Order(np.dtype(np.uint8) if dtype.kind == "b" else dtype)
    try:
        edges = np.histogram_bin_edges(np.empty(0, order.dtype), bins, limits)
    except ValueError as error:  # NumPy's, of bins narrower than floats are apart
        raise ArgumentError(f"histogram: bins that floats can tell apart; got {bins} in {limits}") from error
    ends = (edges[0], edges[-1]) if limits is None else _outer(*limits)
    starts, last = find_thresholds(order, bins, limits, edges, ends)
    thresholds = np.append(order.elements(starts), order.elements(last)).astype(key_dtype(dtype))
    return _even(thresholds, edges) or _guided(thresholds), edges


def _outer(low: Any, high: Any) -> tuple[Any, Any]:
    """Return the ends of a range as NumPy compares elements with them: wider where they are the same."""
    return (low - 0.5, high + 0.5) if low == high else (low, high)


def _distances(elements: np.ndarray, first: Any) -> np.ndarray:
    """Return how far elements are above the first, as kernels compute it; see DISTANCE in ``bins.py``."""
    with np.errstate(over="ignore", invalid="ignore"):
        unsigned = np.dtype(f"u{elements.itemsize}")
        whole = elements, np.asarray(first)
        high, low = whole if elements.dtype.kind == "f" else (whole[0].view(unsigned), whole[1].view(unsigned))
        distances: np.ndarray = np.subtract(high, low).astype(np.float32)
    return distances


def _even(thresholds: np.ndarray, edges: np.ndarray) -> Table | None:
    """Return the table of bins of one width, which are cells; None where they are not, nor nearly."""
    bins = len(thresholds) - 1
    if bins != len(edges) - 1:
        return None
    # The width of the bins, or, where elements are integers, of the thresholds.
    with np.errstate(all="ignore"):
        width = np.float64(edges[-1]) - np.float64(edges[0])
        scales = np.float32(bins / width), _scale(thresholds[:-1], bins - 1)
    slacks = [_slack(thresholds, scale) for scale in scales]
    slack = min(slacks)
    if slack > _MOST_SLACK:
        return None
    header = _header(thresholds, scales[slacks.index(slack)], slack, bins)
    return Table("even", bins, header, thresholds, np.zeros(0, np.uint32))


def _guided(thresholds: np.ndarray) -> Table:
    """Return the table of any thresholds, with a guide: in smaller cells, most of which lie within one bin."""
    bins = len(thresholds) - 1
    cells = min(1 << int(_CELLS_PER_BIN * bins - 1).bit_length(), _MOST_CELLS)
    scale = _scale(thresholds, cells)
    if not np.isfinite(scale):
        cells, scale = 1, np.float32(0)
    inner = _cell_of(thresholds[1:-1], thresholds[0], scale, cells)
    lower = np.searchsorted(inner, np.arange(cells + 1)).astype(np.uint32)
    impure = np.append(lower[1:] > lower[:-1], False)
    guide = np.where(impure, lower | _IMPURE, lower)
    return Table("edges", bins, _header(thresholds, scale, 0.0, cells), thresholds, guide)


def _scale(thresholds: np.ndarray, cells: int) -> np.float32:
    if not cells:
        return np.float32(0)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        scale: np.float32 = np.float32(cells) / _distances(thresholds[-1:], thresholds[0])[0]
    return scale


def _positions(elements: np.ndarray, first: Any, scale: np.float32) -> np.ndarray:
    with np.errstate(over="ignore", invalid="ignore"):
        return _distances(elements, first) * scale


def _cell_of(elements: np.ndarray, first: Any, scale: np.float32, cells: int) -> np.ndarray:
    at = _positions(elements, first, scale)
    inside = at < np.float32(cells)
    return np.where(inside, np.where(inside, at, 0).astype(np.int64), cells - 1)


def _slack(thresholds: np.ndarray, scale: np.float32) -> float:
    """Return how near to the edge of a cell an element may be of the next bin; infinity where it may be of others."""
    if not np.isfinite(scale):
        return np.inf
    order = Order(thresholds.dtype)
    starts = order.numbers(thresholds[:-1])
    if (starts[1:] <= starts[:-1]).any() or starts[0] > order.numbers(thresholds[-1:])[0]:
        return np.inf
    inner = np.arange(1, len(thresholds) - 1)
    first = _positions(thresholds[1:-1], thresholds[0], scale).astype(np.float64)
    before = _positions(order.elements(starts[1:] - np.uint64(1)), thresholds[0], scale).astype(np.float64)
    short, over = (inner - first).max(initial=0), (before - inner).max(initial=0)
    if not np.isfinite(short + over):
        return np.inf
    exact = short <= 0 and (before < inner).all()
    worst = 0.0 if exact else max(short, over, 2.0**-24)
    return 2 * worst


def _header(thresholds: np.ndarray, scale: Any, slack: float, cells: int) -> np.ndarray:
    # Rounded up to a power of two, so that kernels subtract it from 1 without rounding.
    power = np.float32(2.0 ** np.ceil(np.log2(slack)) if slack else 0)
    words = [thresholds[:1], thresholds[-1:], np.array([scale], np.float32), np.array([power])]
    bits = [int(word.view(f"u{word.itemsize}")[0]) for word in words]
    return np.array([*bits, cells, 0, 0, 0], np.uint64)


def check_bins(label: str, bins: int) -> int:
    """Return a number of bins that kernels can count to, or raise."""
    if bins > MOST_BINS:
        raise ArgumentError(f"{label}: at most 2^30 bins; got {bins}")
    return bins
