"""Expressions: what can be traced or parsed, what is refused and how, and that every dtype is NumPy's own."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.exceptions import ComplexWarning

from gpuprims.errors import DtypeError, ExpressionError
from gpuprims.expressions import Expr, TypedExpr, c_type, computable, expression, literal, parse, trace, typed
from gpuprims.expressions.expr import COMPUTABLE
from gpuprims.expressions.functions import ALIASES, FUNCTIONS, LOGICAL

SAMPLE = np.array([-2.5, -1.0, -0.0, 0.5, 3.0])
OTHER = np.array([2.0, -3.0, 4.0, 0.25, 1.5])
WHOLE = np.array([-7, -1, 0, 5, 100])
STEP = np.array([3, 2, 1, 4, 6])


def names(expr: Expr) -> list[str]:
    """Names of the instructions, in order."""
    return [instruction.name for instruction in expr.code]


def same(got: Any, expected: Any) -> None:
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(got, expected)


# Tracing


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
    "matrix product": (lambda x: x @ x, "unsupported operand"),
    "set": (lambda x: {x}, "unhashable"),
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
    trace(lambda x: kept.append(x) or x)
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


# Strings


STRINGS = {
    "2*x + y": lambda x, y: 2 * x + y,
    "where(x > 0, sqrt(abs(x)), -y)": lambda x, y: np.where(x > 0, np.sqrt(np.abs(x)), -y),
    "clip(x, -1, y)": lambda x, y: np.clip(x, -1, y),
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


# Types


WEAK: tuple[Any, ...] = (0, 3, -1, 100, 300, 70_000, 2**40, 2**63, 0.0, 1.5, 1e300, math.inf, math.nan, 2.5j)
# What this library refuses although NumPy computes it, each a sentence of its documentation.
REFUSALS = (
    "power of integers: an unsigned or a constant exponent >= 0",  # NumPy raises at run time, a kernel cannot
    "a kind of dtype it has a kernel for",  # fmod, reciprocal of integers, power of bools
    "constant: a number that",  # NumPy's where wraps it
    "comparison: an integer of at most 64 bits",  # NumPy compares with any
)


def numpys_dtype(name: str, operands: Sequence[Any]) -> np.dtype[Any] | None:
    """The dtype that NumPy computes on arrays of one and Python scalars, or None where it raises."""
    values = [np.ones(1, one) if isinstance(one, np.dtype) else one for one in operands]
    with np.errstate(all="ignore"):
        try:
            return np.asarray(FUNCTIONS[name].numpy(*values)).dtype
        except (TypeError, ValueError, OverflowError):
            return None


def typed_dtype(name: str, operands: Sequence[Any]) -> np.dtype[Any] | str:
    """The dtype this library gives the call, or its refusal."""

    def function(*arguments: Any) -> Any:
        left = iter(arguments)
        return FUNCTIONS[name].numpy(*(next(left) if isinstance(one, np.dtype) else one for one in operands))

    dtypes = [one for one in operands if isinstance(one, np.dtype)]
    with np.errstate(all="ignore"):  # 1e300 as a float16 warns, as it does in NumPy
        try:
            return typed(trace(function, len(dtypes)), dtypes).dtypes[0]
        except DtypeError as error:
            return str(error)


def typing_mistakes(name: str, scalars: Sequence[Any]) -> list[str]:
    """Every call of a function whose dtype is neither NumPy's nor a documented refusal."""
    mistakes = []
    for operands in itertools.product((*COMPUTABLE, *scalars), repeat=FUNCTIONS[name].arity):
        if not any(isinstance(one, np.dtype) for one in operands) or (name == "where" and operands[0] != np.bool_):
            continue
        expected, got = numpys_dtype(name, operands), typed_dtype(name, operands)
        refused = isinstance(got, str) and (expected is None or any(reason in got for reason in REFUSALS))
        if got != expected and not refused:
            mistakes.append(f"{name}({', '.join(map(str, operands))}): NumPy {expected}, here {got}")
    return mistakes


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_result_dtype_is_numpys(name: str) -> None:
    # A logical function of an integer beyond 64 bits is the one call that raises in NumPy and not here.
    scalars = [s for s in WEAK if s != 2**63] if name in (*LOGICAL, "logical_xor") else WEAK
    assert typing_mistakes(name, scalars) == []


