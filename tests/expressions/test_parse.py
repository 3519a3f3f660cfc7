"""Strings that can be parsed, and how others are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from expression_samples import OTHER, SAMPLE, STEP, WHOLE, same

from gpuprims.errors import ExpressionError
from gpuprims.expressions import parse, trace

STRINGS: dict[str, Callable[[Any, Any], Any]] = {
    "2*x + y": lambda x, y: 2 * x + y,
    "where(x > 0, sqrt(abs(x)), -y)": lambda x, y: np.where(x > 0, np.sqrt(np.abs(x)), -y),
    "clip(x, -1, y)": lambda x, y: np.clip(x, -1, y),
    "clip(x, None, y) + clip(x, -1, None) * clip(y, None, None)": lambda x, y: (
        np.clip(x, None, y) + np.clip(x, -1, None) * y
    ),
    "float32(x) + float32(y)": lambda x, y: x.astype(np.float32) + y.astype(np.float32),
    "int64(x) // 2 + int64(y)": lambda x, y: x.astype(np.int64) // 2 + y.astype(np.int64),
    "(x > 0) & ~(y < 1) | (x == y) ^ (x != 3)": lambda x, y: (x > 0) & ~(y < 1) | (x == y) ^ (x != 3),
    "sin(pi * x) + cos(y)": lambda x, y: np.sin(np.pi * x) + np.cos(y),
    "minimum(x, inf) + maximum(y, -inf)": lambda x, y: np.minimum(x, np.inf) + np.maximum(y, -np.inf),
    "where(isnan(x), nan, y)": lambda x, y: np.where(np.isnan(x), np.nan, y),
    "+x - -y": lambda x, y: +x - -y,
    "x % y + x // y": lambda x, y: x % y + x // y,
    "x*(2 + 3*4) + y": lambda x, y: x * 14 + y,
    "x + sqrt(2) + y": lambda x, y: x + np.sqrt(2) + y,
    "x + float32(0.1) * y": lambda x, y: x + np.float32(0.1) * y,
    "1j*x - conj(2j + y)": lambda x, y: 1j * x - np.conj(2j + y),
    "real(x + 1j*y) * imag(y + 1j*x)": lambda x, y: np.real(x + 1j * y) * np.imag(y + 1j * x),
    "angle(x + 1j*y) + angle(x) + imag(x)": lambda x, y: np.angle(x + 1j * y) + np.angle(x) + np.imag(x),
    "x + (1 + 2j)**2 / 3 + real(1j) * y": lambda x, y: x + (1 + 2j) ** 2 / 3 + np.real(1j) * y,
}


@pytest.mark.parametrize("source", STRINGS)
def test_a_string_computes_what_its_python_twin_computes(source: str) -> None:
    same(parse(source)(SAMPLE, OTHER), STRINGS[source](SAMPLE, OTHER))


def test_divmod_alone_has_two_results() -> None:
    for got, expected in zip(parse("divmod(x, y + 1)")(SAMPLE, OTHER), np.divmod(SAMPLE, OTHER + 1), strict=True):
        same(got, expected)


@pytest.mark.parametrize(
    ("source", "function"),
    [("x << 3 | 1", lambda x: x << 3 | 1), ("x >> 1 ^ 5", lambda x: x >> 1 ^ 5), ("~x & 12", lambda x: ~x & 12)],
)
def test_a_string_of_bits_computes_what_its_python_twin_computes(
    source: str, function: Callable[[np.ndarray], np.ndarray]
) -> None:
    same(parse(source)(WHOLE), function(WHOLE))


@pytest.mark.parametrize(
    ("source", "parameters"),
    [
        ("b + a", ("b", "a")),
        ("where(x > 0, sqrt(x), -y)", ("x", "y")),
        ("y*x + z*y", ("y", "x", "z")),
        ("pi * r**2 + inf - nan", ("r",)),
        ("e + x", ("e", "x")),  # a name like any other
        ("exp(exp_)", ("exp_",)),
        ("maximum(second, first)", ("second", "first")),
        ("(b,\n a, c)", ("b", "a", "c")),
        ("größe + x", ("größe", "x")),
    ],
)
def test_names_become_parameters_in_order_of_first_appearance(source: str, parameters: tuple[str, ...]) -> None:
    assert parse(source).parameters == parameters


def test_a_string_and_its_traced_twin_are_one_expression() -> None:
    assert parse("where(x > 0, sqrt(x), -y)") == trace(lambda x, y: np.where(x > 0, np.sqrt(x), -y))


def test_a_string_of_a_tuple_gives_several_results() -> None:
    total, difference = parse("x + y, x - y")(WHOLE, STEP)
    same(total, WHOLE + STEP)
    same(difference, WHOLE - STEP)
    assert parse("(x,)")(5) == (5,)


def test_space_around_a_string_means_nothing() -> None:
    assert parse("  x + y\n") == parse("x + y")


REFUSED_STRINGS = {
    "np.sqrt(x)": "attribute access|np.sqrt",
    "x.real": "an attribute access",
    "x.__class__": "an attribute access",
    "().__class__.__bases__": "an attribute access",
    "x[0]": "an index",
    "0 < x < 1": "a chained comparison",
    "x > 0 and x < 1": "'and' or 'or'",
    "x > 0 or x < 1": "'and' or 'or'",
    "not x": "'not'",
    "x if x > 0 else y": "a conditional",
    "lambda x: x": "a lambda",
    "(lambda: x)()": "lambda",
    "median(x)": r"a call of median\(\), which is not on the whitelist",
    "eval('x')": r"a call of eval\(\)",
    "open(x)": r"a call of open\(\)",
    "__import__('os')": r"a call of __import__\(\)",
    "__import__('os').system('true')": "__import__|attribute",
    "sqrt(x, y)": r"sqrt\(\) with 2 arguments instead of 1",
    "hypot(x)": r"hypot\(\) with 1 arguments instead of 2",
    "where(x, y)": r"where\(\) with 2 arguments instead of 3",
    "clip(x, 1)": "clip",
    "float32(x, y)": "float32",
    "sqrt()": r"sqrt\(\) with 0 arguments",
    "clip(None, 0, 1)": "None",
    "1 + divmod(x, y)": r"divmod\(\), which is not on the whitelist \(did you mean 'x // y, x % y'",
    "clip(x, low=0, high=1)": "low=0",
    "sqrt(x=x)": "x=x",
    "sqrt(*x)": "a starred argument",
    "sqrt(**x)": "sqrt",
    "'text'": "'text'",
    "x + 'text'": "'text'",
    "x + float32(2j)": r"float32\(2j\), which would lose",
    "x + None": "None",
    "x @ y": "x @ y",
    "x in y": "x in y",
    "x is y": "x is y",
    "[x, y]": r"\[x, y\]",
    "{x: y}": r"\{x: y\}",
    "[v for v in x]": "for v in x",
    "f'{x}'": "f'",
    "x := 3": "Python's syntax",
    "(x := 3)": "x := 3",
    "x = 3": "Python's syntax",
    "import os": "Python's syntax",
    "x +": "Python's syntax",
    "": "Python's syntax",
    "x; y": "Python's syntax",
    "x + ...": r"\.\.\.|Ellipsis",
    "()": "empty tuple",
}


@pytest.mark.parametrize("source", REFUSED_STRINGS)
def test_a_string_outside_the_whitelist_is_refused_by_name(source: str) -> None:
    with pytest.raises(ExpressionError, match=REFUSED_STRINGS[source]) as caught:
        parse(source)
    assert "; got " in str(caught.value)
    assert isinstance(caught.value, ValueError)


def test_a_refusal_shows_the_whole_string() -> None:
    with pytest.raises(ExpressionError, match=r"got a call of spam\(\).* in '2\*x \+ spam\(y\)'"):
        parse("2*x + spam(y)")


def test_a_null_byte_is_no_syntax() -> None:
    with pytest.raises(ExpressionError):
        parse("x\0")


def test_deep_nesting_raises_instead_of_crashing() -> None:
    with pytest.raises(ExpressionError):
        parse("(" * 5000 + "x" + ")" * 5000)


def test_a_long_chain_of_operators_raises_instead_of_crashing() -> None:
    with pytest.raises(ExpressionError):
        parse("-" * 50000 + "x")


def test_arithmetic_of_numbers_alone_that_fails_is_an_expression_error() -> None:
    with pytest.raises(ExpressionError):
        parse("x + (1 << 2.5)")


@pytest.mark.parametrize("numbers", ["10**-3", "2**63", "2**0.5", "7 // 2", "-7 % 3", "7 / 2", "1 << 40", "~5 & 3"])
def test_arithmetic_of_numbers_alone_is_pythons(numbers: str) -> None:
    same(parse(f"x * ({numbers})")(OTHER), OTHER * eval(numbers))  # noqa: S307 - the strings are those above


@pytest.mark.parametrize("numbers", ["1 / 0", "1 // 0", "1 % 0", "1 << -1"])
def test_arithmetic_of_numbers_alone_gives_an_answer_or_an_expression_error(numbers: str) -> None:
    with np.errstate(all="ignore"):
        try:
            parsed = parse(f"x * ({numbers})")
        except ExpressionError:
            return
        assert parsed(OTHER).shape == OTHER.shape


def test_a_choice_between_numbers_alone_is_a_number() -> None:
    same(parse("x + where(2 > 1, 3, 4)")(WHOLE), WHOLE + 3)
    same(trace(lambda x: x + np.where(WHOLE.ndim < 2, 3, 4))(WHOLE), WHOLE + 3)
