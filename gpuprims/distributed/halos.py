"""Stencils of sharded arrays: rows beside a cut are computed again, with those of the neighbouring shards."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.device import Device
from gpuprims.distributed.alike import alike, rows_of_all
from gpuprims.distributed.devices import Devices
from gpuprims.distributed.folds import gathered
from gpuprims.distributed.processes import Processes
from gpuprims.distributed.sharded import ShardedArray, beside, copied, empty_beside
from gpuprims.primitives.map import map as map_elements
from gpuprims.primitives.stencil.blur import bind_blur
from gpuprims.primitives.stencil.calls import bind
from gpuprims.primitives.stencil.reach import reach_of

# Applies the stencil to an array on a device.
Apply = Callable[[Any, Device], Any]


def reaches(label: str, ndim: int, element: np.dtype[Any], /, *given: Any, **keywords: Any) -> tuple[int, ...]:
    """Return how far neighbours lie away along each axis of an array, for the arguments of ``stencil`` or ``blur``."""
    try:
        return _reaches_again(label, ndim, element, given, tuple(keywords.items()))
    except TypeError:  # weights that have no hash, or wrong arguments, which raise again
        return _reaches(label, ndim, element, given, tuple(keywords.items()))


def _reaches(
    label: str, ndim: int, element: np.dtype[Any], given: tuple[Any, ...], keywords: tuple[tuple[str, Any], ...]
) -> tuple[int, ...]:
    """Describe the call of an array of the same axes that has one element."""
    probe = np.zeros((1,) * ndim, element)
    describe = bind if label == "stencil" else bind_blur
    _, request, _, _ = describe((probe, *given), device="reference", **dict(keywords))
    found = [0] * ndim
    for k, axes in enumerate(request.grid.space):
        found[axes[0]] = reach_of(request, k)
    return tuple(found)


_reaches_again = lru_cache(maxsize=256)(_reaches)


class Rows(NamedTuple):
    """Rows of an array by their owners: arrays on devices, or on the host, where rows of other processes come from."""

    offsets: Sequence[int]  # where each owner's rows begin in the whole array, and where those of the last one end
    arrays: Sequence[Any]
    homes: Sequence[Device | None]
    around: int = 0  # rows beyond the ends count around so many; 0 if the owners have all that are needed

    def places(self, low: int, high: int) -> Iterator[tuple[int, int, int]]:
        """Yield the owner, and the rows of it, of each piece of consecutive rows."""
        at = low
        while at < high:
            row = at % self.around if self.around else at
            owner = next(k for k, (begin, end) in enumerate(pairwise(self.offsets)) if begin <= row < end)
            length = min(self.offsets[owner + 1] - row, high - at)
            yield owner, row - self.offsets[owner], row - self.offsets[owner] + length
            at += length


def applied(group: Devices, x: Any, reach: int, apply: Apply, *, wraps: bool, label: str) -> ShardedArray:
    """Apply a stencil whose results need ``reach`` rows before and after their own.

    A shard is computed where it lies, its borders as if nothing followed. Then the rows near a cut are computed again
    from a strip with the neighbours' rows, and replaced. So only the strip is copied, and the kernel for the shard
    runs while neighbours' rows are on their way. All strips are brought before one is computed, because a device's copy
    would wait for what its neighbour computes. Rows of other processes come before all that.
    """
    (x,) = alike(label, group, (x,))
    offsets, rows = x.offsets, Rows(x.offsets, x.shards, group.devices, len(x))
    count = len(x)
    if group.processes is not None and reach:
        rows, offsets, count = _with_neighbours(group, group.processes, label, x, reach, wraps=wraps)

    def start(k: int) -> Any:
        own = offsets[k + 1] - offsets[k]
        alone = not reach or own in (0, count)
        return apply(x.shards[k], group.devices[k]) if alone or own >= 2 * reach else None

    def fetch(k: int, result: Any) -> tuple[Any, list[tuple[int, int, Any]]]:
        """Bring the strips, each with the row where its results begin, and its own first row."""
        first, end, strips = offsets[k], offsets[k + 1], list[tuple[int, int, Any]]()
        if not reach or end - first in (0, count):
            return result, strips
        if result is None:
            low, high = _within(first - reach, end + reach, count, wraps)
            return result, [(first, low, _strip(x, rows, low, high, k))]
        for begin, cut in ((first, first > 0 or wraps), (end - reach, end < count or wraps)):
            if cut:
                low, high = _within(begin - reach, begin + 2 * reach, count, wraps)
                strips.append((begin, low, _strip(x, rows, low, high, k)))
        return result, strips

    def finish(k: int, fetched: tuple[Any, list[tuple[int, int, Any]]]) -> Any:
        device, (result, strips) = group.devices[k], fetched
        for begin, low, strip in strips:
            done = apply(strip, device)
            if result is None:
                return done[begin - low : offsets[k + 1] - low]
            target = result[begin - offsets[k] : begin - offsets[k] + reach]
            map_elements("v", done[begin - low : begin - low + reach], out=target, device=device)
        return result

    result = gathered(group, group.launch(label, start, finish, fetch))
    assert isinstance(result, ShardedArray)  # noqa: S101  # a stencil has one result
    return result


def _with_neighbours(
    group: Devices, processes: Processes, label: str, x: ShardedArray, reach: int, *, wraps: bool
) -> tuple[Rows, list[int], int]:
    """Exchange rows beside the cuts between processes.

    Returns those of this process with its neighbours', where its shards begin among the rows of all, and their number.
    """
    bounds = [0, *accumulate(map(sum, rows_of_all(group, label, x)))]
    count, rank = bounds[-1], processes.rank
    offsets = [bounds[rank] + offset for offset in x.offsets]
    everybody = Rows(bounds, (), (), count)
    own = Rows(x.offsets, x.shards, group.devices)

    def needed(process: int) -> list[tuple[int, int]]:
        """Return the rows before and after those of a process."""
        begin, end = bounds[process], bounds[process + 1]
        if end - begin in (0, count):
            return []
        low, high = _within(begin - reach, end + reach, count, wraps)
        return [(low, begin), (end, high)]

    def pieces(process: int) -> list[list[np.ndarray]]:
        """Return this process' part of those, in their order."""
        return [
            [
                group.devices[k].to_host(x.shards[k][first:last])
                for owner, low, high in everybody.places(*rows)
                if owner == rank
                for k, first, last in own.places(low, high)
            ]
            for rows in needed(process)
        ]

    sent = processes.swap(label, lambda: [pieces(process) for process in range(processes.size)])
    found = [_in_order(everybody, rows, [one[side] for one in sent], x) for side, rows in enumerate(needed(rank))]
    if not found:
        return Rows(offsets, x.shards, group.devices, count), offsets, count
    before, after = found
    places = [offsets[0] - len(before), *offsets, offsets[-1] + len(after)]
    return Rows(places, [before, *x.shards, after], [None, *group.devices, None]), offsets, count


