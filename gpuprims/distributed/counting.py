"""Histograms of shards that are like those of an earlier call: each device has a plan, and the edges are known."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from gpuprims.core.determinism import asked_level
from gpuprims.core.plans import plan
from gpuprims.core.registry import REGISTRY
from gpuprims.distributed.devices import Devices
from gpuprims.distributed.sharded import ShardedArray

# Kinds of calls that a group remembers.
_MOST = 16


class Counting:
    """The counts of a kind of call. A plan takes longer to make than a call takes, so the second call makes it."""

    def __init__(self, edges: np.ndarray, shards: int, how: dict[str, Any]) -> None:
        self._edges, self._how = edges.copy(), how
        self._plans: list[Any] = [None] * shards

    @property
    def edges(self) -> np.ndarray:
        """The edges of the bins, which the caller may change."""
        return self._edges.copy()

    def count(self, k: int, shards: Sequence[Any], device: Any) -> Any:
        """Count the elements of a shard where it lies."""
        made = self._plans[k]
        if made is None:
            weights = {"weights": shards[1]} if len(shards) > 1 else {}
            made = self._plans[k] = plan("histogram", shards[0], device=device, **weights, **self._how)
        return made(*shards)


_KNOWN: WeakKeyDictionary[Devices, OrderedDict[Hashable, Counting]] = WeakKeyDictionary()


def kind_of(arrays: Sequence[ShardedArray], bins: Any, limits: Any, deterministic: bool) -> Hashable | None:
    """Return a key that calls with the same plans share; None if the plan depends on the elements."""
    if limits is None and np.ndim(bins) == 0:
        return None
    if not isinstance(bins, int | list | tuple | np.ndarray) or not isinstance(limits, tuple | list | None):
        return None
    edges, limited = np.asarray(bins), None if limits is None else tuple(map(repr, limits))  # 1 is equal to True
    forms = tuple((shard.shape, shard.strides, shard.dtype) for one in arrays for shard in one.shards)
    return forms, edges.dtype, edges.tobytes(), limited, deterministic, asked_level(), REGISTRY.generation


def known(group: Devices, kind: Hashable | None) -> Counting | None:
    """Return the counts of a kind of call that the group remembers."""
    kept = _KNOWN.get(group)
    return None if kind is None or kept is None else kept.get(kind)


def remember(group: Devices, kind: Hashable | None, counting: Counting) -> None:
    """Keep the counts of a kind of call, in place of the one that was kept first if there are many."""
    if kind is None:
        return
    kept = _KNOWN.setdefault(group, OrderedDict())
    kept[kind] = counting
    while len(kept) > _MOST:
        kept.popitem(last=False)
