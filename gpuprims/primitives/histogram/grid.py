"""Grids of bins: the tables of several axes as one, and edges as numpy.histogramdd finds them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from gpuprims.core.kernel_spec import Dtype
from gpuprims.errors import ArgumentError
from gpuprims.primitives.histogram.binning import MOST_BINS, Table, guided, make_table

_LARGE = 2**16


@dataclass(frozen=True, eq=False)
class Grid(Table):
    """The tables of the axes of a grid, all of one kind; ``places.h`` describes the words."""

    axes: tuple[Table, ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of bins along each axis."""
        return tuple(len(axis.edges) - 1 for axis in self.axes)

    @cached_property
    def words(self) -> np.ndarray:
        """The table in memory."""
        first, stride, parts = 2 * len(self.axes) + 1, math.prod(self.shape), []
        header = [0] * first
        header[-1] = stride
        for k, (axis, length) in enumerate(zip(self.axes, self.shape, strict=True)):
            stride //= length
            header[2 * k : 2 * k + 2] = first, axis.bins | stride << 32
            first += len(axis.words)
            parts.append(axis.words)
        return np.concatenate([np.array(header, np.uint64), *parts])


@lru_cache(maxsize=32)
def grid_of(label: str, axes: tuple[Table, ...], rows: int = 1) -> Grid:
    """Return the grid of some axes, ``rows`` times one after the other."""
    bins = check_grid(label, math.prod(len(axis.edges) - 1 for axis in axes) * rows)
    even = all(axis.kind == "even" for axis in axes)
    chosen = axes if even else tuple(guided(axis) for axis in axes)
    none = np.zeros(0, np.uint32)
    return Grid("even" if even else "edges", bins, none, none, none, none, chosen)


def check_grid(label: str, bins: int) -> int:
    """Return the number of bins of a grid, or raise if it is too large for the indices of kernels."""
    if bins > MOST_BINS:
        raise ArgumentError(f"{label}: at most 2^30 bins in all; got {bins} (count in fewer bins)")
    return bins


def _axis_between(dtype: np.dtype[Any], bins: int, low: Any, high: Any) -> Table:
    """Return the table of an axis of even bins, as numpy.histogramdd: elements are compared with the edges."""
    low, high = (low, high) if low != high else (low - 0.5, high + 0.5)
    return make_table(dtype, np.linspace(low, high, bins + 1), None)


_small_axes, _large_axes = lru_cache(64, typed=True)(_axis_between), lru_cache(2, typed=True)(_axis_between)


def axis_between(dtype: Dtype, bins: int, low: Any, high: Any) -> Table:
    """Return the table of an axis; those of few bins are kept."""
    return (_small_axes if bins <= _LARGE else _large_axes)(dtype, bins, low, high)
