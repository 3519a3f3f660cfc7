"""Random numbers and maps of a fingerprint: each function of elements, and what is made of several."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gpuprims.primitives.map import map as map_arrays
from gpuprims.testing.fingerprints.data import FLOATS, Data

# Functions in one kernel each, by the numbers that they take.
_OF_ALL = ("exp", "exp2", "expm1", "sinh", "cosh", "tanh", "arcsinh")
_CIRCULAR = ("sin", "cos", "tan", "arctan", "cbrt")
_OF_POSITIVE = ("log", "log2", "log10", "log1p", "sqrt")
_OF_UNIT = ("arcsin", "arccos", "arctanh")
_OF_TWO: dict[str, Callable[[Any, Any], Any]] = {
    "power": lambda x, y: np.abs(x) ** y,
    "arctan2": np.arctan2,
    "hypot": np.hypot,
    "maximum": np.maximum,
    "fmin": np.fmin,
    "copysign": np.copysign,
}
_FEW: dict[str, Callable[[Any], Any]] = {
    "exp": np.exp,
    "log": lambda x: np.log(np.abs(x)),
    "sin": np.sin,
    "contraction": lambda x: x * 1.1 + x * 0.3 - 0.7,
}
_MADE: dict[str, Callable[[Any], Any]] = {
    "x**3": lambda x: x**3,
    "x**4": lambda x: x**4,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "bell": lambda x: np.exp(-x * x / 2) / 3,
    "contraction": lambda x: x * 1.1 + x * 0.3 - 0.7,
}


def calls(data: Data) -> Iterator[tuple[str, Any]]:
    """Yield the names and results of calls."""
    if data.small:
        yield "random uniform float32", data.numbers(301, "float32", "uniform")
        yield from _named(data, "float32", _FEW, data.uneven(301))
        return
    n = 20_011
    for dtype in FLOATS:
        for kind in ("uniform", "normal"):
            yield f"random {kind} {dtype}", data.numbers(n, dtype, kind)
        yield from _functions(data, dtype, n)
    yield "random bits", data.numbers(n, "uint64", "bits")
    yield "random integers", data.numbers(n, "int16", "integers", low=-999, high=1000)


def _functions(data: Data, dtype: str, n: int) -> Iterator[tuple[str, Any]]:
    x, unit = data.uneven(n, dtype), data.numbers(n, dtype, "uniform")
    y = data.numbers(n, dtype, key=28)
    for names, given in ((_OF_ALL, x), (_CIRCULAR, x), (_OF_POSITIVE, np.abs(x)), (_OF_UNIT, unit)):
        yield from _named(data, dtype, {name: getattr(np, name) for name in names}, given)
    yield from _named(data, dtype, _MADE, x)
    yield from _named(data, dtype, _OF_TWO, x, y)


def _named(data: Data, dtype: str, functions: dict[str, Any], *given: Any) -> Iterator[tuple[str, Any]]:
    """Yield the results of several functions in one kernel."""
    results = map_arrays(lambda *x: tuple(one(*x) for one in functions.values()), *given, device=data.device)
    for name, result in zip(functions, results, strict=True):
        yield f"map {name} {dtype}", result
