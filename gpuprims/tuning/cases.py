"""What a device is tuned on: a call of each primitive, with what NumPy makes of it.

Elements are whole numbers, floats too, and so small that every sum of them is exact in whatever order it is taken: what
a kernel computes is either right or wrong, and nothing has to be allowed for rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.device import Device
from gpuprims.core.registry import REGISTRY
from gpuprims.core.traits import CallTraits
from gpuprims.errors import NoVariantError
from gpuprims.primitives.histogram import histogram
from gpuprims.primitives.map import map as map_arrays
from gpuprims.primitives.reduce import reduce
from gpuprims.primitives.scan import scan
from gpuprims.primitives.stencil import stencil

_BINS = 256
_WEIGHTS = np.array([[1, 2, 1], [2, 3, 2], [1, 1, 2]])  # no product of a row and a column, so computed in one step


@dataclass(frozen=True)
class Trial:
    """A call of a primitive.

    Parameters
    ----------
    primitive : str
    elements : callable
        From a generator, a dtype and a number of elements to an array.
    run : callable
        The call, on an array and keywords.
    expected : callable
        What it gives, by NumPy.
    into : bool
        Whether the result is as large as the array, and written to an ``out=``, so that no memory is new.
    """

    primitive: str
    elements: Callable[[np.random.Generator, np.dtype[Any], int], np.ndarray]
    run: Callable[..., Any]
    expected: Callable[[np.ndarray], np.ndarray]
    into: bool

    def call(self, device: Device, array: Any) -> CallTraits:
        """Return what variants are told of the call, by asking one that refuses everything."""
        told: list[CallTraits] = []

        def refuse(capabilities: Capabilities, call: CallTraits) -> str:
            told.append(call)
            return "only listens"

        listener = replace(REGISTRY.variants(self.primitive, device.backend)[0], refuse=refuse)
        try:
            self.run(array, device=device, variant=listener)
        except NoVariantError:
            return told[0]
        raise TypeError(f"{self.primitive}: a call that asks its variant; got a result")


def _numbers(rng: np.random.Generator, dtype: np.dtype[Any], size: int) -> np.ndarray:
    low = 0 if dtype.kind == "u" else -8
    return rng.integers(low, 8, size, np.int8, endpoint=True).astype(dtype)


def _grid(rng: np.random.Generator, dtype: np.dtype[Any], size: int) -> np.ndarray:
    """Return rows of an odd number, each of whole vectors where there are many."""
    rows = math.isqrt(size) | 1
    columns = max(size // rows, 1)
    columns -= columns % 64 if columns > 256 else 0
    return _numbers(rng, dtype, rows * columns).reshape(rows, columns)


def _in_bins(rng: np.random.Generator, dtype: np.dtype[Any], size: int) -> np.ndarray:
    if dtype.kind == "f":
        return rng.random(size, np.float32).astype(dtype)
    return rng.integers(0, 127, size, np.uint8, endpoint=True).astype(dtype)


def _range(x: Any) -> tuple[int, int]:
    return (0, 1) if x.dtype.kind == "f" else (0, _BINS)


def _weights(x: Any) -> np.ndarray:
    return _WEIGHTS / np.float32(16) if x.dtype.kind == "f" else _WEIGHTS


def _correlated(x: np.ndarray) -> np.ndarray:
    rows, columns = x.shape
    padded = np.pad(x, 1, mode="edge").astype(np.float64)
    total = np.zeros(x.shape)
    for (dy, dx), weight in np.ndenumerate(_weights(x)):
        total += weight * padded[dy : dy + rows, dx : dx + columns]
    return total.astype(x.dtype)


def _summed(x: np.ndarray, add: Any) -> np.ndarray:
    exact = add(x, dtype=np.float64 if x.dtype.kind == "f" else None)
    return np.asarray(exact.astype(x.dtype) if x.dtype.kind == "f" else exact)


TRIALS = {
    trial.primitive: trial
    for trial in (
        Trial(
            "map",
            _numbers,
            lambda x, **how: map_arrays("2*x + 1", x, **how),
            lambda x: 2 * x + x.dtype.type(1),
            into=True,
        ),
        Trial("reduce", _numbers, lambda x, **how: reduce(x, **how), lambda x: _summed(x, np.sum), into=False),
        Trial("scan", _numbers, lambda x, **how: scan(x, **how), lambda x: _summed(x, np.cumsum), into=True),
        Trial(
            "histogram",
            _in_bins,
            lambda x, **how: histogram(x, _BINS, _range(x), **how)[0],
            lambda x: np.histogram(x, _BINS, _range(x))[0],
            into=False,
        ),
        Trial("stencil", _grid, lambda x, **how: stencil(x, _weights(x), **how), _correlated, into=True),
    )
}
