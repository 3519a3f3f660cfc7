"""What to write instead of functions and operators that expressions do not have, for messages."""

from __future__ import annotations

import re

from gpuprims.errors import did_you_mean
from gpuprims.expressions.functions import ALIASES, FUNCTIONS

_SIGMOID = "1 / (1 + exp(-x))"
# Names that other languages and libraries have, and what to write here.
_INSTEAD = {
    "sigmoid": _SIGMOID, "expit": _SIGMOID, "logistic": _SIGMOID, "logit": "log(x / (1 - x))", "relu": "maximum(x, 0)",
    "softplus": "log1p(exp(x))", "silu": "x / (1 + exp(-x))", "max": "maximum", "min": "minimum", "ln": "log",
    "lg": "log10", "round": "rint", "around": "rint", "sgn": "sign", "clamp": "clip", "pow2": "square",
    "rsqrt": "x**-0.5", "arctg": "arctan", "ctan": "1 / tan(x)", "cot": "1 / tan(x)", "step": "float64(x > 0)",
    "heaviside": "float64(x > 0)", "int": "int64", "float": "float64", "double": "float64", "complex": "complex128",
    "if": "where", "iif": "where", "ifelse": "where", "select": "where", "not": "logical_not",
    "degrees": "x * 180 / pi", "radians": "x * pi / 180", "deg2rad": "x * pi / 180", "rad2deg": "x * 180 / pi",
    "divmod": "x // y, x % y",
}  # fmt: skip
_CALL = re.compile(r"(\b[a-z]\w*(?:$|(?=\()))")  # a name alone, and names of functions
# Functions of whole arrays.
_FOLDS = {
    "sum": "sum", "mean": "mean", "average": "mean", "prod": "prod", "std": "std", "var": "var", "argmax": "argmax",
    "argmin": "argmin", "any": "any", "all": "all", "norm": "norm", "amax": "max", "amin": "min",
}  # fmt: skip
# What other languages write, and Python's syntax; the first that a string contains is meant.
_SYNTAX = {
    "&&": "write (x > 0) & (x < 2)",
    "||": "write (x < 0) | (x > 2)",
    "?": "write where(condition, a, b)",
    "!=": "",
    "!": "write logical_not(x), or ~x for bools",
    "==": "",
    "<=": "",
    ">=": "",
    ":=": "write the expression alone",
    "=": "write == to compare, or the expression alone, without a name for its result",
    ";": "write one expression",
    "return": "write the expression alone",
}


def instead_of(name: str, more: tuple[str, ...] = (), prefix: str = "") -> str:
    """Return the end of a message about a function that expressions do not have; an empty text if nothing is close."""
    if name in _FOLDS:
        return f' (a fold of the whole array is a call of its own: gpuprims.reduce(x, op="{_FOLDS[name]}"))'
    instead = {given: _CALL.sub(rf"{prefix}\1", meant) if prefix else meant for given, meant in _INSTEAD.items()}
    return did_you_mean(name, [prefix + one for one in (*FUNCTIONS, *ALIASES, *more)], instead)


def other_syntax(source: str) -> str:
    """Return what to write instead of another language's syntax, after the parser's message."""
    if not source.strip():
        return " (write an expression such as '2*x + 1')"
    found = next((hint for sign, hint in _SYNTAX.items() if sign in source), "")
    return f" ({found})" if found else ""


def other_dtype(name: str) -> str:
    """Return what to write instead of an operator of bits if its operands are not integers or bools."""
    if name == "bitwise_xor":
        return " (a power is x**2; bits are those of integers, such as int64(x))"
    if name in ("bitwise_and", "bitwise_or"):
        return " (put comparisons in parentheses, (x > 0) & (x < 2); bits are those of integers, such as int64(x))"
    if name in ("left_shift", "right_shift"):
        return " (multiply by 2.0**n, or convert, such as int64(x))"
    if name == "invert":
        return " (write logical_not(x), or convert, such as int64(x))"
    if name in ("subtract", "negative"):
        return " (write x != y, or convert, such as int64(x))"
    return " (convert first, such as float64(x) or real(x))"