def test_a_python_bool_types_as_in_numpy() -> None:
    assert [mistake for name in FUNCTIONS for mistake in typing_mistakes(name, (True, False))] == []


def test_refusals_are_met_where_they_are_documented() -> None:
    int32 = np.dtype("int32")
    assert REFUSALS[0] in str(typed_dtype("power", (int32, int32)))
    assert REFUSALS[0] in str(typed_dtype("power", (int32, -1)))
    assert REFUSALS[1] in str(typed_dtype("fmod", (int32, int32)))
    assert REFUSALS[2] in str(typed_dtype("add", (int32, 2**40)))


@pytest.mark.parametrize("source", ["x > -1", "x < -1", "x == -1", "-1 < x", "x >= 300", "300 != x", "x < 2**40"])
@pytest.mark.parametrize("dtype", [dtype for dtype in COMPUTABLE if dtype.kind in "iu"], ids=str)
def test_a_comparison_with_an_integer_out_of_range_is_exact(source: str, dtype: np.dtype[Any]) -> None:
    info = np.iinfo(dtype)
    x = np.array([info.min, 0, 1, 100, info.max], dtype)
    try:
        function = typed(parse(source), [dtype])
    except DtypeError as error:
        assert any(reason in str(error) for reason in REFUSALS)  # noqa: PT017 - a refusal is as good as an answer
        return
    same(function(x)[0], eval(source, {"x": x}))  # noqa: S307 - the strings are those above


def test_results_are_converted_when_asked() -> None:
    function = typed(parse("x + 1"), [np.dtype("int8")], [np.dtype("float32")])
    same(function(np.array([1, 2], np.int8))[0], np.array([2, 3], np.float32))


def test_a_scalar_that_meets_nobody_has_numpys_default_dtype() -> None:
    assert typed(trace(lambda x: (1, 1.0, True)), [np.dtype("int8")]).dtypes == (
        np.dtype("int64"), np.dtype("float64"), np.dtype("bool"),
    )  # fmt: skip


def test_equal_functions_of_equal_dtypes_compile_to_one_kernel() -> None:
    float32 = np.dtype("float32")
    assert typed(parse("x * 2 + y"), [float32] * 2) == typed(trace(lambda x, y: x * 2 + y), [float32] * 2)


@pytest.mark.parametrize("dtype", COMPUTABLE, ids=str)
def test_a_computable_dtype_comes_back_native(dtype: np.dtype[Any]) -> None:
    assert computable(dtype.newbyteorder("S"), "test") == dtype


@pytest.mark.parametrize(
    "dtype", ["clongdouble", "O", "U3", "S3", "datetime64[s]", "timedelta64[s]", "longdouble", "V4"]
)
def test_other_dtypes_are_refused_by_name(dtype: str) -> None:
    with pytest.raises(DtypeError, match="test: bool, an integer, float16 to float64, complex64 or complex128; got"):
        computable(dtype, "test")


def test_an_unknown_dtype_is_refused() -> None:
    with pytest.raises(DtypeError, match="test: a dtype that NumPy knows; got 'float31'"):
        computable("float31", "test")


@pytest.mark.parametrize("dtype", [dtype for dtype in COMPUTABLE if dtype.kind in "iu"], ids=str)
def test_the_extreme_integers_have_literals(dtype: np.dtype[Any]) -> None:
    info = np.iinfo(dtype)
    for value in (info.min, info.max):
        assert eval(literal(str(value), dtype).replace("UL", "")) == value  # noqa: S307 - C's arithmetic is Python's here


def test_a_float_literal_is_a_floating_number_of_its_width() -> None:
    assert literal("1.0", np.dtype("float32")) == "(1.0f)"
    assert literal("1e+30", np.dtype("float64")) == "(1e+30)"
    assert "0.0f / 0.0f" in literal("nan", np.dtype("float32"))
    assert "-1.0" in literal("-inf", np.dtype("float64"))


