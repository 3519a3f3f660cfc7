"""What is measured, the same for every backend: the work, the sizes, and who does it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import gpuprims
from gpuprims.errors import BackendUnavailableError, UnknownDeviceError
from gpuprims.registry import REGISTRY, Call

FLOAT32 = np.dtype(np.float32)


@dataclass(frozen=True)
class Work:
    """One call on an array of float32: its primitive, keywords and the bytes it must move for each element."""

    name: str
    primitive: str
    bytes_per_element: int
    numpy: Callable[[np.ndarray], Any]
    op: str = ""

    def on_device(self, x: Any, **keywords: Any) -> Any:
        """Let gpuprims do it."""
        if self.primitive == "map":
            return gpuprims.map("2*x + 1", x, **keywords)
        return gpuprims.reduce(x, op=self.op, **keywords)


WORKS = (
    Work("map 2*x+1", "map", 8, lambda x: 2 * x + 1),
    Work("reduce sum", "reduce", 4, np.sum, "sum"),
    Work("reduce max", "reduce", 4, np.max, "max"),
    Work("reduce argmax", "reduce", 4, np.argmax, "argmax"),
)
SIZES = {"cpu": (2**20, 2**24, 2**26), "gpu": (2**24, 2**28, 2**30)}


@dataclass(frozen=True)
class Contender:
    """Whoever does the work: a function of the array, which lies on the device unless ``on_host``."""

    name: str
    run: Callable[[Any], Any]
    on_host: bool = False


def find_device(spec: str) -> gpuprims.Device | str:
    """Return a device, or why there is none."""
    try:
        return gpuprims.Device(spec)
    except (BackendUnavailableError, UnknownDeviceError) as error:
        return str(error)


def sizes(device: gpuprims.Device) -> tuple[int, ...]:
    """Return the sizes for a kind of device, as far as argument, result and a copy fit in its memory."""
    able = device.capabilities
    return tuple(size for size in SIZES.get(able.kind, SIZES["gpu"]) if 12 * size < able.memory)


def variants(device: gpuprims.Device, work: Work) -> list[Contender]:
    """Return every variant of a work's primitive that can run it on a device."""
    call = Call((FLOAT32,), 2**20)
    able = [
        v.name for v in REGISTRY.variants(work.primitive, device.backend) if not v.refuse(device.capabilities, call)
    ]
    return [Contender(f"gpuprims {name}", lambda x, name=name: work.on_device(x, variant=name)) for name in able]


def from_numpy(device: gpuprims.Device, work: Work) -> Contender:
    """Return the call as a user of NumPy arrays makes it, transfers or sharing included."""
    return Contender("gpuprims, NumPy array", lambda x: work.on_device(x, device=device), on_host=True)


def random_array(size: int) -> np.ndarray:
    """Return float32 numbers from 0 to 1."""
    return np.random.default_rng(20261121).random(size, np.float32)


def check(work: Work, result: np.ndarray, x: np.ndarray) -> None:
    """Hold a result against NumPy, before any time is taken."""
    if work.primitive == "map":
        np.testing.assert_array_equal(result[::4099], work.numpy(x[::4099]))
        np.testing.assert_array_equal(result[-5000:], work.numpy(x[-5000:]))
    elif work.op == "sum":
        np.testing.assert_allclose(result, np.sum(x, dtype=np.float64), rtol=1e-6)
    else:
        assert result == work.numpy(x)
