"""Pickles: operators of named functions travel between processes; plans and scopes say why they do not."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gpuprims
from gpuprims.errors import UnknownKeywordError, UnpicklableError

X = np.arange(1, 6, dtype=np.float32)


def affine(p: Any, q: Any) -> Any:
    return p[0] * q[0], p[1] * q[0] + q[1]


def absolute(element: Any, index: Any) -> Any:
    return abs(element)


def root(total: Any, count: Any) -> Any:
    return np.sqrt(total)


def through_a_pickle(op: gpuprims.Op) -> Any:
    return pickle.loads(pickle.dumps(op))  # noqa: S301 - made here


OPERATORS: dict[str, tuple[gpuprims.Op, tuple[Any, ...], Any]] = {
    "a string": (gpuprims.Op("a * b", 1, name="product", commutative=True), (X,), 120),
    "of two components": (gpuprims.Op(affine, (1, 0)), (X, X), (120, 325)),
    "with all functions": (gpuprims.Op("a + b", 0, prepare=absolute, finish=root), (-X[:1] * 4,), 2),
    "of other attributes": (gpuprims.Op("maximum(a, b)", 0).altered(name="highest"), (X,), 5),
}


@pytest.mark.parametrize("copied", [through_a_pickle, copy.copy, copy.deepcopy])
@pytest.mark.parametrize("name", OPERATORS)
def test_operators_are_copied_whole(name: str, copied: Callable[[Any], gpuprims.Op]) -> None:
    op, arrays, expected = OPERATORS[name]
    other = copied(op)
    assert (repr(other), other.of_nothing) == (repr(op), op.of_nothing)
    assert gpuprims.reduce(*arrays, op=other, device="reference") == expected


@pytest.mark.parametrize(
    "made",
    [lambda: gpuprims.plan("reduce", X, device="reference"), lambda: gpuprims.use_determinism(None)],
    ids=["plan", "scope"],
)
def test_what_belongs_to_a_process_says_so(made: Callable[[], Any]) -> None:
    one = made()
    with pytest.raises(UnpicklableError, match=r"the process that made it; got a pickle .* in each process"):
        pickle.dumps(one)
    assert copy.copy(one) is copy.deepcopy(one) is one


def test_a_plan_takes_no_keywords_of_its_function() -> None:
    plan = gpuprims.plan("reduce", X, device="reference")
    with pytest.raises(UnknownKeywordError, match=r"plan of reduce: out= alone.*; got axis \(make another plan"):
        plan(X, axis=0)
