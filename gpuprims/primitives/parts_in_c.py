"""Partitions of rows of the host in C, whose pivots NumPy finds: in the order of the kernels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from gpuprims.core.c_modules import CModule
from gpuprims.core.device import Device

PARTS = CModule(Path(__file__).with_name("parts.c"))
_DTYPES = frozenset(map(np.dtype, ("b", "B", "h", "H", "i", "I", "l", "L", "q", "Q", "f", "d")))
_SELECTED = np.dtype(np.int32)  # NumPy selects these by vectors, and bytes one by one
# Fewest elements of a row, and their bytes, whose pivot is found among those near it: between two of so many sampled
# ones, _REACH to each side of its rank, four to five times its deviation. A _PART of the row at most is gathered.
LONG, _WIDE, _SAMPLED, _REACH, _PART = 2**14, 4, 2**10, 72, 4  # rows: parts-sampled


def parts_in_c(device: Device, dtype: np.dtype[Any]) -> Any:
    """Return the module for a device's calls; None if it has no such dtype, or is not there yet."""
    return PARTS.serves(device.driver) if dtype in _DTYPES else None


def select(rows: np.ndarray, rank: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows whose element of a rank is where a sort would put it, and these elements in the rows' dtype."""
    ordered = rows.astype(_SELECTED) if rows.itemsize == 1 else rows.copy()
    ordered.partition(rank)
    return ordered, ordered[..., rank : rank + 1].astype(rows.dtype)


def sampled(parts: Any, row: np.ndarray, rank: int) -> np.ndarray | None:
    """Return the element of a rank of LONG elements or more, sought between two of a sample; None if not there."""
    at = rank * _SAMPLED // row.size
    if row.itemsize < _WIDE or not _REACH <= at < _SAMPLED - _REACH:
        return None
    step = row.size // _SAMPLED
    sample = np.sort(row[step // 2 :: step][:_SAMPLED])
    bounds = sample[at - _REACH : at + _REACH + 1 : 2 * _REACH].copy()
    room = np.empty(row.size // _PART, row.dtype)
    found = parts.between(row, bounds, room)
    if found is None or not found[0] <= rank < sum(found):
        return None
    below, count = found
    among = room[:count]
    among.partition(rank - below)
    return among[rank - below : rank - below + 1]


def parted(parts: Any, rows: np.ndarray, rank: int, *, places: bool) -> Any:
    """Return rows, or the places of their elements, parted by the element of a rank each; NotImplemented with NaN."""
    if rows.ndim == 1 and rows.size >= LONG and (pivot := sampled(parts, rows, rank)) is not None:
        result = np.empty(rows.size, np.int64 if places else rows.dtype)
        return result if parts.part(rows, pivot, result, places) else NotImplemented
    ordered, pivots = select(rows, rank)
    if places or ordered.dtype != rows.dtype:
        result = np.empty(rows.shape, np.int64 if places else rows.dtype)
    else:
        result = ordered
    return result if parts.part(rows, pivots, result, places) else NotImplemented


def firsts(parts: Any, row: np.ndarray, k: int, *, largest: bool) -> tuple[np.ndarray, int] | None:
    """Return the places of the first ``k`` elements in an order, and how many come before equal ones; None with NaN.

    Those before are in order of their places, and so are the equal ones behind them.
    """
    rank = row.size - k if largest else k - 1
    ordered, pivot = select(row, rank)
    if row.dtype.kind == "f" and np.isnan(ordered[rank:] if largest else pivot).any():
        return None
    places = np.empty(k, np.int64)
    return places, parts.firsts(row, pivot, largest, places)
