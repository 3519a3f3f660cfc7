"""Sorts by a comparison of two elements: the ``less=`` of sorts."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.keywords import check_flags
from gpuprims.core.operands import Operands, as_operands
from gpuprims.errors import ArgumentError, DtypeError, LawError, quoted
from gpuprims.expressions import Expr, expression, typed
from gpuprims.primitives.grouping.flat import flat
from gpuprims.primitives.signatures import Function
from gpuprims.primitives.sort.keys import compared
from gpuprims.primitives.take import take

# The laws are tried on all pairs of this many elements, drawn at random from a larger array.
_TRIED, _SEED = 512, 20261124
_FOR_NAN = ' (to put NaN last: "(a < b) | (isnan(b) & ~isnan(a))")'


def check_less(
    label: str,
    less: Function | None,
    x: Any,
    device: str | Device | None,
    *,
    check: bool,
    stable: bool = True,
    **excluded: Any,
) -> None:
    """Raise for keywords that do not go with ``less=``; with ``check``, for elements that break a law of orders."""
    check_flags(label, check=check, stable=stable)
    if less is None:
        if check:
            raise ArgumentError(f"{label}: check= with less=, whose laws it tries; got check=True alone")
        return
    for name, value in excluded.items():
        if value is not None:
            raise ArgumentError(f"{label}: no {name}= with less=; got {quoted(value)}")
    if check:
        operands = as_operands(label, (x,), device)
        _try_laws(label, comparison(label, less, operands.natives[0].dtype), operands)


def comparison(label: str, less: Function, dtype: np.dtype[Any]) -> Expr:
    """Return ``less=`` as an expression; raise unless it gives a bool from two elements of a dtype."""
    found = expression(less, 2)
    rule = f"{label}: less= a function of two elements that returns a bool"
    if len(found.parameters) != 2 or len(found.results) != 1:
        got = f"({', '.join(found.parameters)}) and {len(found.results)} result(s)"
        raise ArgumentError(f"{rule}; got {got} (write 'a < b' or lambda a, b: a < b)")
    if isinstance(less, str) and found.parameters != tuple(sorted(found.parameters)):
        rule = f"{label}: less= text where the first element's name comes first, also in the alphabet: 'a < b'"
        raise ArgumentError(f"{rule}; got {quoted(less)} (write a function: lambda a, b: ...)")
    (result,) = typed(found, (dtype, dtype)).dtypes
    if result.kind != "b":
        raise DtypeError(f"{rule}; got one that returns {result} (write 'a < b' or lambda a, b: a < b)")
    return found


def _try_laws(label: str, less: Expr, operands: Operands) -> None:
    """Compare some elements with each other, and raise if the results contradict a strict weak order."""
    sample = _drawn(operands)
    before = compared(typed(less, (sample.dtype, sample.dtype)), sample[:, None], sample[None])
    alike = ~before & ~before.T
    never = np.zeros_like(before)
    for law, wrong, between in (
        ("less(a, a) is False; got True", before & np.eye(sample.size, dtype=bool), never),
        ("less(a, b) and less(b, a) are not both True; got both", before & before.T, never),
        ("less(a, b) and less(b, c) give less(a, c); got the first two alone", _linked(before) & ~before, before),
        ("if neither of a and b is less, and neither of b and c, then neither of a and c is; got one that is",
         _linked(alike) & ~alike, alike),
    ):  # fmt: skip
        if wrong.any():
            raise LawError(f"{label}: less=: {law}, for {_named(sample, wrong, between)}")


def _linked(related: np.ndarray) -> np.ndarray:
    """Return which pairs have an element between them that is related to both."""
    return np.asarray(related.astype(np.float32) @ related.astype(np.float32) > 0)


def _named(sample: np.ndarray, wrong: np.ndarray, between: np.ndarray) -> str:
    """Describe the first wrong pair, with the element between them if there is one."""
    row, column = (int(k) for k in np.argwhere(wrong)[0])
    middle = np.flatnonzero(between[row] & between[:, column])
    places = [row, *middle[:1], column] if row != column or middle.size else [row]
    values = [sample[place] for place in places]
    hint = _FOR_NAN if any(value != value for value in values) else ""  # NaN
    return ", ".join(f"{name}={value.item()!r}" for name, value in zip("abc", values, strict=False)) + hint


def _drawn(operands: Operands) -> np.ndarray:
    """Return elements of the first array on the host: all of a short one, else some drawn at random."""
    elements = flat(operands, operands.natives[0])
    size = int(elements.shape[0])
    if size > _TRIED:
        places = np.unique(np.random.default_rng(_SEED).integers(0, size, _TRIED))
        there = places if isinstance(elements, np.ndarray) else operands.driver.asarray(places)
        elements = take(elements, there, mode="clip", device=operands.device)
    return np.asarray(elements if isinstance(elements, np.ndarray) else operands.to_host(elements))
