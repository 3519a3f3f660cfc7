"""Random expressions have NumPy's dtype and values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from expression_samples import OTHER, SAMPLE, same
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.exceptions import ComplexWarning

from gpuprims.errors import ExpressionError
from gpuprims.expressions import Expr, TypedExpr, parse, trace, typed
from gpuprims.expressions.expr import COMPUTABLE

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
@settings(max_examples=200)
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
            function: TypedExpr = typed(expr, [argument.dtype for argument in arguments])
        # NumPy has no such function, or warns of it, or it is refused: a DtypeError is a TypeError.
        except (TypeError, OverflowError, ComplexWarning):
            return
        got = function(*arguments)[0]
    same(got, expected)


@given(source=SOURCES)
@settings(max_examples=100)
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
@settings(max_examples=300)
def test_any_text_either_parses_or_raises_an_expression_error(text: str) -> None:
    try:
        with np.errstate(all="ignore"):
            parsed = parse(text)
    except ExpressionError:
        return
    assert isinstance(parsed, Expr)
