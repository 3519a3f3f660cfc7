"""The matrices that a scan's adjoint multiplies: which of their parts are kept.

A part is not kept where all products of the matrices have a 0, or the same as in another place, but for its sign. So
those of a product of complex numbers are two of four, and of the affine maps of pairs one of two.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

from gpuprims.expressions import Expr
from gpuprims.expressions.derivatives import jacobian
from gpuprims.expressions.expr import Instruction

Place = tuple[int, int]  # row and column


class Part(NamedTuple):
    """A part that may not be 0, by the one that is kept."""

    kept: Place
    negative: bool  # the kept part has the other sign


class _Known(NamedTuple):
    """What places of one part have in common: a class and, times the place's sign, the value."""

    group: Any
    sign: int


@lru_cache(maxsize=256)
def parts_of(function: Expr, states: int) -> dict[Place, Part]:
    """Return the parts of products of the matrices ``T`` of a step that may not be 0, row by row.

    ``T`` is the transposed derivative by the state. The set of matrices with these parts contains each ``T``, the
    identity, and its products.
    """
    found, before = _at_first(function, states), 0
    while (groups := len({one.group for one in found.values()})) > before:
        found, before = _split(found, states), groups
    first: dict[Any, Place] = {}
    for place, one in found.items():
        first.setdefault(one.group, place)
    kept = {place: first[one.group] for place, one in found.items()}
    return {place: Part(one, found[place].sign != found[one].sign) for place, one in kept.items()}


def _at_first(function: Expr, n: int) -> dict[Place, _Known]:
    """Return what is known of the parts from ``T`` and the identity: only its diagonal is not 0, and has no sign."""
    derivative, wide = jacobian(function), len(function.parameters)
    code = derivative.code
    of_result = {(r, c): derivative.results[c * wide + r] for r, c in product(range(n), repeat=2)}
    zero = {place for place, k in of_result.items() if _is_number(code[k], 0)}
    found = {}
    for place in _filled(n, zero):
        sign, value = _unsigned(code, of_result[place])
        diagonal = place[0] == place[1]
        group = place if place in zero else (diagonal, diagonal and sign, value)
        found[place] = _Known(group, sign)
    return found


def _split(found: Mapping[Place, _Known], n: int) -> dict[Place, _Known]:
    """Tell parts apart whose sums of products differ, whatever the values are."""
    split = {}
    for (r, c), own in found.items():
        both = [(found[r, k], found[k, c]) for k in range(n) if {(r, k), (k, c)} <= found.keys()]
        terms = sorted((repr(p.group), repr(q.group), own.sign * p.sign * q.sign) for p, q in both)
        split[r, c] = own._replace(group=(own.group, *terms))
    names: dict[Any, int] = {}
    return {place: one._replace(group=names.setdefault(one.group, len(names))) for place, one in split.items()}


def _filled(n: int, zero: set[Place]) -> list[Place]:
    """Return the places of products that may not be 0; the diagonal is the identity's."""
    filled = {(r, c) for r, c in product(range(n), repeat=2) if r == c or (r, c) not in zero}
    for k, r, c in product(range(n), repeat=3):  # Warshall's closure
        if {(r, k), (k, c)} <= filled:
            filled.add((r, c))
    return sorted(filled)


def _unsigned(code: tuple[Instruction, ...], k: int) -> tuple[int, int]:
    """Return a sign and the instruction whose value it changes."""
    sign = 1
    while code[k].name == "multiply":
        factors = [one for one in code[k].operands if not (_is_number(code[one], 1) or _is_number(code[one], -1))]
        if len(factors) != 1:
            break
        (other,) = (one for one in code[k].operands if one != factors[0])
        sign, k = sign * (1 if _is_number(code[other], 1) else -1), factors[0]
    return sign, k


def _is_number(instruction: Instruction, number: int) -> bool:
    return (instruction.name, instruction.value) == ("constant", f"int:{number}")
