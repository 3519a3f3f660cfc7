"""Keys by which calls of histogram are found: their bins by value, their arrays by a few facts."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuprims.core.warm_calls import AS_GIVEN, Key, key_of

# Warm calls keep tables of so many bins at most: those of a thousand calls take 100 MB.
MOST_KEPT = 2**12
_PLAIN = (int, float)


class Edges:
    """A caller's edges as the key of a cache: a comparison of arrays takes less time than hashing their bytes."""

    def __init__(self, edges: np.ndarray) -> None:
        self.edges = edges
        self._hash = hash((edges.size, edges[edges.size // 2].item()))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Edges) or other.edges.dtype != self.edges.dtype:
            return False
        return np.array_equal(other.edges.view(np.uint8), self.edges.view(np.uint8))  # zeros have signs

    def own(self) -> Edges:
        """Copy the edges, since the caller may change theirs, and return the key."""
        self.edges = self.edges.copy()
        return self


def is_plain_range(limits: Any) -> bool:
    """Return True for two Python numbers, which need no check to be looked up."""
    return type(limits) is tuple and len(limits) == 2 and type(limits[0]) in _PLAIN and type(limits[1]) in _PLAIN


def warm_key(arrays: tuple[Any, ...], bins: Any, limits: Any, axis: Any, deterministic: Any) -> Key | None:
    """Return the key of a call; None if its bins depend on the elements, or if its arguments need a check."""
    if type(axis) not in AS_GIVEN or type(deterministic) is not bool:
        return None
    asked: tuple[Any, ...]
    if type(bins) is int and is_plain_range(limits):
        asked = (bins, limits, type(limits[0]), type(limits[1]))  # NumPy's edges depend on the types too
    elif type(bins) is np.ndarray and bins.ndim == 1 and 1 < bins.size <= MOST_KEPT and bins.flags.carray:
        asked = (Edges(bins),)
    else:
        return None
    return key_of((asked, axis, deterministic), arrays)


def kept_key(key: Key) -> Key:
    """Return a key of :func:`warm_key` that may be kept: with edges of its own."""
    asked: Any = key[0]
    if isinstance(asked[0][0], Edges):
        asked[0][0].own()
    return key
