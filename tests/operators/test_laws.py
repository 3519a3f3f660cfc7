"""Op(..., check=True): laws that hold pass, and those that do not are told with a counterexample."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpuprims import Op
from gpuprims.errors import ArgumentError, DtypeError, LawError
from gpuprims.operators import OPERATORS, find_op
from gpuprims.operators.laws import check_laws


@pytest.mark.parametrize("name", OPERATORS)
def test_named_operators_keep_their_laws(name: str) -> None:
    check_laws(OPERATORS[name].trial())


@pytest.mark.parametrize("name", ["sum", "mean"])
def test_compensated_operators_keep_their_laws(name: str) -> None:
    check_laws(find_op(name, compensated=True).trial())


LAWFUL = {
    "xor": lambda: Op("a ^ b", 0, commutative=True, check=True),
    "affine maps": lambda: Op(lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1]), (1, 0), check=True),
    "complex product": lambda: Op(
        lambda p, q: (p[0] * q[0] - p[1] * q[1], p[0] * q[1] + p[1] * q[0]), (1, 0), commutative=True, check=True
    ),
    "first that is not 0": lambda: Op(lambda a, b: np.where(a != 0, a, b), 0, check=True),
    "sum of floats": lambda: Op(lambda a, b: a + b + np.float64(0), 0, commutative=True, check=True),
    "an identity for floats alone": lambda: Op(np.maximum, -np.inf, commutative=True, check=True),
    "a function for floats alone": lambda: Op(
        lambda a, b: np.maximum(a, b) + np.log1p(np.exp(-np.abs(a - b))), -1e300, commutative=True, check=True
    ),
    "bools": lambda: Op("a & b", True, commutative=True, check=True),
    "a callable identity": lambda: Op(
        np.minimum, lambda dtypes: np.iinfo(dtypes[0]).max, components=1, commutative=True, check=True
    ),
    "squares": lambda: Op("a + b", 0, prepare=lambda x, i: x * x, finish=lambda s, n: np.sqrt(s), check=True),
    "places": lambda: Op(
        lambda p, q: (np.minimum(p[0], q[0]), np.maximum(p[1], q[1])),
        (2**62, -1),
        prepare=lambda x, i: (i, i),
        commutative=True,
        check=True,
    ),
}


@pytest.mark.parametrize("make", LAWFUL.values(), ids=LAWFUL)
def test_a_lawful_operator_passes(make: Any) -> None:
    assert isinstance(make(), Op)


LAWLESS = {
    "associativity": (
        lambda: Op(lambda a, b: a - b, 0, name="difference", check=True),
        r"Op 'difference': fn\(fn\(a, b\), c\) == fn\(a, fn\(b, c\)\); got 1 and -1 for a=0, b=0, c=-1",
    ),
    "an average": (lambda: Op("(a + b) / 2", 0, check=True), r"fn\(fn\(a, b\), c\) == "),
    "identity": (lambda: Op("a + b", 1, check=True), r"fn\(identity, a\) == a; got 1 and 0 for a=0$"),
    "identity of some": (
        lambda: Op(np.maximum, -50, check=True),
        r"fn\(identity, a\) == a; got -50 and -5\d for a=-5\d",
    ),
    "identity on the right": (
        lambda: Op(lambda a, b: b, 0, check=True),
        r"fn\(a, identity\) == a; got 0 and (-1|1) for a=(-1|1)$",
    ),
    "commutativity": (
        lambda: Op(lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1]), (1, 0), commutative=True, check=True),
        r"fn\(a, b\) == fn\(b, a\); got \(.*, .*\) and \(.*, .*\) for a=\(.*\), b=\(.*\)",
    ),
    "floats": (
        lambda: Op(lambda a, b: np.sqrt(a * a + b * b), 0, check=True),
        r"fn\(identity, a\) == a; got 1\.0 and -1\.0",
    ),
    "bools": (lambda: Op(lambda a, b: a | ~b, False, check=True), r"got (True|False) and (True|False) for a="),
    "one component of two": (lambda: Op("a + c, b - d", (0, 0), check=True), r"fn\(fn\(a, b\), c\) == "),
    "of prepared values": (
        lambda: Op("a - b", 0, prepare=lambda x, i: x + i, check=True),
        r"fn\(fn\(a, b\), c\) == fn\(a, fn\(b, c\)\); got",
    ),
}


@pytest.mark.parametrize(("make", "message"), LAWLESS.values(), ids=LAWLESS)
def test_a_broken_law_is_told_with_the_values_that_break_it(make: Any, message: str) -> None:
    with pytest.raises(LawError, match=message) as told:
        make()
    assert isinstance(told.value, ArgumentError)
    with pytest.raises(LawError) as again:
        make()
    assert str(again.value) == str(told.value)  # the seed is fixed


def test_the_counterexample_breaks_the_law() -> None:
    with pytest.raises(LawError, match=r"for a=0, b=0, c=-1$"):
        Op("a - b", 0, check=True)
    assert (0 - 0) - -1 != 0 - (0 - -1)


def test_laws_are_taken_on_trust_unless_asked() -> None:
    assert isinstance(Op("a - b", 0, commutative=True), Op)


def test_a_function_of_no_dtype_is_refused() -> None:
    with pytest.raises(DtypeError, match="an identity that"):
        Op("a + b", "nothing", check=True)
