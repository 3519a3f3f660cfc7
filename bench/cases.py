"""What is measured, the same for every backend: the work, the sizes, and who does it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import gpuprims
from gpuprims.errors import BackendUnavailableError, UnknownDeviceError


@dataclass(frozen=True)
class Work:
    """One call on an array of float32: its primitive, keywords and the bytes it must move for each element.

    A reduce along an axis sees the array as rows of ``columns`` elements, or as a square of about as many.
    """

    name: str
    primitive: str
    bytes_per_element: float
    numpy: Callable[[np.ndarray], Any]
    op: str = ""
    axis: int | None = None
    columns: int | None = None

    def shape(self, size: int) -> tuple[int, ...]:
        """Return the shape in which so many elements are seen."""
        if self.axis is None:
            return (size,)
        columns = self.columns or 1 << (size.bit_length() - 1) // 2
        return (size // columns, columns)

    def on_device(self, x: Any, **keywords: Any) -> Any:
        """Let gpuprims do it."""
        if self.primitive == "map":
            return gpuprims.map("2*x + 1", x, **keywords)
        return gpuprims.reduce(x, op=self.op, axis=self.axis, **keywords)


WORKS = (
    Work("map 2*x+1", "map", 8, lambda x: 2 * x + 1),
    Work("reduce sum", "reduce", 4, np.sum, "sum"),
    Work("reduce max", "reduce", 4, np.max, "max"),
    Work("reduce argmax", "reduce", 4, np.argmax, "argmax"),
    Work("reduce columns", "reduce", 4, lambda x: x.sum(axis=0), "sum", axis=0),
    Work("reduce rows of 16", "reduce", 4, lambda x: x.sum(axis=1), "sum", axis=1, columns=16),
    Work("reduce rows of 256", "reduce", 4, lambda x: x.sum(axis=1), "sum", axis=1, columns=256),
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
    shape = work.shape(2**24)
    size, outputs = (2**24, 1) if work.axis is None else (shape[work.axis], shape[1 - work.axis])
    asked = {"size": size, "outputs": outputs, "side_by_side": work.axis == 0, "op": work.op or "sum"}
    able = [v.name for v, reason in gpuprims.explain(work.primitive, device, **asked).refusals if reason is None]
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
        np.testing.assert_allclose(result, np.sum(x, axis=work.axis, dtype=np.float64), rtol=1e-5)
    else:
        assert result == work.numpy(x)
