"""histogram, bincount and compact of sharded arrays; counts of shards are added on the host, in order."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from gpuprims.core.determinism import refuse_levels
from gpuprims.core.keywords import check_flags
from gpuprims.distributed.alike import alike
from gpuprims.distributed.counting import Counting, kind_of, known, remember
from gpuprims.distributed.devices import Devices
from gpuprims.distributed.folds import named, on_host, reduced, sharded
from gpuprims.errors import ArgumentError, quoted
from gpuprims.primitives.compact import compact as compact_one
from gpuprims.primitives.histogram import bincount as bincount_one
from gpuprims.primitives.histogram import histogram as histogram_one


def counted(
    group: Devices, x: Any, bins: Any, limits: Any, density: Any, weights: Any, deterministic: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Count the elements in each bin; see :meth:`DeviceGroup.histogram`."""
    label = "DeviceGroup.histogram"
    check_flags(label, density=bool(density) if density is None else density, deterministic=deterministic)
    arrays = alike(label, group, (x,) if weights is None else (x, weights))
    refuse_weights(label, arrays[1:])
    if isinstance(bins, str):
        raise ArgumentError(f"{label}: bins= a number or edges; got {quoted(bins)} (a rule needs all elements at once)")
    kind = kind_of(arrays, bins, limits, deterministic)
    before = known(group, kind)
    if limits is None and np.ndim(bins) == 0 and any(group.share(label, lambda: bool(x.nbytes))):
        low, high = reduced(group, (x,), "minmax", None, None, False, None, 0, False, None, None)
        limits = low, high  # in the dtype of x, which decides that of the edges, as in NumPy
    if limits is None and np.ndim(bins) == 0:
        limits = (0, 1)  # as NumPy's for no elements

    def count(k: int) -> Any:
        shards = [one.shards[k] for one in arrays]
        device = named(group.devices[k], shards)
        if before is not None:
            return before.count(k, shards, device)
        own = {"weights": shards[1]} if len(shards) > 1 else {}
        found = histogram_one(shards[0], bins, limits, deterministic=deterministic, device=device, **own)
        return found[0] if k else found  # edges are those of the first shard

    def find() -> tuple[np.ndarray, np.ndarray]:
        results = on_host(group, label, count)
        edges = results[0][1] if before is None else before.edges
        return _added([counts for counts, *_ in results]), edges

    everybody = group.share(label, find)
    counts, edges = _added([one for one, _ in everybody]), everybody[0][1]
    if before is None:
        how = {"bins": bins, "range": limits, "deterministic": deterministic}
        remember(group, kind, Counting(edges, len(group), how))
    if density:
        counts = counts / np.diff(edges) / counts.sum()
    return counts, edges


def numbers_counted(group: Devices, x: Any, weights: Any, minlength: Any, deterministic: bool) -> np.ndarray:
    """Count how often each number occurs; see :meth:`DeviceGroup.bincount`."""
    label = "DeviceGroup.bincount"
    check_flags(label, deterministic=deterministic)
    arrays = alike(label, group, (x,) if weights is None else (x, weights))
    refuse_weights(label, arrays[1:])

    def count(k: int) -> np.ndarray:
        device, (numbers, *own) = group.devices[k], [one.shards[k] for one in arrays]
        found: np.ndarray = device.to_host(
            bincount_one(numbers, own[0] if own else None, minlength, deterministic=deterministic, device=device)
        )
        return found

    def find() -> tuple[np.ndarray, bool]:
        found = group.each(label, count)
        full = [one for one, begin, end in zip(found, x.offsets, x.offsets[1:], strict=False) if end > begin]
        return _added(full or found), bool(full)

    everybody = group.share(label, find)
    return _added([one for one, full in everybody if full] or [one for one, _ in everybody])


def refuse_weights(label: str, weights: Sequence[Any]) -> None:
    """Raise at the level "order" for weights whose sums of parts are rounded."""
    if any(one.dtype.kind in "fc" for one in weights):
        refuse_levels(label, "sums of weights in parts", "device")


def _added(counts: list[np.ndarray]) -> np.ndarray:
    """Return the sum of counts; some may have fewer bins."""
    total: np.ndarray = np.zeros(max(map(len, counts)), counts[0].dtype)
    for one in counts:
        total[: len(one)] += one
    return total


def compacted(group: Devices, x: Any, mask: Any) -> Any:
    """Return the elements that a mask keeps; see :meth:`DeviceGroup.compact`."""
    label = "DeviceGroup.compact"
    if isinstance(mask, str) or callable(mask):
        return sharded(group, label, partial(_compact_by, mask), alike(label, group, (x,)), waits=True)
    return sharded(group, label, compact_one, alike(label, group, (x, mask)), waits=True)


def _compact_by(mask: Any, x: Any, device: Any) -> Any:
    return compact_one(x, mask, device=device)
