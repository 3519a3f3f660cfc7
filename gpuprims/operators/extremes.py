"""min, max, argmin and argmax: the extreme element, or its place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpuprims.operators.dtypes import Dtypes, locating
from gpuprims.operators.op import Op


def lowest(dtypes: Dtypes) -> tuple[Any, ...]:
    """Return what every maximum is at least, and the last index of all."""
    return _extreme(dtypes, lowest=True)


def highest(dtypes: Dtypes) -> tuple[Any, ...]:
    """Return what every minimum is at most, and the last index of all."""
    return _extreme(dtypes, lowest=False)


def _extreme(dtypes: Dtypes, *, lowest: bool) -> tuple[Any, ...]:
    kind = dtypes[0].kind
    if kind == "f":
        first: Any = -np.inf if lowest else np.inf
    elif kind == "b":
        first = not lowest
    elif kind == "c":
        first = complex(-np.inf, -np.inf) if lowest else complex(np.inf, np.inf)  # NumPy orders by real, then imaginary
    else:
        info = np.iinfo(dtypes[0])
        first = info.min if lowest else info.max
    return (first, np.iinfo(np.int64).max)[: len(dtypes)]


def locating_op(name: str, better: str, identity: Callable[[Dtypes], tuple[Any, ...]]) -> Op:
    """Make the operator that finds the first place of the element that is better than all others."""

    def fold(p: tuple[Any, Any], q: tuple[Any, Any]) -> tuple[Any, Any]:
        # The better element wins, and among equals the smaller index; a NaN beats every number, as in NumPy.
        (a, i), (b, j) = p, q
        closer = (b > a) if better == ">" else (b < a)
        second = np.where(a != a, (b != b) & (j < i), (b != b) | closer | ((b == a) & (j < i)))
        return np.where(second, b, a), np.where(second, j, i)

    def beats(a: Any, b: Any) -> Any:
        return ~((a <= b) if better == ">" else (a >= b))  # with a NaN always true, so that it beats itself

    return Op(
        fold,
        identity,
        name=name,
        commutative=True,
        better=beats,
        components=2,
        prepare=lambda element, index: (element, index),
        finish=lambda element, index, count: index,
        dtypes=locating,
        of_nothing=False,
    )
