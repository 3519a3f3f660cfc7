"""The parts of the calls of ``bench.record``: a device, arrays that are the same in each run, functions."""

from __future__ import annotations

import importlib
import pkgutil
import zlib
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

import gpuprims

REALS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64")
DTYPES = (*REALS, "complex64", "complex128", "bool")
# Variants whose float results may differ from run to run.
UNSTEADY = frozenset({"atomic", "lock_free", "lookback"})
# Modules that may define functions which gpuprims itself does not export.
_HOMES = ("logistic", "descent", "sgd", "hogwild", "csr")

AFFINE = gpuprims.Op(lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1]), identity=(1, 0), name="affine")
XOR = gpuprims.Op(lambda a, b: a ^ b, 0, commutative=True, name="xor")


class Call(NamedTuple):
    """A call to record; ``exact`` means that its result is the same bytes in each run."""

    name: str
    run: Callable[[], Any]
    exact: bool = True


class Kit:
    """The parts of all calls: the device, a size, and arrays that are the same in each run.

    Parameters
    ----------
    device : gpuprims.Device
    quick : bool
        Make inputs small, and leave out sizes above 1,003.
    """

    def __init__(self, device: gpuprims.Device, *, quick: bool = False) -> None:
        self.device = device
        self.quick = quick
        self.n = 1_003 if quick else 100_003
        self.side = 33 if quick else 317
        self.sizes = (0, 1, 7, 1_000) if quick else (0, 1, 7, 1_000, 100_003, 2**20 + 3)

    def call(self, name: str, function: Callable[..., Any], *arrays: Any, exact: bool = True, **keywords: Any) -> Call:
        """Return a call of a function with ``device=``."""
        return Call(name, partial(function, *arrays, device=self.device, **keywords), exact)

    def both(self, name: str, function: Callable[..., Any], x: np.ndarray, **keywords: Any) -> Iterator[Call]:
        """Yield a call on an array of the host, and one on a copy on the device."""
        yield self.call(f"{name}, host", function, x, **keywords)
        yield self.call(f"{name}, device", function, self.device.asarray(x), **keywords)

    def variants(self, primitive: str) -> list[str]:
        """Return the names of all variants of a primitive."""
        return [variant.name for variant, _ in gpuprims.explain(primitive, self.device).refusals]


@cache
def array(dtype: str, *shape: int) -> np.ndarray:
    """Return an array that depends only on its dtype and shape; floats are normal, integers have two digits."""
    rng = np.random.default_rng(zlib.crc32(f"{dtype}{shape}".encode()))
    kind = np.dtype(dtype).kind
    x: np.ndarray
    if kind == "b":
        x = rng.random(shape) > 0.5
    elif kind in "iu":
        x = rng.integers(-99 if kind == "i" else 0, 100, shape, dtype)
    elif kind == "c":
        x = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    else:
        x = rng.standard_normal(shape, np.float32)
    x = x.astype(dtype)
    x.flags.writeable = False
    return x


def found(name: str) -> Callable[..., Any]:
    """Return a function of ``gpuprims.primitives``, whichever module defines it."""
    folder = importlib.import_module("gpuprims.primitives")
    inner = (module.name for module in pkgutil.walk_packages(folder.__path__, "gpuprims.primitives."))
    for home in ("gpuprims", "gpuprims.primitives", *(f"gpuprims.primitives.{home}" for home in _HOMES), *inner):
        try:
            function: Callable[..., Any] | None = getattr(importlib.import_module(home), name, None)
        except ModuleNotFoundError:
            continue
        if callable(function):
            return function
    raise LookupError(f"record: a function named {name} in gpuprims.primitives; got none")


def samples(dtype: str, rows: int, columns: int, classes: int = 2) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return samples, labels and weights."""
    X, weights = array(dtype, rows, columns), array(dtype, columns) / 3
    return X, (np.abs(X @ np.ones(columns) * 2).astype(int) % classes).astype(dtype), weights


def sparse_samples(dtype: str, rows: int) -> Any:
    """Return a CSR matrix of 60 columns, about a third of whose elements are stored."""
    X = array(dtype, rows, 60)
    return sparse.csr_matrix(np.where(np.abs(X) > 1, X, 0))
