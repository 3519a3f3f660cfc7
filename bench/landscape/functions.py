"""The functions of maps and the operators of folds that calls are drawn from."""

from __future__ import annotations

import re
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
    words = re.findall(r"\b[a-z]\w*", expression)
    return [name for name in "xyz" if name in words]


def affine(p: Any, q: Any) -> tuple[Any, Any]:
    """Compose two affine maps x -> a*x + b."""
    return p[0] * q[0], p[1] * q[0] + q[1]


def heaviest(p: Any, q: Any) -> tuple[Any, Any]:
    """Return the value and the payload of the larger value, of the earlier one if they are equal."""
    later = q[0] > p[0]
    return np.where(later, q[0], p[0]), np.where(later, q[1], p[1])


def _least(dtypes: Any) -> tuple[Any, Any]:
    return np.array(-np.inf, dtypes[0])[()], np.array(-1, dtypes[1])[()]


OPERATORS: Mapping[str, gpuprims.Op] = {
    "affine": gpuprims.Op(affine, identity=(1, 0), name="affine"),
    "heaviest": gpuprims.Op(heaviest, _least, components=2, name="heaviest"),
    "xor": gpuprims.Op(lambda a, b: a ^ b, 0, commutative=True, name="xor"),
    "hypot": gpuprims.Op(lambda a, b: np.hypot(a, b), 0, commutative=True, name="hypot"),
}
