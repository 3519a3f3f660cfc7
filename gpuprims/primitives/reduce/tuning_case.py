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


def exact(x: np.ndarray, add: Callable[..., np.ndarray]) -> np.ndarray:
    """Apply a sum of NumPy, to floats in float64; the result has the dtype that NumPy gives."""
    if x.dtype.kind != "f":
        return np.asarray(add(x))
    return np.asarray(add(x, dtype=np.float64).astype(x.dtype))


def composed(x: np.ndarray, axis: int | None = None) -> np.ndarray:
    """Return b of each prefix of affine maps with a = b = x, for x of 1 and -1."""
    products = np.cumprod(x, axis, x.dtype)
    return np.asarray(products * np.cumsum(x.reshape(products.shape) * products, axis, x.dtype))


def folded(function: Callable[..., Any], *arrays: Any, **keywords: Any) -> Any:
    """Return the second component of a fold with ``AFFINE``."""
    return function(*arrays, op=AFFINE, **keywords)[1]


def _last(x: np.ndarray, axis: int | None = None) -> np.ndarray:
    prefixes = composed(x, axis)
    return np.asarray(prefixes.take(-1, axis or 0))


_SUM = TuningCase("reduce", small_integers, reduce, lambda x: (x,), lambda x: exact(x, np.sum), into=False)
_AFFINE = replace(_SUM, elements=signs, function=partial(folded, reduce), arguments=lambda x: (x, x), expected=_last)
_ROWS = replace(
    _SUM,
    elements=rows(small_integers),
    function=partial(reduce, axis=1),
    expected=lambda x: exact(x, partial(np.sum, axis=1)),
)
_COLUMNS = replace(
    _SUM,
    elements=columns(small_integers),
    function=partial(reduce, axis=0),
    expected=lambda x: exact(x, partial(np.sum, axis=0)),
)
CASE = replace(
    _SUM,
    further={
        "max": replace(_SUM, function=partial(reduce, op="max"), expected=lambda x: np.asarray(x.max())),
        "argmax": replace(_SUM, function=partial(reduce, op="argmax"), expected=lambda x: np.asarray(x.argmax())),
        "affine maps": _AFFINE,
        "sum of rows": _ROWS,
        "affine maps of rows": replace(
            _AFFINE, elements=rows(signs), function=partial(folded, reduce, axis=1), expected=partial(_last, axis=1)
        ),
        "sum of columns": _COLUMNS,
        "affine maps of columns": replace(
            _AFFINE, elements=columns(signs), function=partial(folded, reduce, axis=0), expected=partial(_last, axis=0)
        ),
    },
)
