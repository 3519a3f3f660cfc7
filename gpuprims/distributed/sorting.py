"""sort and top_k of sharded arrays.

A sort orders each shard, finds where all of them are cut for equal shares, moves the parts between devices, and merges
them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from gpuprims.core.keywords import check_flags
from gpuprims.distributed.alike import alike, rows_of_all
from gpuprims.distributed.devices import Devices
from gpuprims.distributed.folds import named, on_host, sharded
from gpuprims.distributed.runs import Runs, cuts_of
from gpuprims.distributed.sharded import ShardedArray, empty_beside
from gpuprims.errors import ArgumentError, DtypeError, quoted
from gpuprims.primitives.axes import one_axis
from gpuprims.primitives.merge import merge
from gpuprims.primitives.sort import sort as sort_one
from gpuprims.primitives.top_k import top_k as top_k_one


def sorted_shards(group: Devices, x: Any, axis: int | None, descending: bool) -> ShardedArray:
    """Return a sorted copy; see :meth:`DeviceGroup.sort`."""
    label = "DeviceGroup.sort"
    check_flags(label, descending=descending)
    (x,) = alike(label, group, (x,))
    if axis is not None and one_axis(axis, x.ndim) != 0:
        found: ShardedArray = sharded(group, label, partial(sort_one, axis=axis, descending=descending), [x])
        return found
    if axis is not None and x.ndim > 1:
        raise ArgumentError(f"{label}: along the first axis, arrays of one axis; got shape {x.shape}")
    if x.dtype.kind == "c":
        raise DtypeError(f"{label}: real numbers or bools; got {x.dtype}")
    rows = rows_of_all(group, label, x)

    def local(k: int) -> Any:
        shard = x.shards[k] if x.ndim == 1 else x.shards[k].reshape(-1)
        return sort_one(shard, descending=descending, device=named(group.devices[k], [shard]))

    runs = Runs(group, label, rows, math.prod(x.shape[1:]), local)
    parts = runs.exchanged(cuts_of(runs, descending))

    def share(k: int) -> Any:
        found = [part for part in parts[k] if part.shape[0]]
        while len(found) > 1:  # neighbours, so that equal elements stay in order
            pairs = [found[i : i + 2] for i in range(0, len(found), 2)]
            found = [
                merge(*pair, descending=descending, device=named(group.devices[k], [pair[0]]))
                if len(pair) > 1
                else pair[0]
                for pair in pairs
            ]
        return found[0] if found else empty_beside(runs.own[k], (0,), x.dtype, group.devices[k])

    return ShardedArray(group, group.each(label, share))


def best_of_shards(group: Devices, x: Any, k: int, axis: int | None, largest: bool) -> tuple[Any, Any]:
    """Return the ``k`` best elements and their indices; see :meth:`DeviceGroup.top_k`."""
    label = "DeviceGroup.top_k"
    check_flags(label, largest=largest)
    (x,) = alike(label, group, (x,))
    if axis is not None and one_axis(axis, x.ndim) != 0:
        alone: tuple[Any, Any] = sharded(group, label, partial(top_k_one, k=k, axis=axis, largest=largest), [x])
        return alone
    width = math.prod(x.shape[1:]) if axis is None else 1
    counts = [sum(rows) * width for rows in rows_of_all(group, label, x)]
    count, begins = sum(counts), sum(counts[: group.rank])
    if type(k) is not int or not 0 <= k <= count:
        raise ArgumentError(f"{label}: k= a number from 0 to {count}; got {quoted(k)}")

    def begin(number: int) -> Any:
        shard = x.shards[number]
        own = min(k, int(shard.shape[0]) * width)
        how: dict[str, Any] = {"axis": axis, "largest": largest, "device": named(group.devices[number], [shard])}
        return top_k_one(shard, own, **how)

    def find() -> tuple[Any, Any]:
        found = on_host(group, label, begin)
        places = [one + begins + start * width for (_, one), start in zip(found, x.offsets, strict=False)]
        return _best([one for one, _ in found], places, k, largest)

    everybody = group.share(label, find)
    if len(everybody) == 1:
        return everybody[0]
    return _best([values for values, _ in everybody], [places for _, places in everybody], k, largest)


def _best(values: Sequence[Any], places: Sequence[Any], k: int, largest: bool) -> tuple[Any, Any]:
    """Return the ``k`` best values of several parts, along the first axis, and their places."""
    whole, where = np.concatenate(values), np.concatenate(places)
    codes = np.unique(whole, return_inverse=True)[1].reshape(whole.shape)
    order = np.argsort(-codes if largest else codes, axis=0, kind="stable")[:k]
    return np.take_along_axis(whole, order, axis=0), np.take_along_axis(where, order, axis=0)
