"""Streams: the current one, and those whose work a CUDA graph captures."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import Any

import cupy

from gpuprims.core.capture import captured_now
from gpuprims.errors import CaptureError

PER_THREAD = cupy.cuda.runtime.streamPerThread
_LEGACY = 1  # or 0: the default stream, which no graph captures
_asks = cupy.cuda.runtime.streamIsCapturing


def stream_handle(index: int) -> int:
    """Return the handle of a device's current stream."""
    return int(cupy.cuda.get_current_stream(index).ptr)


@contextmanager
def in_stream(device: cupy.cuda.Device, stream: Any) -> Iterator[None]:
    """Make an object with ``__cuda_stream__`` CuPy's current stream of a device."""
    made = getattr(cupy.cuda.Stream, "from_external", None)  # CuPy 14
    with device, made(stream) if made else cupy.cuda.ExternalStream(stream.__cuda_stream__()[1], device.id):
        yield


def stream_of(index: int) -> tuple[int, int]:
    """Return a key of a device's current stream: CUDA's per-thread default streams share one handle."""
    stream = cupy.cuda.get_current_stream(index).ptr
    return (stream, threading.get_ident() if stream == PER_THREAD else 0)


def memory_key(index: int) -> Hashable:
    """Return a key of the memory that launches in the current stream share: a captured call has its own."""
    now = captured_now()
    return stream_of(index) if now is None else now


def is_capturing(index: int) -> bool:
    """Return True if a graph captures what goes to a device's current stream."""
    stream = cupy.cuda.get_current_stream(index).ptr
    return stream > _LEGACY and bool(_asks(stream))


def refuse_capture(index: int, got: str) -> None:
    """Raise if a graph captures the current stream: later it would write where the host no longer reads."""
    if is_capturing(index):
        raise CaptureError(
            "a call while a CUDA graph is captured: a plan that was called once in the same stream before"
            f" begin_capture(), with arrays of the GPU, whose result is as large in each run; got one that {got}"
        )
