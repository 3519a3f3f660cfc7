"""The call of reduce that ``gpuprims tune`` measures, and the calls that are only checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from gpuprims.core.tuning_case import TuningCase, columns, rows, signs, small_integers
from gpuprims.operators import Op
from gpuprims.primitives.reduce import reduce

# x -> a*x + b under composition: associative, and not commutative.
AFFINE = Op(lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1]), identity=(1, 0), name="affine")


def exact(x: np.ndarray, add: Callable[..., np.ndarray], axis: int | None = None) -> np.ndarray:
    """Apply a sum of NumPy, to floats in float64; the result has the dtype that NumPy gives."""
    if x.dtype.kind != "f":
        return np.asarray(add(x, axis))
    return np.asarray(add(x, axis, np.float64).astype(x.dtype))


def composed(x: np.ndarray, axis: int | None = None) -> np.ndarray:
    """Return b of each prefix of affine maps with a = b = x, for x of 1 and -1."""
    products = np.cumprod(x, axis, x.dtype)
    return np.asarray(products * np.cumsum(x.reshape(products.shape) * products, axis, x.dtype))


def folded(function: Callable[..., Any], *arrays: Any, **keywords: Any) -> Any:
    """Return the second component of a fold with ``AFFINE``."""
    return function(*arrays, op=AFFINE, **keywords)[1]


def _sum(x: np.ndarray, axis: int | None = None) -> np.ndarray:
    return exact(x, np.sum, axis)


def _last(x: np.ndarray, axis: int | None = None) -> np.ndarray:
    return np.asarray(composed(x, axis).take(-1, axis or 0))


_SUM = TuningCase("reduce", small_integers, reduce, lambda x: (x,), _sum, into=False)
_AFFINE = replace(_SUM, elements=signs, function=partial(folded, reduce), arguments=lambda x: (x, x), expected=_last)
CASE = replace(
    _SUM,
    further={
        "max": replace(_SUM, function=partial(reduce, op="max"), expected=lambda x: np.asarray(x.max())),
        "argmax": replace(_SUM, function=partial(reduce, op="argmax"), expected=lambda x: np.asarray(x.argmax())),
        "affine maps": _AFFINE,
    }
    | {
        f"{name} of {lines}": replace(
            case,
            elements=grid(case.elements),
            function=partial(case.function, axis=axis),
            expected=partial(expected, axis=axis),
        )
        for axis, (lines, grid) in enumerate((("columns", columns), ("rows", rows)))
        for name, case, expected in (("sum", _SUM, _sum), ("affine maps", _AFFINE, _last))
    },
)
