"""Keys by which calls of histogram are found: their bins by value, their arrays by a few facts."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from gpuprims.core.call_keys import Key
from gpuprims.core.device import Device
from gpuprims.core.operands import Operands
from gpuprims.core.warm_calls import AS_GIVEN, Run, WarmCalls
from gpuprims.primitives.histogram.bins import is_plain_range
from gpuprims.primitives.histogram.plan import HistogramPlan

# Warm calls keep tables of up to this many bins: those of a thousand calls take 200 MB. Of larger tables they keep a
# few, with up to this many bins in all.
_MOST_KEPT, _MOST_LARGE = 2**13, 2**20
# Hashing more edges takes longer than to look the call up in another way.
_MOST_HASHED = 256


class WarmTables:
    """Warm calls with their tables; those of many bins are forgotten together, before they take much memory."""

    def __init__(self) -> None:
        self._small, self._large, self._bins = WarmCalls(), WarmCalls(), 0

    def find(self, key: Key | None) -> Run | None:
        """Return the function that runs a call with a key, or None."""
        return self._small.find(key) or self._large.find(key)

    def keep(self, key: Key, plan: HistogramPlan, operands: Operands) -> None:
        """Keep the plan of a call that has a table of its own, unless that is too large."""
        bins = plan.table.bins
        if bins <= _MOST_KEPT or plan.table.kind == "sought":  # which takes no memory
            self._small.keep(key, plan, operands)
        elif bins <= _MOST_LARGE:
            if self._bins + bins > _MOST_LARGE:
                self._large.clear()
                self._bins = 0
            self._bins += bins
            self._large.keep(key, plan, operands)


def warm_key(
    arrays: tuple[Any, ...],
    bins: Any,
    limits: Any,
    axis: Any,
    deterministic: Any,
    device: str | Device | None,
    beside: Hashable = None,
) -> Key | None:
    """Return the key of a call, with what it has ``beside``; None if its arguments need a check."""
    if type(axis) not in AS_GIVEN or type(deterministic) is not bool:
        return None
    asked: tuple[Any, ...]
    if type(bins) is int:
        if limits is None:
            asked = (bins,)
        elif is_plain_range(limits):
            asked = (bins, limits, type(limits[0]), type(limits[1]))  # NumPy's edges depend on the types too
        else:
            return None
    elif is_few_edges(bins):
        asked = (bins.dtype, bins.tobytes())
    else:
        return None
    return WarmCalls.key_of((asked, axis, deterministic, beside), arrays, device)


def is_few_edges(bins: Any) -> bool:
    """Return True for edges in an array of the host, so few that they may be a part of a key."""
    return type(bins) is np.ndarray and bins.ndim == 1 and 1 < bins.size <= _MOST_HASHED
