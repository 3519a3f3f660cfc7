"""The limit: how fast a device copies."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from gpuprims.core.device import Device
from gpuprims.errors import DeviceMemoryError
from gpuprims.primitives.map import map as map_arrays
from gpuprims.profiling.recorder import Recorder
from gpuprims.profiling.records import Launch

# Elements of an array that is larger than the caches.
_LENGTHS = {"gpu": 1 << 26}
_USUAL = 1 << 24
_TIMES = 8  # there and back


@lru_cache
def copy_rate(device: Device) -> float | None:
    """Return the bytes per second that the fastest of a few copies reads and writes; None if there is no room.

    It is measured once in a process, by the kernel that ``map("x", x)`` runs.
    """
    length = min(_LENGTHS.get(device.capabilities.kind, _USUAL), device.driver.room // 64)
    recorder = Recorder()
    with recorder.alone():
        try:
            one, other = (device.driver.zeros((length,), np.dtype(np.float32)) for _ in range(2))
        except DeviceMemoryError:
            return None
        for _ in range(_TIMES):
            map_arrays("x", one, out=other, device=device)
            map_arrays("x", other, out=one, device=device)
    launches = [one for one in recorder.seen(lambda _: None) if isinstance(one, Launch) and one.nbytes >= 8 * length]
    return max(one.rate for one in launches)
