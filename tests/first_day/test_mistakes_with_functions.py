"""Mistakes of a first day: functions of elements."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from mistakes import Mistake, check
from scipy import special

import gpuprims
from gpuprims import errors

X = np.arange(6.0).reshape(2, 3)


def misspelt(x: Any) -> Any:
    return x + undefined_name  # type: ignore[name-defined]  # noqa: F821


def set_item(x: Any) -> Any:
    x[0] = 1
    return x


MISTAKES: dict[str, Mistake] = {
    "sigmoid": (
        lambda: gpuprims.map("sigmoid(x)", X), errors.ExpressionError,
        ("arithmetic, comparisons and", "a call of sigmoid(),", "did you mean '1 / (1 + exp(-x))'?), in"),
    ),
    "relu": (
        lambda: gpuprims.map("relu(x)", X), errors.ExpressionError,
        ("arithmetic, comparisons and", "a call of relu(), which", "did you mean 'maximum(x, 0)'?), in 'relu(x"),
    ),
    "misspelt sqrt": (
        lambda: gpuprims.map("sqr(x)", X), errors.ExpressionError,
        ("arithmetic, comparisons and", "a call of sqr(), which is", "did you mean 'sqrt' or 'square'?), in 'sqr(x"),
    ),
    "misspelt tanh": (
        lambda: gpuprims.map("tahn(x)", X), errors.ExpressionError,
        ("arithmetic, comparisons and", "a call of tahn(), which", "did you mean 'tan' or 'tanh'?), in 'tahn(x"),
    ),
    "max of two": (
        lambda: gpuprims.map("max(x, y)", X, X), errors.ExpressionError,
        ("arithmetic, comparisons and", "a call of max(), which is", "did you mean 'maximum'?), in 'max(x, y"),
    ),
    "ln": (
        lambda: gpuprims.map("ln(x)", X), errors.ExpressionError,
        ("arithmetic, comparisons and", "a call of ln(), which is", "did you mean 'log'?), in 'ln(x"),
    ),
    "math prefix": (
        lambda: gpuprims.map("math.sin(x)", X), errors.ExpressionError,
        ("arithmetic, comparisons and", "math.sin(x)", "write sin(...) without a prefix) in"),
    ),
    "np prefix": (
        lambda: gpuprims.map("np.sqrt(x)", X), errors.ExpressionError,
        ("arithmetic, comparisons and", "np.sqrt(x)", "write sqrt(...) without a prefix) in"),
    ),
    "caret power": (
        lambda: gpuprims.map("x^2", X), errors.DtypeError,
        ("dtypes that NumPy's function takes", "float64 and a Python int", "a power is x**2; bits are those of"),
    ),
    "caret of two floats": (
        lambda: gpuprims.map("x^y", X, X), errors.DtypeError,
        ("dtypes that NumPy's function takes", "float64 and float64", "a power is x**2; bits are those of"),
    ),
    "double ampersand": (
        lambda: gpuprims.map("x > 0 && x < 2", X), errors.ExpressionError,
        ("one expression in Python's syntax", "'x > 0 && x < 2'", "write (x > 0) & (x < 2)"),
    ),
    "double bar": (
        lambda: gpuprims.map("x < 0 || x > 2", X), errors.ExpressionError,
        ("one expression in Python's syntax", "'x < 0 || x > 2'", "write (x < 0) | (x > 2)"),
    ),
    "exclamation mark": (
        lambda: gpuprims.map("!x", X), errors.ExpressionError,
        ("one expression in Python's syntax", "'!x'", "write logical_not(x), or ~x for bools"),
    ),
    "question mark": (
        lambda: gpuprims.map("x > 0 ? x : 0", X), errors.ExpressionError,
        ("one expression in Python's syntax", "'x > 0 ? x : 0'", "write where(condition, a, b)"),
    ),
    "and": (
        lambda: gpuprims.map("x > 0 and x < 2", X), errors.ExpressionError,
        ("arithmetic, comparisons and", "'and' or 'or' (use & and"),
    ),
    "chained": (
        lambda: gpuprims.map("0 < x < 2", X), errors.ExpressionError,
        ("arithmetic, comparisons and", "a chained comparison (use", "a < x) & (x < b)"),
    ),
    "conditional": (
        lambda: gpuprims.map("x if x > 0 else 0", X), errors.ExpressionError,
        ("arithmetic, comparisons and", "a conditional (use"),
    ),
    "unbalanced": (
        lambda: gpuprims.map("(x + 1", X), errors.ExpressionError,
        ("one expression in Python's syntax", "'(x + 1' ('(' was never"),
    ),
    "empty string": (
        lambda: gpuprims.map("", X), errors.ExpressionError,
        ("one expression in Python's syntax", "''", "write an expression such as '2*x + 1'"),
    ),
    "assignment": (
        lambda: gpuprims.map("y = x + 1", X), errors.ExpressionError,
        ("one expression in Python's syntax", "'y = x + 1'", "write == to compare, or the expression"),
    ),
    "equality by one sign": (
        lambda: gpuprims.map("x = 1", X), errors.ExpressionError,
        ("one expression in Python's syntax", "'x = 1'", "write == to compare, or the expression"),
    ),
    "implicit product": (
        lambda: gpuprims.map("2x", X), errors.ExpressionError,
        ("one expression in Python's syntax", "'2x'", "write products with *, such as 2*x"),
    ),
    "lambda in a string": (
        lambda: gpuprims.map("lambda x: x + 1", X), errors.ExpressionError,
        ("arithmetic, comparisons and", "a lambda", "pass the function itself, without quotes,"),
    ),
    "undefined name": (
        lambda: gpuprims.map("a*x + b", X), errors.ArgumentError,
        ("one array for each of (a, x, b)", "1", "pass the others too, such as x=2.0"),
    ),
    "bits of floats": (
        lambda: gpuprims.map("x & 1", X), errors.DtypeError,
        ("dtypes that NumPy's function takes", "float64 and a Python int", "put comparisons in parentheses, (x > 0) &"),
    ),
    "precedence of ampersand": (
        lambda: gpuprims.map("x > 0 & x < 2", X), errors.ExpressionError,
        ("arithmetic, comparisons and", "a chained comparison (use", "a < x) & (x < b)"),
    ),
    "string without names": (
        lambda: gpuprims.map("1 + 2", X), errors.ArgumentError,
        ("one array for each parameter of the function, which has none", "1"),
    ),
    "wrong number of arguments in the string": (
        lambda: gpuprims.map("where(x > 0)", X), errors.ExpressionError,
        ("arithmetic, comparisons and", "where() with 1 arguments"),
    ),
    "an array alone": (
        lambda: gpuprims.map(X), errors.ExpressionError,
        ("a Python function or a string", "ndarray", "the function is the first argument, before"),
    ),
    "arrays swapped": (
        lambda: gpuprims.map(X, "x + 1"), errors.ExpressionError,
        ("a Python function or a string", "ndarray", "the function is the first argument, before"),
    ),
    "None as a function": (
        lambda: gpuprims.map(None, X), errors.ExpressionError,
        ("a Python function or a string", "NoneType"),
    ),
    "lambda that branches": (
        lambda: gpuprims.map(lambda x: x if x > 0 else 0, X), errors.ExpressionError,
        ("np.where(condition, a, b), (a <", "if, while, and, or, not,"),
    ),
    "lambda with and": (
        lambda: gpuprims.map(lambda x: (x > 0) and (x < 2), X), errors.ExpressionError,
        ("np.where(condition, a, b), (a <", "if, while, and, or, not,"),
    ),
    "lambda with math.sin": (
        lambda: gpuprims.map(lambda x: math.sin(x), X), errors.ExpressionError,
        ("x.astype(np.float64) or NumPy's", "float() or a function of"),
    ),
    "math.sin itself": (
        lambda: gpuprims.map(math.sin, X), errors.ExpressionError,
        ("x.astype(np.float64) or NumPy's", "float() or a function of"),
    ),
    "math.floor": (
        lambda: gpuprims.map(lambda x: math.floor(x), X), errors.ExpressionError,
        ("np.floor(x)", "math.floor(), which"),
    ),
    "python's max": (
        lambda: gpuprims.map(lambda x, y: max(x, y), X, X), errors.ExpressionError,
        ("np.where(condition, a, b), (a <", "if, while, and, or, not,"),
    ),
    "python's round": (
        lambda: gpuprims.map(lambda x: round(x), X), errors.ExpressionError,
        ("np.rint(x)", "round(), which cannot be"),
    ),
    "python's int": (
        lambda: gpuprims.map(lambda x: int(x), X), errors.ExpressionError,
        ("x.astype(np.int64)", "int(), which cannot be"),
    ),
    "python's sum": (
        lambda: gpuprims.map(lambda x: sum(x), X), errors.ExpressionError,
        ("one element at a time", "iteration or unpacking,"),
    ),
    "np.sum": (
        lambda: gpuprims.map(lambda x: np.sum(x), X), errors.ExpressionError,
        ("element-wise functions,", "np.sum, which cannot be", "a fold of the whole array is a call of its"),
    ),
    "np.mean": (
        lambda: gpuprims.map(lambda x: x - np.mean(x), X), errors.ExpressionError,
        ("element-wise functions,", "np.mean, which cannot be", "a fold of the whole array is a call of its"),
    ),
    "np.round": (
        lambda: gpuprims.map(lambda x: np.round(x), X), errors.ExpressionError,
        ("element-wise functions,", "np.round, which cannot be", "did you mean 'np.rint'?"),
    ),
    "scipy's expit": (
        lambda: gpuprims.map(lambda x: special.expit(x), X), errors.ExpressionError,
        ("the functions listed in", "np.expit, which cannot be", "did you mean '1 / (1 + np.exp(-x))'?"),
    ),
    "x.sum": (
        lambda: gpuprims.map(lambda x: x - x.sum(), X), errors.ExpressionError,
        ("operators, NumPy functions and", "the attribute .sum, which", "a fold of the whole array is a call of its"),
    ),
    "x.shape": (
        lambda: gpuprims.map(lambda x: x / x.shape[0], X), errors.ExpressionError,
        ("operators, NumPy functions and", "the attribute .shape,"),
    ),
    "index": (
        lambda: gpuprims.map(lambda x: x[0], X), errors.ExpressionError,
        ("one element at a time; pass each", "indexing with [0], which"),
    ),
    "captured array": (
        lambda: gpuprims.map(lambda x: x + X, X), errors.ExpressionError,
        ("scalars and its own arguments", "a captured array of shape", "pass it as an argument of the call"),
    ),
    "no return": (
        lambda: gpuprims.map(lambda x: None, X), errors.ExpressionError,
        ("a value", "None", "is a return missing?"),
    ),
    "string returned": (
        lambda: gpuprims.map(lambda x: "a", X), errors.ExpressionError,
        ("a bool, int, float, complex or", "str 'a'"),
    ),
    "list returned": (
        lambda: gpuprims.map(lambda x: [x, x], X), errors.ExpressionError,
        ("a value or a tuple of values", "a list", "return a tuple"),
    ),
    "format in function": (
        lambda: gpuprims.map(lambda x: f"{x}", X), errors.ExpressionError,
        ("a bool, int, float, complex or", "str '<element of a traced"),
    ),
    "name that is undefined": (
        lambda: gpuprims.map(misspelt, X), errors.ExpressionError,
        ("operators and NumPy functions of", "NameError: name"),
    ),
    "too few parameters": (
        lambda: gpuprims.map(lambda x: x, X, X), errors.ArgumentError,
        ("one array for each of (x)", "2"),
    ),
    "too many parameters": (
        lambda: gpuprims.map(lambda x, y: x + y, X), errors.ArgumentError,
        ("one array for each of (x, y)", "1", "pass the others too, such as y=2.0"),
    ),
    "no parameters": (
        lambda: gpuprims.map(lambda: 1, X), errors.ArgumentError,
        ("one array for each parameter of the function, which has none", "1"),
    ),
    "a class": (
        lambda: gpuprims.map(str, X), errors.ExpressionError,
        ("one with a signature", "<class 'str'>"),
    ),
    "dictionary lookup": (
        lambda: gpuprims.map(lambda x: {0: 1}[x], X), errors.ExpressionError,
        ("np.where(condition, a, b)", "a key of a dictionary or"),
    ),
    "assignment into element": (
        lambda: gpuprims.map(set_item, X), errors.ExpressionError,
        ("np.where(condition, a, b), and", "an assignment to an"),
    ),
    "numpy array method": (
        lambda: gpuprims.map(lambda x: x.clip(0, 1), X), errors.ExpressionError,
        ("operators, NumPy functions and", "the attribute .clip,", "write np.clip(x, low, high)"),
    ),
    "loop over range of element": (
        lambda: gpuprims.map(lambda x: [x for _ in range(x)], X), errors.ExpressionError,
        ("arithmetic on the element", "range() or an index,"),
    ),
    "random numbers": (
        lambda: gpuprims.map(lambda x: x + np.random.default_rng(0).random(3), X), errors.ExpressionError,
        ("scalars and its own arguments", "a captured array of shape", "pass it as an argument of the call"),
    ),
    "np.where of one": (
        lambda: gpuprims.map(lambda x: np.where(x > 0), X), errors.ExpressionError,
        ("element-wise functions,", "np.where, which cannot be", "write np.where(condition, a, b)"),
    ),
    "string plus element": (
        lambda: gpuprims.map(lambda x: x + "1", X), errors.ExpressionError,
        ("a bool, int, float, complex or", "str '1'"),
    ),
    "vectorize": (
        lambda: gpuprims.map(np.vectorize(math.sin), X), errors.ExpressionError,
        ("x.astype(np.float64) or NumPy's", "float() or a function of"),
    ),
    "isinstance builtin str": (
        lambda: gpuprims.map(lambda x: float(str(x)), X), errors.ExpressionError,
        ("operators and NumPy functions of", "ValueError: could not"),
    ),
    "map expression in reduce": (
        lambda: gpuprims.reduce(X, map="sigmoid(x)"), errors.ExpressionError,
        ("arithmetic, comparisons and", "a call of sigmoid(),", "did you mean '1 / (1 + exp(-x))'?), in"),
    ),
    "map of wrong arity in reduce": (
        lambda: gpuprims.reduce(X, map="x*y"), errors.ArgumentError,
        ("one array for each of (x, y)", "1"),
    ),
    "map a number in reduce": (
        lambda: gpuprims.reduce(X, map=2), errors.ExpressionError,
        ("a Python function or a string", "int"),
    ),
    "negative power of integers": (
        lambda: gpuprims.map("x ** -1", np.arange(3)), errors.DtypeError,
        ("an unsigned or a constant", "the exponent -1", "convert the base, such as float64(x)"),
    ),
    "integer power by array": (
        lambda: gpuprims.map("x ** y", np.arange(3), np.arange(3)), errors.DtypeError,
        ("an unsigned or a constant", "one of int64", "convert the base, such as float64(x)"),
    ),
    "subtract bools": (
        lambda: gpuprims.map("x - y", X > 1, X > 2), errors.DtypeError,
        ("dtypes that NumPy's function takes", "bool and bool", "write x != y, or convert, such as int64(x)"),
    ),
    "vector index out of range": (
        lambda: gpuprims.map(lambda p: p[7], X, vector_axis=-1), errors.ExpressionError,
        ("operators and NumPy functions of", "IndexError: tuple index"),
    ),
    "vector axis too far": (
        lambda: gpuprims.map(lambda p: p[0], X, vector_axis=5), errors.AxisError,
        ("vector_axis from -2 to 1 for", "5"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_message_says_the_rule_what_was_got_and_what_to_do(name: str) -> None:
    check(MISTAKES[name])
