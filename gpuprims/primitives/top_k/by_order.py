"""Many of the elements of NumPy arrays: by the order of all."""

from __future__ import annotations

from functools import partial

import numpy as np

from gpuprims.core.by_numpy import ANY_SIZE, ByNumPy, Few
from gpuprims.core.device import Device
from gpuprims.primitives.sort import argsort

_ALL = Few(near=ANY_SIZE, woken=ANY_SIZE)
_PART = 8  # rows: by_order


def firsts_by_order(device: Device, n: int, k: int, axis: int | None, *, largest: bool) -> ByNumPy | None:
    """Return how a sort of rows of ``n`` elements finds the first ``k`` of them, if these are no small part."""
    if not k or k * _PART < n:
        return None
    return ByNumPy(partial(_firsts, device=device, k=k, axis=axis, largest=largest), _ALL)


def _firsts(x: np.ndarray, *, device: Device, k: int, axis: int | None, largest: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return elements and their indices: of equal ones, a stable sort puts those of lower index first as well."""
    if axis is None:
        x, axis = x.ravel(), 0
    order = argsort(x, axis=axis, descending=largest, device=device)
    found = order[(slice(None),) * (axis % x.ndim) + (slice(k),)].copy()
    return x.take(found) if x.ndim == 1 else np.take_along_axis(x, found, axis), found
