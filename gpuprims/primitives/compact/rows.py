"""compact along an axis: the rows, columns or planes that a mask keeps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpuprims.core.device import Device, device_of
from gpuprims.core.operands import as_operands
from gpuprims.core.outputs import as_out
from gpuprims.errors import ArgumentError, DtypeError, ShapeError, quoted
from gpuprims.primitives.axes import one_axis
from gpuprims.primitives.beginnings import to_out
from gpuprims.primitives.grouping.indices import numbers
from gpuprims.primitives.take import take

_LABEL = "compact"


def compact_along(
    compact: Callable[..., Any], x: Any, mask: Any, axis: Any, out: Any, device: str | Device | None, variant: Any
) -> Any:
    """Keep the places along an axis where a mask is true: find their indices by ``compact``, and take these."""
    if isinstance(mask, str) or callable(mask):
        raise ArgumentError(f"{_LABEL}: with axis=, a mask of bools for its places; got a function (compute it by map)")
    if variant is not None:
        raise ArgumentError(f"{_LABEL}: no variant= with axis=, which runs compact and take; got {quoted(variant)}")
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
    if not own.shape[along]:
        return to_out(operands, (operands.empty(tuple(own.shape), own.dtype),), written, (along,))[0]
    places = compact(numbers(int(own.shape[along]), kept, operands.device), kept, device=operands.device)
    found = take(own, places, along, mode="clip", device=operands.device)
    return to_out(operands, (found,), written, (along,))[0]
