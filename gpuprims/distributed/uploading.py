"""Chunks of a stream on their way to a device: the next one is copied while one is computed."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.operands import is_plain, settle
from gpuprims.distributed.reading import Chunk
from gpuprims.errors import StreamError
from gpuprims.primitives.slabs import slab_bytes

# Chunks that are copied before they are asked for. The link then never waits for a kernel.
_AHEAD = 1


def uploaded(chunks: Iterator[Chunk], device: Device, most: int | None) -> Iterator[Chunk]:
    """Yield chunks with their first arrays, ``most`` of them or all, on the device.

    Chunks stay on the host if the driver has no copies that return before their end, or if the device has no room for a
    few of them: calls then copy them, slab by slab.
    """
    waiting: deque[Callable[[], Chunk]] = deque()
    failed: StreamError | None = None
    try:
        try:
            for chunk in chunks:
                waiting.append(_begun(chunk, device, most))
                if len(waiting) > _AHEAD:
                    yield waiting.popleft()()
        except StreamError as error:  # the chunks before can be computed
            failed = error
        while waiting:
            yield waiting.popleft()()
        if failed is not None:
            raise failed
    finally:
        settle(waiting)


def _begun(chunk: Chunk, device: Device, most: int | None) -> Callable[[], Chunk]:
    """Begin to copy a chunk; the function that is returned waits until its arrays have been read."""
    begin = getattr(device.driver, "begin_asarray", None)
    moved, kept = chunk.arrays[:most], chunk.arrays[len(chunk.arrays[:most]) :]
    fits = sum(one.nbytes for one in moved) <= slab_bytes(device)
    if begin is None or not fits or not all(is_plain(one) and one.size for one in moved):
        return lambda: chunk
    begun: list[Callable[[], Any]] = []
    try:
        begun.extend(begin(one) for one in moved)
    except BaseException:
        settle(begun)
        raise
    return lambda: chunk._replace(arrays=(*(finish() for finish in begun), *kept))


def where(device: Device, array: Any) -> Device | None:
    """Return ``device=`` for a call: arrays on a device need none."""
    return device if isinstance(array, np.ndarray) else None
