"""Sorted runs of all shards, of this process and of others: where equal shares are cut, and who gets which part.

Source: P. J. Varman, S. D. Scheufler, B. R. Iyer and G. R. Ricard, "Merging multiple lists on hierarchical-memory
multiprocessors", 1991, for cuts of sorted lists at an exact rank by samples.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from gpuprims.core.device import Device
from gpuprims.distributed import nccl
from gpuprims.distributed.devices import Devices
from gpuprims.distributed.processes import Processes
from gpuprims.distributed.sharded import beside, copied, empty_beside
from gpuprims.primitives.take import take

# Elements of each shard that the host sees to find cuts. Between two samples of 2^28 elements lie 2^14, so the host
# then reads some 2^16 around each cut.
_SAMPLES = 1 << 14
# For each share, where its part of each run begins and ends.
Parts = Sequence[tuple[Sequence[int], Sequence[int]]]


class Runs:
    """A sorted run of each shard of all processes, in their order; ``own`` are those of this process.

    ``lengths`` are those of all runs, and of the shares too, because results are cut where the array is.
    """

    def __init__(
        self, group: Devices, label: str, rows: Sequence[Sequence[int]], width: int, sort: Callable[[int], Any]
    ) -> None:
        self.group, self.label = group, label
        self.lengths = [count * width for process in rows for count in process]
        ends = [0, *accumulate(map(len, rows))]
        self.of_process = [range(*pair) for pair in pairwise(ends)]
        self.mine = self.of_process[group.rank]
        self.own: list[Any] = group.each(label, sort)

    def read(self, places: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Return elements of all runs on the host, given their places in each."""

        def find() -> list[np.ndarray]:
            return self.group.each(self.label, lambda k: self._read(k, places[self.mine[k]]))

        return [part for process in self.group.share(self.label, find) for part in process]

    def _read(self, k: int, places: np.ndarray) -> np.ndarray:
        run, device = self.own[k], self.group.devices[k]
        if isinstance(run, np.ndarray):
            found: np.ndarray = run[places]
            return found
        if not len(places):
            return np.empty(0, run.dtype)
        return device.to_host(take(run, beside(run, places.astype(np.int64), device)))

    def exchanged(self, parts: Parts) -> list[list[Any]]:
        """Return each device's parts of all runs, in their order, where its own run lies."""
        group, processes = self.group, self.group.processes
        others: dict[tuple[int, int], Any] = {} if processes is None else self._of_others(processes, parts)

        def bring(k: int) -> list[Any]:
            found = []
            for i, (begin, end) in enumerate(zip(*parts[self.mine[k]], strict=True)):
                if i in self.mine:
                    at = i - self.mine.start
                    found.append(_moved(self.own[at][begin:end], group.devices[at], self.own[k], group.devices[k]))
                else:
                    found.append(others[i, self.mine[k]])
            return found

        return group.each(self.label, bring)

    def _of_others(self, processes: Processes, parts: Parts) -> dict[tuple[int, int], Any]:
        """Return parts of the runs of other processes where this one's lie, by the numbers of run and share."""
        group = self.group
        shares = [[] if rank == processes.rank else list(its) for rank, its in enumerate(self.of_process)]
        foreign = [i for its in shares for i in its]

        def room(k: int) -> dict[int, Any]:
            begins, ends = parts[self.mine[k]]
            dtype, device = self.own[k].dtype, group.devices[k]
            return {i: empty_beside(self.own[k], (ends[i] - begins[i],), dtype, device) for i in foreign}

        rooms: list[dict[int, Any]] = []

        def tell() -> list[str] | None:
            gpus = None if any(isinstance(run, np.ndarray) for run in self.own) else nccl.gpus_of(group.devices)
            if gpus is not None:  # all find room before one sends, so that none waits for one that fails
                rooms.extend(group.each(self.label, room))
            return gpus

        if nccl.joins(group.share(self.label, tell)):
            sent = [{share: self._part(parts, k, share) for share in foreign} for k in range(len(self.own))]
            nccl.exchange(processes, group.devices, _filled(sent), _filled(rooms))
            return {(i, self.mine[k]): array for k, own in enumerate(rooms) for i, array in own.items()}

        def hosts() -> list[dict[tuple[int, int], np.ndarray]]:
            read = group.each(
                self.label, lambda k: {i: group.devices[k].to_host(self._part(parts, k, i)) for i in foreign}
            )
            return [{(self.mine[k], i): own[i] for k, own in enumerate(read) for i in its} for its in shares]

        found = {key: one for told in processes.swap(self.label, hosts) for key, one in told.items()}
        places = {share: k for k, share in enumerate(self.mine)}
        return {(i, j): beside(self.own[places[j]], one, group.devices[places[j]]) for (i, j), one in found.items()}

    def _part(self, parts: Parts, k: int, share: int) -> Any:
        """Return the part of a run of this process that a share gets."""
        begins, ends = parts[share]
        return self.own[k][begins[self.mine[k]] : ends[self.mine[k]]]


def _filled(arrays: Sequence[dict[int, Any]]) -> list[dict[int, Any]]:
    """Return the arrays that have elements."""
    return [{number: array for number, array in own.items() if array.size} for own in arrays]


def _moved(part: Any, home: Device, own: Any, device: Device) -> Any:
    """Return a part of a run where a device has its own one, on the host or on the device."""
    if isinstance(own, np.ndarray):
        return part if isinstance(part, np.ndarray) else home.to_host(part)
    found = part if isinstance(part, np.ndarray) else copied(part, home, device)
    return beside(own, found, device) if isinstance(found, np.ndarray) else found


def cuts_of(runs: Runs, descending: bool) -> Parts:
    """Return where each share's part of each run begins and ends, so that shares are as long as the runs.

    Of equal elements, those of earlier runs come first.
    """
    lengths = runs.lengths
    if len(lengths) == 1:
        return [([0], lengths)]
    step = max(-(-max(lengths) // _SAMPLES), 1)
    samples = runs.read([np.arange(0, length, step) for length in lengths])
    low, high = _bounds(_codes(samples, descending), lengths, step)
    at_least, at_most = high.sum(axis=1), low.sum(axis=1)  # the rank of each sample is between the second and the first
    ranks = list(accumulate(lengths))[:-1]
    windows = []
    for rank in ranks:
        begins = low[at_least <= rank].max(axis=0, initial=0)
        ends = np.minimum(high[at_most >= rank].min(axis=0, initial=max(lengths)), lengths)
        windows.append((begins, ends))
    whole = [np.concatenate([np.arange(begins[k], ends[k]) for begins, ends in windows]) for k in range(len(lengths))]
    found, cuts, at = runs.read(whole), [], np.zeros(len(lengths), int)
    for rank, (begins, ends) in zip(ranks, windows, strict=True):
        parts = [one[first : first + many] for one, first, many in zip(found, at, ends - begins, strict=True)]
        codes, at = np.concatenate(_codes(parts, descending)), at + (ends - begins)
        owners = np.repeat(np.arange(len(lengths)), ends - begins)
        first = owners[np.argsort(codes, kind="stable")[: rank - int(begins.sum())]]
        cuts.append((begins + np.bincount(first, minlength=len(lengths))).tolist())
    return list(pairwise([[0] * len(lengths), *cuts, lengths]))


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
