"""Keys by which calls of histogram are found: their bins by value, their arrays by a few facts."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuprims.core.warm_calls import AS_GIVEN, Key, key_of
from gpuprims.primitives.histogram.bins import is_plain_range

# Warm calls keep tables of so many bins at most: those of a thousand calls take 100 MB.
MOST_KEPT = 2**12
# Hashing more edges takes longer than to look the call up in another way.
_MOST_HASHED = 256


def warm_key(arrays: tuple[Any, ...], bins: Any, limits: Any, axis: Any, deterministic: Any) -> Key | None:
    """Return the key of a call; None if its arguments need a check."""
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
    elif type(bins) is np.ndarray and bins.ndim == 1 and 1 < bins.size <= _MOST_HASHED:
        asked = (bins.dtype, bins.tobytes())
    else:
        return None
    return key_of((asked, axis, deterministic), arrays)