def _in_order(everybody: Rows, rows: tuple[int, int], sent: Sequence[list[np.ndarray]], x: ShardedArray) -> np.ndarray:
    """Join the pieces of consecutive rows that processes sent."""
    left, found = [iter(one) for one in sent], [np.empty((0, *x.shape[1:]), x.dtype)]
    for owner, low, high in everybody.places(*rows):
        while low < high:  # a piece for each of its shards
            piece = next(left[owner])
            found.append(piece)
            low += len(piece)
    return np.concatenate(found)


def _within(low: int, high: int, count: int, wraps: bool) -> tuple[int, int]:
    """Return the rows of a strip: where the array ends, its border continues it, unless it is wrapped around."""
    return (low, high) if wraps else (max(low, 0), min(high, count))


def _strip(x: ShardedArray, rows: Rows, low: int, high: int, k: int) -> Any:
    """Return rows of an array, which may lie beyond its ends, where its k-th shard lies."""
    device, own = x.group.devices[k], x.shards[k]
    pieces = []
    for owner, begin, end in rows.places(low, high):
        piece, home = rows.arrays[owner][begin:end], rows.homes[owner]
        piece = piece if home is None else copied(piece, home, device)
        pieces.append(beside(own, piece, device) if isinstance(piece, np.ndarray) else piece)
    if len(pieces) == 1:
        return pieces[0]
    whole, at = empty_beside(own, (high - low, *x.shape[1:]), x.dtype, device), 0
    for piece in pieces:
        map_elements("v", piece, out=whole[at : at + piece.shape[0]], device=device)
        at += int(piece.shape[0])
    return whole
