"""Check the laws that kernels rely on with random values, for ``Op(..., check=True)``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpuprims.errors import LawError, quoted
from gpuprims.expressions import TypedExpr
from gpuprims.operators.dtypes import Dtypes

TRIES = 1024
SEED = 20261121
# Tolerance for floats, relative to the largest operand.
TOLERANCE = 1e-9
Value = tuple[np.ndarray, ...]


@dataclass(frozen=True)
class Trial:
    """An operator for elements of certain dtypes, with functions of arrays of ``TRIES`` values."""

    name: str
    elements: Dtypes
    load: TypedExpr
    op: TypedExpr
    identity: tuple[Any, ...]
    better: TypedExpr | None
    prepared: bool
    commutative: bool

    def fold(self, left: Value, right: Value) -> Value:
        """Fold pairs of values."""
        with np.errstate(all="ignore"):
            return _whole(self.op(*left, *right))

    def draw(self, rng: np.random.Generator) -> Value:
        """Draw values that may occur in a reduction: prepared ones, and half of them folded once."""
        one = self._leaves(rng)
        if not self.prepared:
            return one
        folded, both = rng.random(TRIES) < 0.5, self.fold(one, self._leaves(rng))
        return tuple(np.where(folded, double, single) for double, single in zip(both, one, strict=True))

    def _leaves(self, rng: np.random.Generator) -> Value:
        elements = [_numbers(rng).astype(dtype) for dtype in self.elements]
        return _whole(self.load(*elements, rng.integers(0, 3 * TRIES, TRIES)))


def check_laws(trial: Trial) -> None:
    """Check associativity, the identity on both sides and, if claimed, commutativity and the better value.

    NumPy evaluates the typed expressions of kernels on small integers, often 0, 1 and -1. The seed is fixed: a law
    fails in every run or in none. The error contains the law, both sides and the smallest counterexample.
    """
    a, b, c = (trial.draw(np.random.default_rng(SEED + k)) for k in range(3))
    nothing = tuple(np.full(TRIES, scalar) for scalar in trial.identity)
    fn = trial.fold
    laws = [
        ("fn(fn(a, b), c) == fn(a, fn(b, c))", fn(fn(a, b), c), fn(a, fn(b, c)), {"a": a, "b": b, "c": c}),
        ("fn(identity, a) == a", fn(nothing, a), a, {"a": a}),
        ("fn(a, identity) == a", fn(a, nothing), a, {"a": a}),
    ]
    if trial.commutative:
        laws.append(("fn(a, b) == fn(b, a)", fn(a, b), fn(b, a), {"a": a, "b": b}))
    if trial.better is not None:
        second, first = trial.better(b[0], a[0])[0], trial.better(a[0], b[0])[0]
        beats = second & ~trial.better(a[0], a[0])[0]
        picked = tuple(np.where(beats, folded, given) for folded, given in zip(fn(a, b), b, strict=True))
        laws.append(("fn(a, b) == b where better(b[0], a[0])", picked, b, {"a": a, "b": b}))
        kept = (np.where(second | first, a[0], fn(a, b)[0]),)
        laws.append(("fn(a, b)[0] == a[0] where neither is better", kept, a[:1], {"a": a, "b": b}))
    for law, left, right, operands in laws:
        _hold(trial.name, law, left, right, operands)


def _whole(value: Value) -> Value:
    """Broadcast components that are constants."""
    return tuple(np.broadcast_to(component, TRIES) for component in value)


def _numbers(rng: np.random.Generator) -> np.ndarray:
    """Return integers that any dtype holds: many small ones, which repeat, and some of two digits."""
    size = TRIES // 2
    return np.concatenate(
        [rng.integers(-1, 2, size // 2), rng.integers(-4, 5, size), rng.integers(-99, 100, size // 2)]
    )


def _hold(name: str, law: str, left: Value, right: Value, operands: dict[str, Value]) -> None:
    numbers = [np.nan_to_num(component.astype(np.float64)) for value in operands.values() for component in value]
    size = np.sum(np.abs(numbers), axis=0)
    wrong = np.zeros(TRIES, bool)
    for one, other in zip(left, right, strict=True):
        if one.dtype.kind == "f":
            scale = TOLERANCE * np.maximum(size, np.nan_to_num(np.abs(other)))
            wrong |= ~(np.isclose(one, other, rtol=0, atol=scale, equal_nan=True))
        else:
            wrong |= one != other
    if wrong.any():
        at = int(np.argmin(np.where(wrong, size, np.inf)))
        values = ", ".join(f"{letter}={_shown(value, at)}" for letter, value in operands.items())
        raise LawError(f"Op {quoted(name)}: {law}; got {_shown(left, at)} and {_shown(right, at)} for {values}")


def _shown(value: Value, at: int) -> str:
    components = tuple(component[at].item() for component in value)
    return repr(components if len(components) > 1 else components[0])
