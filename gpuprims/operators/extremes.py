"""min, max, argmin and argmax: the extreme element, or its index."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpuprims.operators.dtypes import Dtypes, locating
from gpuprims.operators.op import Op


def lowest(dtypes: Dtypes) -> tuple[Any, ...]:
    """Return the identity of max, and for argmax the largest index."""
    return _extreme(dtypes, lowest=True)


def highest(dtypes: Dtypes) -> tuple[Any, ...]:
    """Return the identity of min, and for argmin the largest index."""
    return _extreme(dtypes, lowest=False)


def all_bits(dtypes: Dtypes) -> tuple[Any, ...]:
    """Return the identity of bitwise_and."""
    dtype = dtypes[0]
    return (dtype.kind == "b" or (np.iinfo(dtype).max if dtype.kind == "u" else -1),)


def _extreme(dtypes: Dtypes, *, lowest: bool) -> tuple[Any, ...]:
    match dtypes[0].kind:
        case "b":
            first: Any = not lowest
        case "f" | "c" as kind:  # NumPy compares complex numbers by their real parts, then by their imaginary parts
            most = np.inf if kind == "f" else complex(np.inf, np.inf)
            first = -most if lowest else most
        case _:
            first = np.iinfo(dtypes[0]).min if lowest else np.iinfo(dtypes[0]).max
    return (first, np.iinfo(np.int64).max)[: len(dtypes)]


def beats(better: str) -> Callable[[Any, Any], Any]:
    """Return the function that is true if its first argument is better: ``">"`` or ``"<"``, and true for every NaN."""
    return lambda a, b: ~((a <= b) if better == ">" else (a >= b))  # so NaN beats itself


def locating_op(name: str, better: str, identity: Callable[[Dtypes], tuple[Any, ...]]) -> Op:
    """Return the operator that finds the first index of the best element."""

    def fold(p: tuple[Any, Any], q: tuple[Any, Any]) -> tuple[Any, Any]:
        # The better element wins, then the smaller index. NaN beats every number, as in NumPy.
        (a, i), (b, j) = p, q
        closer = (b > a) if better == ">" else (b < a)
        second = np.where(a != a, (b != b) & (j < i), (b != b) | closer | ((b == a) & (j < i)))
        return np.where(second, b, a), np.where(second, j, i)

    return Op(
        fold,
        identity,
        name=name,
        commutative=True,
        better=beats(better),
        components=2,
        prepare=lambda element, index: (element, index),
        finish=lambda element, index, count: index,
        dtypes=locating,
        of_nothing=False,
    )
