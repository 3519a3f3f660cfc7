"""Sums by integer keys of a small range: a bin for each key, in place of a sort."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.operands import as_operands
from gpuprims.expressions import trace
from gpuprims.operators import OPERATORS, Op
from gpuprims.primitives.compact import compact
from gpuprims.primitives.grouping.flat import flat
from gpuprims.primitives.histogram import histogram
from gpuprims.primitives.map import map as map_arrays
from gpuprims.primitives.reduce import reduce

_OCCURS = trace(lambda count: count != 0, 1)
# A range is small with so many keys, or fewer than one for so many elements; never with more than the last number.
_FEW, _ELEMENTS_EACH, _MOST = 1024, 8, 1 << 22  # rows: direct
# Fewest elements: a sort of fewer takes less time than the launches and waits here (rows: direct-few).
_FEWEST = {"cpu": 1 << 14, "gpu": 1 << 19}
# Edges of bins are float64, which holds all integers up to this one.
_EXACT = 2**53


def direct_sums(
    label: str, arrays: tuple[Any, ...], keys: Any, op: Op, mapped: Any, device: str | Device | None
) -> Any:
    """Return the sums of the elements of each key, in ascending order of keys; None if a sort has to group them.

    Sums of floats are those of histogram's weights, whose bits repeat from run to run. The range of keys of 8 bits is
    known. For wider ones, the host waits for the smallest and the largest.
    """
    if op is not OPERATORS["sum"] or mapped is not None or len(arrays) != 1:
        return None
    operands = as_operands(label, (arrays[0], keys), device)
    values, by = operands.natives
    if values.size < _FEWEST.get(operands.device.capabilities.kind, 0):
        return None
    fits = values.dtype in (np.float32, np.float64) and by.dtype.kind in "iu" and values.shape == by.shape
    if not fits or not values.size or not operands.device.capabilities.fp64:
        return None
    on, flat_keys = operands.device, flat(operands, by)
    if by.dtype.itemsize == 1:
        low, high = int(np.iinfo(by.dtype).min), int(np.iinfo(by.dtype).max)
    else:
        low, high = (int(on.to_host(end)) for end in reduce(flat_keys, op="minmax", device=on))
    bins = high - low + 1
    if bins > min(max(values.size // _ELEMENTS_EACH, _FEW), _MOST) or max(-low, high) >= _EXACT:
        return None
    how: dict[str, Any] = {"bins": bins, "range": (low, high + 1), "device": on}
    sums, _ = histogram(flat_keys, weights=flat(operands, values), **how)
    counts, _ = histogram(flat_keys, **how)
    return operands.to_caller(compact(sums, map_arrays(_OCCURS, counts, device=on), device=on))
