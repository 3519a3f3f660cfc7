"""Checks of the arrays of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuprims.core.host_values import host_values
from gpuprims.errors import ArgumentError, DtypeError, ShapeError, quoted

_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


def check_batch(
    label: str, natives: Sequence[Any], C: Any, offsets: Any, *, weighted: bool
) -> tuple[int, np.ndarray, np.ndarray | None]:
    """Return the number of problems, their penalties, one or of each, and any offsets; raise unless arrays fit."""
    samples, labels = natives[:2]
    if samples.dtype not in _FLOATS:
        raise DtypeError(
            f"{label}: X of float32 or float64; got dtype {samples.dtype} (convert it, such as to float32)"
        )
    if np.dtype(labels.dtype).kind not in "biu" and labels.dtype != samples.dtype:
        rule = f"y of bool, integers or the dtype of X, {samples.dtype}"
        raise DtypeError(f"{label}: {rule}; got {labels.dtype}")
    penalties = _penalties(label, C)
    ends = None if offsets is None else _checked_offsets(label, offsets, samples)
    per_row = {"y": labels} | ({"sample_weight": natives[2]} if weighted else {})
    if weighted and natives[2].dtype != samples.dtype:
        raise DtypeError(f"{label}: sample_weight of the dtype of X, {samples.dtype}; got {natives[2].dtype}")
    if len(samples.shape) not in (2, 3) or not samples.shape[-1] or not samples.shape[-2]:
        raise ShapeError(
            f"{label}: X of shape (B, n, k) or (n, k), of one row and feature or more; got {samples.shape}"
        )
    n = samples.shape[-2]
    counts = {"X": samples.shape[0]} if len(samples.shape) == 3 else {}
    if ends is not None:
        counts["offsets"] = len(ends) - 1
    for name, array in per_row.items():
        if array.shape[-1:] != (n,) or len(array.shape) > (2 if ends is None else 1):
            shapes = f"(B, {n}) or ({n},)" if ends is None else f"({n},)"
            raise ShapeError(f"{label}: {name} of shape {shapes}, for X of {samples.shape}; got {array.shape}")
        if len(array.shape) == 2:
            counts[name] = array.shape[0]
    if penalties.size != 1 or np.ndim(C):
        counts["C"] = penalties.size
    if len(set(counts.values())) > 1:
        told = ", ".join(f"{number} of {name}" for name, number in counts.items())
        raise ShapeError(f"{label}: one number of problems; got {told}")
    return next(iter(counts.values()), 1), penalties, ends


def _penalties(label: str, C: Any) -> np.ndarray:
    """Return the inverse of each C."""
    given = np.asarray(host_values(label, C, "C above 0, one or of each problem"), np.float64)
    if given.ndim > 1 or not np.all(given > 0):
        raise ArgumentError(f"{label}: C above 0, one or of each problem; got {quoted(C)}")
    return np.atleast_1d(1 / given)


def _checked_offsets(label: str, offsets: Any, samples: Any) -> np.ndarray:
    """Return offsets as int64 on the host."""
    given = host_values(label, offsets, "offsets, integers of shape (B + 1,)")
    if given.ndim != 1 or given.dtype.kind not in "iu" or not given.size:
        raise ArgumentError(f"{label}: offsets, integers of shape (B + 1,); got {given.dtype} of shape {given.shape}")
    if len(samples.shape) != 2:
        raise ShapeError(f"{label}: X of shape (n, k) with offsets; got {samples.shape}")
    ends = np.ascontiguousarray(given, np.int64)
    if ends[0] or ends[-1] != samples.shape[0] or np.any(np.diff(ends) < 0):
        rule = f"offsets that rise from 0 to {samples.shape[0]}, the rows of X"
        raise ArgumentError(f"{label}: {rule}; got {quoted(offsets)}")
    return ends
