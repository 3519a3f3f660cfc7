"""Stencils of sharded arrays: rows beside a cut are computed again, with those of the neighbouring shards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from gpuprims.core.device import Device
from gpuprims.distributed.alike import alike
from gpuprims.distributed.devices import Devices
from gpuprims.distributed.folds import gathered
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


def applied(group: Devices, x: Any, reach: int, apply: Apply, *, wraps: bool, label: str) -> ShardedArray:
    """Apply a stencil whose results need ``reach`` rows before and after their own.

    A shard is computed where it lies, its borders as if nothing followed. Then the rows near a cut are computed again
    from a strip with the neighbours' rows, and replaced. So only the strip is copied, and the kernel for the shard
    runs while neighbours' rows are on their way.
    """
    (x,) = alike(label, group, (x,))
    group.alone(label)
    count = len(x)

    def start(k: int) -> Any:
        rows = x.offsets[k + 1] - x.offsets[k]
        alone = not reach or rows in (0, count)
        return apply(x.shards[k], group.devices[k]) if alone or rows >= 2 * reach else None

    def finish(k: int, result: Any) -> Any:
        device, first, end = group.devices[k], x.offsets[k], x.offsets[k + 1]
        if not reach or end - first in (0, count):
            return result
        if result is None:
            low, high = _within(first - reach, end + reach, count, wraps)
            done = apply(_strip(x, low, high, k), device)
            return done[first - low : end - low]
        for begin, cut in ((first, first > 0 or wraps), (end - reach, end < count or wraps)):
            if cut:
                low, high = _within(begin - reach, begin + 2 * reach, count, wraps)
                done = apply(_strip(x, low, high, k), device)
                target = result[begin - first : begin - first + reach]
                map_elements("v", done[begin - low : begin - low + reach], out=target, device=device)
        return result

    result = gathered(group, group.launch(label, start, finish))
    assert isinstance(result, ShardedArray)  # noqa: S101  # a stencil has one result
    return result


def _within(low: int, high: int, count: int, wraps: bool) -> tuple[int, int]:
    """Return the rows of a strip: where the array ends, its border continues it, unless it is wrapped around."""
    return (low, high) if wraps else (max(low, 0), min(high, count))


def _strip(x: ShardedArray, low: int, high: int, k: int) -> Any:
    """Return rows of an array, which may lie beyond its ends, where its k-th shard lies."""
    devices, own = x.group.devices, x.shards[k]
    pieces = []
    for owner, begin, end in _places(x.offsets, low, high):
        piece = copied(x.shards[owner][begin:end], devices[owner], devices[k])
        pieces.append(beside(own, piece, devices[k]) if isinstance(piece, np.ndarray) else piece)
    if len(pieces) == 1:
        return pieces[0]
    whole, at = empty_beside(own, (high - low, *x.shape[1:]), x.dtype, devices[k]), 0
    for piece in pieces:
        map_elements("v", piece, out=whole[at : at + piece.shape[0]], device=devices[k])
        at += int(piece.shape[0])
    return whole


def _places(offsets: tuple[int, ...], low: int, high: int) -> Iterator[tuple[int, int, int]]:
    """Yield the shard, and the rows of it, of each piece of consecutive rows; rows beyond the ends count around."""
    count, at = offsets[-1], low
    while at < high:
        row = at % count
        owner = next(k for k in range(len(offsets) - 1) if offsets[k] <= row < offsets[k + 1])
        length = min(offsets[owner + 1] - row, high - at)
        yield owner, row - offsets[owner], row - offsets[owner] + length
        at += length
