"""Folds and scans of segments by NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np


def wide(x: np.ndarray) -> np.ndarray:
    """Return floats in float64 and complex numbers in complex128."""
    return x.astype({"f": np.float64, "c": np.complex128}.get(x.dtype.kind, x.dtype), copy=False)


def in_segments(function: str, op: str, x: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Reduce or scan segments between offsets, none of them empty."""
    x, offsets = wide(x), offsets.astype(np.int64)
    starts, lengths = offsets[:-1], np.diff(offsets)
    ufunc: Any = {"sum": np.add, "max": np.maximum, "xor": np.bitwise_xor}[op]
    sums = {"i": np.int64, "u": np.uint64}.get(x.dtype.kind) if op == "sum" else None
    if function == "reduce":
        return np.asarray(ufunc.reduceat(x if sums is None else x.astype(sums), starts))
    if op == "max" or (op == "sum" and sums is None):
        return _scan_segments(ufunc, x, starts, lengths)
    scanned = ufunc.accumulate(x, dtype=sums)
    before = np.concatenate([scanned[:1] * 0, scanned[starts[1:] - 1]])
    repeated = np.repeat(before, lengths)
    return np.asarray(scanned ^ repeated if op == "xor" else scanned - repeated)


def _scan_segments(ufunc: Any, x: np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Scan segments by doubling the distance, within segments; differences of one long sum of floats cancel."""
    place = np.arange(x.size) - np.repeat(starts, lengths)
    scanned, distance = x.copy(), 1
    while distance < lengths.max():
        joined = ufunc(scanned[distance:], scanned[:-distance])
        scanned[distance:] = np.where(place[distance:] >= distance, joined, scanned[distance:])
        distance *= 2
    return scanned
