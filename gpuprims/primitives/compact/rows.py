"""compact along an axis: the rows, columns or planes that a mask keeps."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gpuprims.core.by_numpy import Few
from gpuprims.core.device import Device, device_of
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.outputs import as_out
from gpuprims.core.warm_calls import WarmCalls
from gpuprims.errors import ArgumentError, DtypeError, ShapeError, quoted
from gpuprims.primitives.axes import one_axis
from gpuprims.primitives.beginnings import to_out
from gpuprims.primitives.grouping.by_numpy import computed_by_numpy
from gpuprims.primitives.grouping.indices import numbers
from gpuprims.primitives.take import take

_LABEL = "compact"
# The kernels of a call find places, and then take these.
_FEW = Few(near=2**20, woken=2**20)  # rows: by_numpy-axis
_WARM = WarmCalls()


def compact_along(
    compact: Callable[..., Any], x: Any, mask: Any, axis: Any, out: Any, device: str | Device | None, variant: Any
) -> Any:
    """Keep the places along an axis where a mask is true: find their indices by ``compact``, and take these."""
    if isinstance(mask, str) or callable(mask):
        raise ArgumentError(f"{_LABEL}: with axis=, a mask of bools for its places; got a function (compute it by map)")
    if variant is not None:
        raise ArgumentError(f"{_LABEL}: no variant= with axis=, which runs compact and take; got {quoted(variant)}")
    key = None
    if out is None and type(axis) is int:
        key, given, run = _WARM.find_into(axis, (x, mask), None, device)
        if run is not None:
            return run(given)
    if type(mask) is not np.ndarray and device_of(mask) is None and isinstance(mask, list | tuple):
        mask = np.asarray(mask, None if len(mask) else np.bool_)
    home = device_of(x)
    if home is not None and isinstance(mask, np.ndarray):  # a mask has an element for a row: it may lie on the host
        mask = home.asarray(mask)
    operands = as_operands(_LABEL, (x, mask), device, stored=True)
    own, kept = operands.natives
    along = one_axis(axis, own.ndim)
    if kept.dtype != np.bool_:
        hint = "mask != 0, or call take for indices" if kept.dtype.kind in "iu" else "mask != 0"
        raise DtypeError(f"{_LABEL}: a mask of dtype bool; got {kept.dtype} (pass {hint})")
    if kept.shape != (own.shape[along],):
        rule = f"{_LABEL}: with axis={along}, a mask of shape {(own.shape[along],)}, a bool for each place"
        raise ShapeError(f"{rule}; got {tuple(kept.shape)}")
    written = as_out(operands, out)
    if operands.in_place and 0 < own.size <= _FEW.most(operands.driver):
        compute, kernels = partial(_compressed, along), partial(_taken, compact, along)
        found = computed_by_numpy(operands, compute, kernels, _WARM, key)
    else:
        found = _taken(compact, along, operands)
    return to_out(operands, (found,), written, (along,))[0]


def _compressed(axis: int, x: np.ndarray, mask: np.ndarray) -> np.ndarray:
    return x.take(mask.nonzero()[0], axis)


def _taken(compact: Callable[..., Any], axis: int, operands: Operands) -> Any:
    """Find the indices of places that a mask keeps, and take these."""
    own, kept = operands.natives
    if not own.shape[axis]:
        return operands.empty(tuple(own.shape), own.dtype)
    places = compact(numbers(int(own.shape[axis]), kept, operands.device), kept, device=operands.device)
    return take(own, places, axis, mode="clip", device=operands.device)
