"""sort and top_k of sharded arrays.

A sort orders each shard, finds where all of them are cut for equal shares, moves the parts between devices, and merges
them. Source: P. J. Varman, S. D. Scheufler, B. R. Iyer and G. R. Ricard, "Merging multiple lists on hierarchical-memory
multiprocessors", 1991, for cuts of sorted lists at an exact rank by samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.keywords import check_flags
from gpuprims.distributed.alike import alike
from gpuprims.distributed.devices import Devices
from gpuprims.distributed.folds import on_host, sharded
from gpuprims.distributed.sharded import ShardedArray, beside, copied, empty_beside
from gpuprims.errors import ArgumentError, DtypeError, quoted
from gpuprims.primitives.axes import one_axis
from gpuprims.primitives.merge import merge
from gpuprims.primitives.sort import sort as sort_one
from gpuprims.primitives.take import take
from gpuprims.primitives.top_k import top_k as top_k_one

# Elements of each shard that the host sees to find cuts. Between two samples of 2^28 elements lie 2^14, so the host
# then reads some 2^16 around each cut.
_SAMPLES = 1 << 14


def sorted_shards(group: Devices, x: Any, axis: int | None, descending: bool) -> ShardedArray:
    """Return a sorted copy; see :meth:`DeviceGroup.sort`."""
    label = "DeviceGroup.sort"
    check_flags(label, descending=descending)
    (x,) = alike(label, group, (x,))
    if axis is not None and one_axis(axis, x.ndim) != 0:
        found: ShardedArray = sharded(group, label, partial(sort_one, axis=axis, descending=descending), [x])
        return found
    group.alone(label)
    if axis is not None and x.ndim > 1:
        raise ArgumentError(f"{label}: along the first axis, arrays of one axis; got shape {x.shape}")
    if x.dtype.kind == "c":
        raise DtypeError(f"{label}: real numbers or bools; got {x.dtype}")

    def local(k: int) -> Any:
        shard = x.shards[k] if x.ndim == 1 else x.shards[k].reshape(-1)
        return sort_one(shard, descending=descending, device=_named(group, k, shard))

    runs = group.each(label, local)
    width = int(np.prod(x.shape[1:], dtype=np.int64))
    cuts = _cuts(group, label, runs, [end * width for end in x.offsets[1:-1]], descending)
    steps = list(pairwise([[0] * len(runs), *cuts, [int(run.shape[0]) for run in runs]]))

    def share(k: int) -> Any:
        device, (begins, ends) = group.devices[k], steps[k]
        parts = [
            _moved(run[begin:end], group.devices[i], runs[k], device)
            for i, (run, begin, end) in enumerate(zip(runs, begins, ends, strict=True))
            if end > begin
        ]
        while len(parts) > 1:  # neighbours, so that equal elements stay in order
            pairs = [parts[i : i + 2] for i in range(0, len(parts), 2)]
            parts = [
                merge(*pair, descending=descending, device=_named(group, k, pair[0])) if len(pair) > 1 else pair[0]
                for pair in pairs
            ]
        return parts[0] if parts else empty_beside(runs[k], (0,), x.dtype, device)

    return ShardedArray(group, group.each(label, share))


def _moved(part: Any, home: Device, own: Any, device: Device) -> Any:
    """Return a part of a run where a device has its own one, on the host or on the device."""
    if isinstance(own, np.ndarray):
        return part if isinstance(part, np.ndarray) else home.to_host(part)
    found = part if isinstance(part, np.ndarray) else copied(part, home, device)
    return beside(own, found, device) if isinstance(found, np.ndarray) else found


def _named(group: Devices, k: int, array: Any) -> Any:
    """Return ``device=`` for a call: arrays on a device say where they lie."""
    return group.devices[k] if isinstance(array, np.ndarray) else None


def _cuts(
    group: Devices, label: str, runs: Sequence[Any], ranks: Sequence[int], descending: bool
) -> list[tuple[int, ...]]:
    """Return for each rank how many elements of each sorted run are among so many first ones of all.

    Of equal elements, those of earlier runs come first.
    """
    lengths = [int(run.shape[0]) for run in runs]
    step = max(-(-max(lengths) // _SAMPLES), 1)
    samples = group.each(label, lambda k: _read(group, k, runs[k], np.arange(0, lengths[k], step)))
    low, high = _bounds(_codes(samples, descending), lengths, step)
    at_least, at_most = high.sum(axis=1), low.sum(axis=1)  # the rank of each sample is between the second and the first
    cuts = []
    for rank in ranks:
        begins = low[at_least <= rank].max(axis=0, initial=0)
        ends = np.minimum(high[at_most >= rank].min(axis=0, initial=max(lengths)), lengths)
        windows = group.each(label, partial(_window, group, runs, begins, ends))
        codes = np.concatenate(_codes(windows, descending))
        owners = np.repeat(np.arange(len(runs)), ends - begins)
        first = owners[np.argsort(codes, kind="stable")[: rank - int(begins.sum())]]
        cuts.append(tuple((begins + np.bincount(first, minlength=len(runs))).tolist()))
    return cuts


def _window(group: Devices, runs: Sequence[Any], begins: np.ndarray, ends: np.ndarray, k: int) -> np.ndarray:
    return _read(group, k, runs[k], np.arange(begins[k], ends[k]))


def _read(group: Devices, k: int, run: Any, places: np.ndarray) -> np.ndarray:
    """Return some elements of a run, on the host."""
    device, found = group.devices[k], np.empty(0, run.dtype)
    if isinstance(run, np.ndarray):
        found = run[places]
    elif len(places):
        found = device.to_host(take(run, beside(run, places.astype(np.int64), device)))
    return found


def _codes(parts: Sequence[np.ndarray], descending: bool) -> list[np.ndarray]:
    """Return whole numbers in the order of elements; equal elements, and all NaN, have the same."""
    values, codes = np.unique(np.concatenate(parts), return_inverse=True)
    codes = len(values) - codes if descending else codes
    return np.split(codes, np.cumsum([len(part) for part in parts])[:-1])


def _bounds(samples: Sequence[np.ndarray], lengths: Sequence[int], step: int) -> tuple[np.ndarray, np.ndarray]:
    """Return, for each sample and run, the fewest and the most elements of the run that come before the sample."""
    low, high = ([np.empty((len(part), len(samples)), np.int64) for part in samples] for _ in range(2))
    for k, part in enumerate(samples):
        for i, other in enumerate(samples):
            if i == k:
                low[k][:, i] = high[k][:, i] = np.arange(len(part)) * step
                continue
            before = np.searchsorted(other, part, side="right" if i < k else "left")
            low[k][:, i] = np.where(before, (before - 1) * step + 1, 0)
            high[k][:, i] = np.minimum(before * step, lengths[i])
    return np.concatenate(low), np.concatenate(high)


def best_of_shards(group: Devices, x: Any, k: int, axis: int | None, largest: bool) -> tuple[Any, Any]:
    """Return the ``k`` best elements and their indices; see :meth:`DeviceGroup.top_k`."""
    label = "DeviceGroup.top_k"
    check_flags(label, largest=largest)
    (x,) = alike(label, group, (x,))
    if axis is not None and one_axis(axis, x.ndim) != 0:
        alone: tuple[Any, Any] = sharded(group, label, partial(top_k_one, k=k, axis=axis, largest=largest), [x])
        return alone
    group.alone(label)
    width = int(np.prod(x.shape[1:], dtype=np.int64)) if axis is None else 1
    count = len(x) * width
    if type(k) is not int or not 0 <= k <= count:
        raise ArgumentError(f"{label}: k= a number from 0 to {count}; got {quoted(k)}")

    def begin(number: int) -> Any:
        shard = x.shards[number]
        own = min(k, int(shard.shape[0]) * width)
        how: dict[str, Any] = {"axis": axis, "largest": largest, "device": _named(group, number, shard)}
        return top_k_one(shard, own, **how)

    found = on_host(group, label, begin)
    values = np.concatenate([one for one, _ in found])
    places = np.concatenate([one + start * width for (_, one), start in zip(found, x.offsets, strict=False)])
    codes = np.unique(values, return_inverse=True)[1].reshape(values.shape)
    order = np.argsort(-codes if largest else codes, axis=0, kind="stable")[:k]
    return np.take_along_axis(values, order, axis=0), np.take_along_axis(places, order, axis=0)
