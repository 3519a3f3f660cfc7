"""The times at which a GPU runs kernels, by CUDA's events."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import cupy
import numpy as np

from gpuprims.backends.cuda.kernel import CudaKernel, compiled
from gpuprims.core.clock import Span, TimedLaunch

# Nanoseconds that a GPU idles before a timed launch. An idle GPU would pass the first event while the host still
# prepares the launch, and that time would count.
_AHEAD = 30_000


class CudaClock:
    """The clock of one GPU; a launch is timed by an event on either side, on CuPy's current stream."""

    name = "CUDA events"

    def __init__(self, device: cupy.cuda.Device) -> None:
        self._device = device
        text = Path(__file__).with_name("idle.cu").read_text()
        with device:
            self._idle = compiled(text, device).get_function("idle")
            stream = cupy.cuda.get_current_stream()
            self._first = _event(stream)
            self._first.synchronize()
        self._began = time.perf_counter()

    @property
    def cache(self) -> int:
        """Bytes of the GPU's L2 cache."""
        return int(self._device.attributes["L2CacheSize"])

    def prepare(
        self, kernel: CudaKernel, groups: int, layout: np.ndarray, *numbers: int, local: int = 0
    ) -> TimedLaunch:
        """Fix a launch between two events."""
        launch = kernel.prepare(groups, layout, *numbers, local=local)

        def start(memories: Sequence[Any]) -> Callable[[], Span]:
            with self._device:
                stream = cupy.cuda.get_current_stream()
                self._idle((1, 1, 1), (1, 1, 1), (np.uint64(_AHEAD),))
                before = _event(stream)
                launch(memories)
                after = _event(stream)
            return lambda: self._span(before, after)

        return start

    def _span(self, before: cupy.cuda.Event, after: cupy.cuda.Event) -> Span:
        with self._device:
            after.synchronize()
            start = self._began + 1e-3 * cupy.cuda.get_elapsed_time(self._first, before)
            return Span(start, start + 1e-3 * cupy.cuda.get_elapsed_time(before, after))


def _event(stream: cupy.cuda.Stream) -> Any:
    """Return an event after a stream's work so far."""
    event = cupy.cuda.Event()
    event.record(stream)
    return event
