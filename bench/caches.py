"""The size of a device's last cache: a call whose data fit in it is not bound by the memory."""

from __future__ import annotations

from pathlib import Path

import gpuprims

from .clocks import queue_of

_LINUX = Path("/sys/devices/system/cpu/cpu0/cache")
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def cache_bytes(device: gpuprims.Device) -> int | None:
    """Return the bytes of the largest cache of a device, or None where nothing tells."""
    if device.backend == "cuda":
        import cupy

        return int(cupy.cuda.Device(int(device.spec.partition(":")[2])).attributes["L2CacheSize"])
    if device.capabilities.kind == "gpu":
        return queue_of(device).device.global_mem_cache_size or None
    return max(map(_bytes, _LINUX.glob("index*/size")), default=None)


def _bytes(path: Path) -> int:
    """Read a size such as 32768K."""
    text = path.read_text().strip()
    return int(text[:-1]) * _UNITS[text[-1]] if text[-1] in _UNITS else int(text)