def test_float16_is_computed_in_float_registers() -> None:
    assert c_type(np.dtype("float16")) == c_type(np.dtype("float32"))


# Random expressions


LEAVES = st.sampled_from(["x", "y", "2", "3", "0.5", "7", "1j"])
UNARY = st.sampled_from(["-{}", "abs({})", "sqrt(abs({}))", "float32({})", "square({})", "int32(sign({}))"])
BINARY = st.sampled_from(
    ["({} + {})", "({} - {})", "({} * {})", "({} / {})", "maximum({}, {})", "({} < {})", "hypot({}, {})", "({} == {})"]
)


def _grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    one = st.builds(lambda form, a: form.format(a), UNARY, inner)
    two = st.builds(lambda form, a, b: form.format(a, b), BINARY, inner, inner)
    three = st.builds(lambda a, b, c: f"where({a} > 0, {b}, {c})", inner, inner, inner)
    return one | two | three


SOURCES = st.recursive(LEAVES, _grow, max_leaves=8)
SCOPE = {name: getattr(np, name) for name in ("abs", "sqrt", "square", "floor", "sign", "maximum", "hypot", "where")}
CASTS = {name: lambda value, name=name: np.asarray(value).astype(name)[()] for name in ("float32", "int32")}


@given(source=SOURCES, dtypes=st.tuples(st.sampled_from(COMPUTABLE), st.sampled_from(COMPUTABLE)))
@settings(deadline=None, max_examples=200)
def test_a_random_expression_has_numpys_dtype_and_value(source: str, dtypes: tuple[np.dtype[Any], ...]) -> None:
    scope = dict(zip("xy", (np.arange(6).astype(dtypes[0]), np.arange(6)[::-1].astype(dtypes[1])), strict=True))
    try:
        expr = parse(source)
    except ExpressionError:  # arithmetic of numbers alone that fails in Python too
        with pytest.raises((ArithmeticError, TypeError, ComplexWarning)), np.errstate(all="ignore"):
            eval(source, {**SCOPE, **CASTS}, scope)  # noqa: S307 - built of the words above
        return
    arguments = [scope[name] for name in expr.parameters]
    with np.errstate(all="ignore"):
        try:
            expected = eval(source, {**SCOPE, **CASTS}, scope)  # noqa: S307 - built of the words above
            function: TypedExpr | None = typed(expr, [argument.dtype for argument in arguments])
        # NumPy has no such function, or warns of it, or it is refused: a DtypeError is a TypeError.
        except (TypeError, OverflowError, ComplexWarning):
            return
        got = function(*arguments)[0]
    same(got, expected)


@given(source=SOURCES)
@settings(deadline=None, max_examples=100)
def test_a_random_string_parses_to_what_tracing_its_python_gives(source: str) -> None:
    try:
        parsed = parse(source)
    except ExpressionError:  # arithmetic of numbers alone that fails; shown above
        return
    if not parsed.parameters or "32(" in source:
        return

    def function(*values: Any) -> Any:
        return eval(source, SCOPE, dict(zip(parsed.parameters, values, strict=True)))  # noqa: S307 - built of the words above

    samples = (SAMPLE, OTHER)[: len(parsed.parameters)]
    with np.errstate(all="ignore"):
        try:
            expected = trace(function, len(samples))(*samples)
        except TypeError:  # NumPy has no such function, -True say
            with pytest.raises(TypeError):
                parsed(*samples)
            return
        same(expected, parsed(*samples))


@given(text=st.text(alphabet="xyz0123456789.+-*/%<>=!&|^~()[], '\"_aeijnor\n", max_size=30))
@settings(deadline=None, max_examples=300)
def test_any_text_either_parses_or_raises_an_expression_error(text: str) -> None:
    try:
        with np.errstate(all="ignore"):
            parsed = parse(text)
    except ExpressionError:
        return
    assert isinstance(parsed, Expr)
