"""The functions of maps and the operators of folds that calls are drawn from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np

import gpuprims

# Expressions by the kind of their elements. Those of integers stay integers, but for one.
MAPS: Mapping[str, tuple[str, ...]] = {
    "f": (
        "2*x + 1", "x + y", "x*y + z", "where(x > 0.5, x, y)", "sqrt(x)", "tanh(x)", "sin(x)", "exp(-x)",
        "x / (1 + y)", "minimum(x, y) - 2", "(x - y)**2", "x > y", "1 / (1 + exp(-x))", "log1p(x)", "hypot(x, y)",
        "clip(x, 0.25, 0.75)",
    ),
    "i": ("2*x + 1", "x + y", "x*y + z", "where(x > y, x, y)", "x & 7", "(x >> 1) ^ y", "minimum(x, y)", "x * 0.5"),
    "b": ("x & y", "x ^ y", "where(x, 1, 2)"),
    "c": ("x*y", "conj(x)*y", "abs(x)", "x + 2*y"),
}  # fmt: skip


@cache
def function_of(expression: str, module: Any) -> Callable[..., Any]:
    """Return an expression as a Python function of NumPy's, CuPy's or torch's arrays."""
    names = ", ".join(parameters(expression))
    function: Callable[..., Any] = eval(f"lambda {names}: {expression}", dict(vars(module)))  # noqa: S307 - our own text
    return function


def parameters(expression: str) -> list[str]:
    """Return the names of an expression's arrays."""
    words = expression.replace("(", " ").replace(")", " ").replace(",", " ").replace("*", " ").replace("-", " ").split()
    return [name for name in "xyz" if name in words]


def _heavier(p: Any, q: Any) -> Any:
    later = q[0] > p[0]
    return np.where(later, q[0], p[0]), np.where(later, q[1], p[1])


def _least(dtypes: Any) -> tuple[Any, Any]:
    return np.array(-np.inf, dtypes[0])[()], np.array(-1, dtypes[1])[()]


# "affine" composes maps x -> a*x + b; "heaviest" is the maximum with a payload. Neither commutes.
OPERATORS: Mapping[str, gpuprims.Op] = {
    "affine": gpuprims.Op(lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1]), identity=(1, 0), name="affine"),
    "heaviest": gpuprims.Op(_heavier, _least, components=2, name="heaviest"),
    "xor": gpuprims.Op(lambda a, b: a ^ b, 0, commutative=True, name="xor"),
    "hypot": gpuprims.Op(lambda a, b: np.hypot(a, b), 0, commutative=True, name="hypot"),
}


def affine(p: tuple[Any, Any], q: tuple[Any, Any]) -> tuple[Any, Any]:
    """Compose two affine maps."""
    return p[0] * q[0], p[1] * q[0] + q[1]


heaviest = _heavier
