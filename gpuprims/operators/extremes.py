"""min, max, argmin, argmax, minmax and ptp: extreme elements, or their indices; also without NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpuprims.operators.dtypes import INT64, Dtype, DtypeRule, Dtypes, locating
from gpuprims.operators.op import Op

Identity = Callable[[Dtypes], tuple[Any, ...]]


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


def nothing_or(identity: Identity) -> Identity:
    """Return the identity of nanmin or nanmax: NaN, the result if all elements are NaN; ``identity`` for integers."""
    return lambda dtypes: (np.nan, *identity(dtypes)[1:]) if dtypes[0].kind in "fc" else identity(dtypes)


def both_ends(dtypes: Dtypes) -> tuple[Any, ...]:
    """Return the identity of minmax and ptp: those of min and of max."""
    return highest(dtypes[:1]) + lowest(dtypes[:1])


def beats(better: str) -> Callable[[Any, Any], Any]:
    """Return the function that is true if its first argument is better: ``">"`` or ``"<"``, and true for every NaN."""
    return lambda a, b: ~((a <= b) if better == ">" else (a >= b))  # so NaN beats itself


def beats_nan(better: str) -> Callable[[Any, Any], Any]:
    """Return the function that is true if its first argument is better, where any number is better than NaN."""
    return lambda a, b: (a == a) & ~((a <= b) if better == ">" else (a >= b))


def extremes_op(name: str, **more: Any) -> Op:
    """Return an operator that folds the minimum and the maximum in one pass."""
    return Op(
        lambda p, q: (np.minimum(p[0], q[0]), np.maximum(p[1], q[1])),
        both_ends,
        name=name,
        commutative=True,
        components=2,
        prepare=lambda element, index: (element, element),
        of_nothing=False,
        **more,
    )


def locating_op(name: str, better: str, identity: Identity) -> Op:
    """Return the operator that finds the first index of the best element."""

    def finish(element: Any, index: Any, count: Any) -> Any:
        return index

    how: dict[str, Any] = {"name": name, "better": beats(better), "dtypes": locating}
    return _locating(_first_best(better), identity, finish=finish, **how)


def locating_number_op(name: str, better: str, identity: Identity, **more: Any) -> Op:
    """Return the operator that finds the first index of the best number; -1 where all elements are NaN."""

    def finish(element: Any, index: Any, count: Any) -> Any:
        return np.where(element == element, index, -1)

    how: dict[str, Any] = {"name": name, "better": beats_nan(better), "dtypes": locating, **more}
    return _locating(_first_number(better), nothing_or(identity), finish=finish, **how)


def extreme_op(name: str, better: str, identity: Identity, dtypes: DtypeRule, *, plain: Op | None = None) -> Op:
    """Return the operator of min or max; with ``plain``, which folds integers, that of nanmin or nanmax.

    Complex numbers have NaN of many kinds. As in NumPy the first one remains, so they are folded with their indices.
    """
    largest = "max" if better == ">" else "min"
    one, fold, beyond, wins = f"{largest}imum(a, b)", _first_best(better), identity, beats(better)
    if plain is not None:
        one, fold = f"f{largest}(a, b)", _first_number(better)
        beyond, wins = nothing_or(identity), beats_nan(better)

    def rule(elements: Dtypes, dtype: Dtype | None) -> tuple[Dtypes, Dtypes]:
        values, outputs = dtypes(elements, dtype)
        return (*values, INT64), outputs

    def finish(element: Any, index: Any, count: Any) -> Any:
        return element

    first = _locating(fold, beyond, name=name, better=wins, dtypes=rule, finish=finish)

    def instead(elements: Dtypes, values: Dtypes) -> Op | None:
        return first if values[0].kind == "c" else plain if elements[0].kind in "biu" else None

    how: dict[str, Any] = {"of_nothing": False, "better": wins, "instead": instead}
    return Op(one, beyond, name=name, commutative=True, dtypes=dtypes, **how)


def _first_best(better: str) -> Callable[[Any, Any], Any]:
    """Return the fold of elements and indices by which the better element wins, then the smaller index.

    NaN beats every number, as in NumPy.
    """

    def fold(p: tuple[Any, Any], q: tuple[Any, Any]) -> tuple[Any, Any]:
        (a, i), (b, j) = p, q
        closer = (b > a) if better == ">" else (b < a)
        second = np.where(a != a, (b != b) & (j < i), (b != b) | closer | ((b == a) & (j < i)))
        return np.where(second, b, a), np.where(second, j, i)

    return fold


def _first_number(better: str) -> Callable[[Any, Any], Any]:
    """Return the fold of elements and indices by which the better number wins, then the smaller index."""

    def fold(p: tuple[Any, Any], q: tuple[Any, Any]) -> tuple[Any, Any]:
        (a, i), (b, j) = p, q
        closer = (b > a) if better == ">" else (b < a)
        second = np.where(a == a, closer | ((b == a) & (j < i)), (b == b) | (j < i))
        return np.where(second, b, a), np.where(second, j, i)

    return fold


def _locating(fold: Callable[[Any, Any], Any], identity: Identity, **more: Any) -> Op:
    return Op(
        fold,
        identity,
        commutative=True,
        components=2,
        prepare=lambda element, index: (element, index),
        of_nothing=False,
        **more,
    )
