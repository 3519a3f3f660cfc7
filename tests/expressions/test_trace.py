"""Functions that can be traced, and how others are refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from expression_samples import OTHER, SAMPLE, STEP, WHOLE, same

from gpuprims.errors import DtypeError, ExpressionError
from gpuprims.expressions import Expr, expression, parse, trace
from gpuprims.expressions.functions import ALIASES


def names(expr: Expr) -> list[str]:
    """Names of the instructions, in order."""
    return [instruction.name for instruction in expr.code]


FLOAT_FUNCTIONS = {
    "add": lambda x, y: x + y,
    "reflected add": lambda x, y: 2 + x,
    "subtract": lambda x, y: x - y,
    "reflected subtract": lambda x, y: 2 - x,
    "multiply": lambda x, y: x * y,
    "reflected multiply": lambda x, y: 3 * x,
    "divide": lambda x, y: x / y,
    "reflected divide": lambda x, y: 1 / y,
    "floor divide": lambda x, y: x // y,
    "reflected floor divide": lambda x, y: 7 // y,
    "remainder": lambda x, y: x % y,
    "reflected remainder": lambda x, y: 7 % y,
    "power": lambda x, y: abs(x) ** y,
    "reflected power": lambda x, y: 2.0**x,
    "negative": lambda x, y: -x,
    "positive": lambda x, y: +x,
    "absolute": lambda x, y: abs(x),
    "less": lambda x, y: x < y,
    "less or equal": lambda x, y: x <= y,
    "greater": lambda x, y: x > y,
    "greater or equal": lambda x, y: x >= y,
    "equal": lambda x, y: x == y,
    "not equal": lambda x, y: x != y,
    "reflected comparison": lambda x, y: 1.0 < x,  # noqa: SIM300 - the reflected method is what is tested
    "ufunc": lambda x, y: np.hypot(np.sin(x), np.cos(y)),
    "ufunc of a scalar first": lambda x, y: np.maximum(0, x),
    "ufunc under another name": lambda x, y: np.abs(x) + np.true_divide(x, y),
    "where": lambda x, y: np.where(x > 0, x, -y),
    "where of scalars": lambda x, y: np.where(x > 0, 1, 0),
    "clip": lambda x, y: np.clip(x, -1, 1),
    "clip from below": lambda x, y: np.clip(x, y, None),
    "clip from above": lambda x, y: np.clip(x, None, 1),
    "clip by keywords": lambda x, y: np.clip(x, max=1) + np.clip(x, a_min=-y, a_max=None) + np.clip(y, None, None),
    "divmod": lambda x, y: sum(divmod(x, y)) + sum(np.divmod(y, 3.0)) + sum(divmod(7, y)),
    "clip by an element": lambda x, y: np.clip(x, -abs(y), abs(y)),
    "astype by class": lambda x, y: x.astype(np.float32),
    "astype by name": lambda x, y: x.astype("int32"),
    "astype by Python type": lambda x, y: x.astype(float),
    "parts as attributes": lambda x, y: (x + 1j * y).real + (x - 2j).imag + x.imag + y.real,
    "conjugate as a method": lambda x, y: (x + 1j * y).conj() * (x - 1j * y).conjugate(),
    "parts by function": lambda x, y: np.real(x + 1j * y) + np.imag(x - 2j) + np.angle(x * 1j) + np.angle(y),
    "complex scalars of NumPy": lambda x, y: x * np.complex64(1 + 2j) + np.complex128(-0.5j),
    "scalars of NumPy": lambda x, y: x * np.float32(0.1) + np.int8(3),
}
INTEGER_FUNCTIONS = {
    "and": lambda x, y: x & y,
    "reflected and": lambda x, y: 6 & x,
    "or": lambda x, y: x | y,
    "reflected or": lambda x, y: 6 | x,
    "xor": lambda x, y: x ^ y,
    "reflected xor": lambda x, y: 6 ^ x,
    "left shift": lambda x, y: x << y,
    "reflected left shift": lambda x, y: 1 << y,
    "right shift": lambda x, y: x >> y,
    "reflected right shift": lambda x, y: 1024 >> y,
    "invert": lambda x, y: ~x,
    "floor divide": lambda x, y: x // y,
    "remainder": lambda x, y: x % -y,
    "constant power": lambda x, y: x**3,
    "true divide": lambda x, y: x / y,
}


@pytest.mark.parametrize("function", FLOAT_FUNCTIONS.values(), ids=FLOAT_FUNCTIONS)
def test_a_traced_function_of_floats_computes_what_it_computes_on_arrays(function: Callable[..., Any]) -> None:
    same(trace(function)(SAMPLE, OTHER), function(SAMPLE, OTHER))


@pytest.mark.parametrize("function", INTEGER_FUNCTIONS.values(), ids=INTEGER_FUNCTIONS)
def test_a_traced_function_of_integers_computes_what_it_computes_on_arrays(function: Callable[..., Any]) -> None:
    same(trace(function)(WHOLE, STEP), function(WHOLE, STEP))


def test_a_tuple_gives_several_results_in_order() -> None:
    expr = trace(lambda x, y: (x + y, x, 7))
    assert not expr.single
    total, first, seven = expr(WHOLE, STEP)
    same(total, WHOLE + STEP)
    same(first, WHOLE)
    assert seven == 7


def test_a_tuple_of_one_stays_a_tuple() -> None:
    assert trace(lambda x: (x,))(5) == (5,)
    assert trace(lambda x: x)(5) == 5


def test_captured_scalars_become_constants() -> None:
    scale, shift, flag = 3, np.float32(0.5), np.True_
    same(trace(lambda x: np.where(flag, x * scale + shift, x))(SAMPLE), np.where(flag, SAMPLE * scale + shift, SAMPLE))


def test_constants_that_python_finds_equal_are_told_apart() -> None:
    kinds = [trace(lambda x, value=value: x + value) for value in (1, 1.0, np.int8(1), np.float32(1), np.float64(1))]
    assert len(set(kinds)) == len(kinds)


def test_a_negative_zero_is_told_apart_from_zero() -> None:
    assert trace(lambda x: x + 0.0) != trace(lambda x: x + -0.0)


def test_a_value_used_twice_is_computed_once() -> None:
    expr = trace(lambda x, y: (np.exp(x) + y) * np.exp(x) + np.exp(x))
    assert names(expr).count("exp") == 1


def test_a_constant_used_twice_is_written_once() -> None:
    assert names(trace(lambda x: (x + 2) * 2)).count("constant") == 1


def test_equal_functions_give_equal_expressions() -> None:
    def spelled(x: Any, y: Any) -> Any:
        first = x * 2
        return first + y

    assert trace(spelled) == trace(lambda x, y: x * 2 + y)
    assert hash(trace(spelled)) == hash(trace(lambda x, y: x * 2 + y))


def test_an_expression_called_inside_a_function_is_inlined() -> None:
    logistic = expression("1 / (1 + exp(-z))")
    expr = trace(lambda x, w: logistic(x * w) - w)
    assert expr == trace(lambda x, w: 1 / (1 + np.exp(-(x * w))) - w)


def test_an_expression_is_called_with_as_many_arguments_as_it_has_parameters() -> None:
    with pytest.raises(ExpressionError, match=r"expression of \(x, y\).*; got 1"):
        expression("x + y")(SAMPLE)


def test_parameters_keep_their_names() -> None:
    assert trace(lambda pixel, gain: pixel * gain).parameters == ("pixel", "gain")


def test_a_ufunc_is_a_function_of_as_many_elements_as_it_takes() -> None:
    assert len(trace(np.hypot).parameters) == 2
    same(trace(np.sqrt)(OTHER**2), np.sqrt(OTHER**2))


def test_a_default_is_a_captured_value_unless_an_array_is_given_for_it() -> None:
    def function(x: Any, gain: Any = 3) -> Any:
        return x * gain

    assert trace(function, 1).parameters == ("x",)
    assert trace(function, 2).parameters == ("x", "gain")


def test_any_number_of_arguments_is_settled_by_the_call() -> None:
    assert trace(lambda *xs: xs[0] + xs[1] + xs[2], 3)(1, 2, 3) == 6


def test_every_alias_traces_to_the_function_it_stands_for() -> None:
    for alias, name in ALIASES.items():
        ufunc = getattr(np, alias)
        assert names(trace(ufunc))[-1] == name


def test_an_expression_given_as_a_function_is_itself() -> None:
    expr = parse("x + 1")
    assert expression(expr) is expr


UNTRACEABLE: dict[str, tuple[Callable[..., Any], str]] = {
    "if": (lambda x: x if x > 0 else -x, "if, while, and, or, not"),
    "and": (lambda x: (x > 0) and (x < 1), "and, or, not"),
    "or": (lambda x: (x > 0) or (x < 1), "and, or, not"),
    "not": (lambda x: not x, "not"),
    "chained comparison": (lambda x: 0 < x < 1, "a chained comparison"),
    "float()": (lambda x: float(x), r"float\(\)"),
    "math.sqrt": (lambda x: math.sqrt(x), "math module"),
    "int()": (lambda x: int(x), r"int\(\)"),
    "range": (lambda x: list(range(x)), r"range\(\)"),
    "len": (lambda x: len(x), r"len\(\)"),
    "iteration": (lambda x: sum(value for value in x), "iteration or unpacking"),
    "unpacking": (lambda x: [*x], "iteration or unpacking"),
    "indexing": (lambda x: x[0], r"indexing with \[0\]"),
    "slicing": (lambda x: x[1:], "indexing with"),
    "attribute": (lambda x: x.T, r"the attribute \.T"),
    "method": (lambda x: x.sum(), r"the attribute \.sum"),
    "captured array": (lambda x: x + SAMPLE, r"a captured array of shape \(5,\)"),
    "captured array first": (lambda x: SAMPLE + x, r"a captured array of shape \(5,\)"),
    "nothing returned": (lambda x: None, "got None"),
    "empty tuple": (lambda x: (), "an empty tuple"),
    "ufunc method": (lambda x: np.add.reduce(x), r"np\.add\.reduce"),
    "out": (lambda x: np.add(x, 1, out=np.zeros(1)), r"np\.add\(out=\.\.\.\)"),
    "dtype keyword": (lambda x: np.add(x, 1, dtype=np.float32), r"np\.add\(dtype=\.\.\.\)"),
    "unknown ufunc": (lambda x: np.heaviside(x, 0), r"np\.heaviside"),
    "ufunc of two results": (lambda x: np.modf(x), r"np\.modf"),
    "array function": (lambda x: np.sum(x), r"np\.sum"),
    "where without branches": (lambda x: np.where(x), r"np\.where"),
    "string": (lambda x: x + "1", "str '1'"),
    "datetime constant": (lambda x: x + np.datetime64("2020-01-01"), "datetime64"),
    "power modulo 5": (lambda x: pow(x, 2, 5), "takes 2 positional arguments"),
    "matrix product": (lambda x: x @ x, "unsupported operand"),
    "set": (lambda x: {x}, "a key of a dictionary or a set"),
}


@pytest.mark.parametrize(("function", "construct"), UNTRACEABLE.values(), ids=UNTRACEABLE)
def test_what_cannot_be_traced_is_named(function: Callable[..., Any], construct: str) -> None:
    with pytest.raises(ExpressionError, match=construct) as caught:
        trace(function)
    assert "; got " in str(caught.value)


def test_an_unknown_dtype_in_astype_is_a_dtype_error() -> None:
    with pytest.raises(DtypeError, match=r"astype in a traced function.*; got object"):
        trace(lambda x: x.astype(object))


def test_a_value_kept_from_another_trace_is_refused() -> None:
    kept: list[Any] = []

    def keep(x: Any) -> Any:
        kept.append(x)
        return x

    trace(keep)
    with pytest.raises(ExpressionError, match="kept from another trace"):
        trace(lambda x: x + kept[0])


@pytest.mark.parametrize("given", [3, None, object()])
def test_what_is_no_function_is_refused(given: object) -> None:
    with pytest.raises(ExpressionError, match=rf"; got {type(given).__name__}"):
        expression(given)


def test_an_error_in_the_callers_own_function_is_shown_with_its_cause() -> None:
    def broken(x: Any) -> Any:
        return x + undefined  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(ExpressionError, match="got NameError: name 'undefined' is not defined") as caught:
        trace(broken)
    assert isinstance(caught.value.__cause__, NameError)
