"""The functions that expressions may call: in NumPy and in C.

C templates have the operands ``{0}``, ``{1}``, ``{2}``, their type ``{T}`` and the unsigned type of the same width
``{U}``. A function has one template for each kind of operand, by NumPy's letters: ``b`` bool, ``i`` signed, ``u``
unsigned, ``f`` floating, ``c`` complex. Kinds without a template are refused. Signed arithmetic is computed in unsigned
types: NumPy wraps, and overflow is undefined in C. The ``.h`` files define the functions ``gp_...``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpuprims.expressions.bits import bits_of, complex_of, float_of
from gpuprims.expressions.portable import DEFINITIONS

# NumPy's name -> Python's, for operators.
OPERATORS = {
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": "truediv", "floor_divide": "floordiv",
    "remainder": "mod", "power": "pow", "bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor",
    "left_shift": "lshift", "right_shift": "rshift", "less": "lt", "less_equal": "le", "greater": "gt",
    "greater_equal": "ge", "equal": "eq", "not_equal": "ne", "negative": "neg", "positive": "pos", "invert": "invert",
}  # fmt: skip
# Not && and ||: both sides are cheap, and branches prevent vectorization.
LOGICAL = {"logical_and": "&", "logical_or": "|"}
COMPARE = {"less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=", "equal": "==", "not_equal": "!="}
BITWISE = {"bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^"}

# NumPy's name -> C's, for functions of floating operands only; preludes define those with a type.
FLOATING = {
    "sqrt": "gp_sqrt_{T}", "cbrt": "cbrt", "exp": "exp", "exp2": "exp2", "expm1": "expm1", "log": "log", "log2": "log2",
    "log10": "log10", "log1p": "log1p", "sin": "sin", "cos": "cos", "tan": "tan", "arcsin": "asin", "arccos": "acos",
    "arctan": "atan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "arcsinh": "asinh", "arccosh": "acosh",
    "arctanh": "atanh", "arctan2": "atan2", "hypot": "gp_hypot_{T}", "copysign": "copysign", "fabs": "gp_absolute_{T}",
    "rint": "rint",
}  # fmt: skip
# Likewise, with one name in both; integers and bools stay unchanged.
ROUNDING = ("floor", "ceil", "trunc")
# Functions that complex.h and complex_inverse.h define under NumPy's names.
COMPLEX = (
    "add", "subtract", "multiply", "divide", "power", "square", "reciprocal", "negative", "positive", "absolute",
    "conjugate", "sign", "rint", "sqrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan",
    "sinh", "cosh", "tanh", "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh", "maximum", "minimum", "fmax",
    "fmin", "isnan", "isinf", "isfinite", "logical_and", "logical_or", "logical_xor", "logical_not", *COMPARE,
)  # fmt: skip


@dataclass(frozen=True)
class Function:
    """A function of elements: ``numpy`` computes it on arrays, ``templates`` holds its C for each kind."""

    numpy: Callable[..., Any]
    arity: int
    templates: Mapping[str, str]


def _arithmetic() -> dict[str, dict[str, str]]:
    wrap = {op: f"({{T}})(({{U}}){{0}} {op} ({{U}}){{1}})" for op in "+-*"}
    return {
        "add": {"f": "{0} + {1}", "i": wrap["+"], "u": wrap["+"], "b": "{0} | {1}"},
        "subtract": {"f": "{0} - {1}", "i": wrap["-"], "u": wrap["-"]},
        "multiply": {"f": "gp_times_{T}({0}, {1})", "i": wrap["*"], "u": wrap["*"], "b": "{0} & {1}"},
        "divide": {"f": "{0} / {1}"},
        "floor_divide": {
            "f": "gp_floor_divide_{T}({0}, {1})",
            "i": "({T})gp_floor_divide_i64({0}, {1})",
            "u": "({T})({1} ? {0} / {1} : 0)",
        },
        "remainder": {
            "f": "gp_remainder_{T}({0}, {1})",
            "i": "({T})gp_remainder_i64({0}, {1})",
            "u": "({T})({1} ? {0} % {1} : 0)",
        },
        "fmod": {
            "f": "fmod({0}, {1})",
            "i": "({T})gp_fmod_i64({0}, {1})",
            "u": "({T})({1} ? {0} % {1} : 0)",
        },
        "power": {"f": "pow({0}, {1})", "i": "({T})gp_power({0}, {1})", "u": "({T})gp_power({0}, {1})"},
        "square": {"f": "gp_times_{T}({0}, {0})", "i": "({T})(({U}){0} * ({U}){0})", "u": "({T})(({U}){0} * ({U}){0})"},
        "reciprocal": {"f": "1 / {0}", "i": "({T})gp_reciprocal_i64({0}, sizeof({T}))", "u": "({T})({0} == 1)"},
        "negative": {"f": "-{0}", "i": "({T})(({U})0 - ({U}){0})", "u": "({T})(({U})0 - ({U}){0})"},
        "positive": dict.fromkeys("fiu", "{0}"),
        "conjugate": dict.fromkeys("fiu", "{0}"),
        "absolute": {
            "f": "gp_absolute_{T}({0})",
            "i": "{0} < 0 ? ({T})(({U})0 - ({U}){0}) : {0}",
            "u": "{0}",
            "b": "{0}",
        },
        "sign": {
            "f": "{0} != {0} ? {0} : ({T})(({0} > 0) - ({0} < 0))",
            "i": "({T})(({0} > 0) - ({0} < 0))",
            "u": "({T})({0} > 0)",
        },
    }


# Functions that return one of their operands, which needs no rounding.
SELECTIONS = ("maximum", "minimum", "fmax", "fmin")


def _selection() -> dict[str, dict[str, str]]:
    # NaN propagates: the first test keeps a NaN in {0}; with a NaN in {1} the comparison is false.
    larger = {"f": "(({0} != {0}) | ({0} > {1})) ? {0} : {1}", "b": "{0} | {1}"}
    smaller = {"f": "(({0} != {0}) | ({0} < {1})) ? {0} : {1}", "b": "{0} & {1}"}
    larger |= dict.fromkeys("iu", "{0} > {1} ? {0} : {1}")
    smaller |= dict.fromkeys("iu", "{0} < {1} ? {0} : {1}")
    return {
        "maximum": larger,
        "minimum": smaller,
        "fmax": larger | {"f": "fmax({0}, {1})"},
        "fmin": smaller | {"f": "fmin({0}, {1})"},
    }


def _predicates() -> dict[str, dict[str, str]]:
    every = "biuf"
    table = {name: dict.fromkeys(every, f"{{0}} {op} {{1}}") for name, op in COMPARE.items()}
    table |= {name: dict.fromkeys(every, f"({{0}} != 0) {op} ({{1}} != 0)") for name, op in LOGICAL.items()}
    table["logical_xor"] = dict.fromkeys(every, "({0} != 0) != ({1} != 0)")
    table["logical_not"] = dict.fromkeys(every, "{0} == 0")
    exact = dict.fromkeys("biu", "0")
    table["isnan"] = {"f": "{0} != {0}"} | exact
    table["isinf"] = {"f": "fabs({0}) == gp_from_bits_f32(0x7f800000u)"} | exact
    table["isfinite"] = {"f": "fabs({0}) < gp_from_bits_f32(0x7f800000u)"} | dict.fromkeys("biu", "1")
    table["signbit"] = {"f": "copysign(({T})1, {0}) < 0"}
    return table


def _bits() -> dict[str, dict[str, str]]:
    table = {name: dict.fromkeys("biu", f"({{T}})({{0}} {op} {{1}})") for name, op in BITWISE.items()}
    table["invert"] = {"b": "{0} == 0", "i": "({T})~{0}", "u": "({T})~{0}"}
    # C leaves shifts by the width or more undefined; NumPy shifts out every bit.
    inside = "(({U}){1} < 8 * sizeof({T}))"
    left = inside + " ? ({T})(({U}){0} << ({1} & (8 * sizeof({T}) - 1))) : ({T})0"
    right = inside + " ? ({T})({0} >> ({1} & (8 * sizeof({T}) - 1))) : ({T})"
    table["left_shift"] = {"i": left, "u": left}
    table["right_shift"] = {"i": right + "({0} < 0 ? -1 : 0)", "u": right + "0"}
    return table


def _ufuncs() -> dict[str, Function]:
    templates = _arithmetic() | _selection() | _predicates() | _bits()
    operands = {1: "{0}", 2: "{0}, {1}"}
    for name, c_name in FLOATING.items():
        templates[name] = {"f": f"{c_name}({operands[getattr(np, name).nin]})"}
    for name in ROUNDING:
        templates[name] = {"f": f"{name}({{0}})"} | dict.fromkeys("biu", "{0}")
    for name in COMPLEX:
        templates[name]["c"] = f"gp_{name}_{{T}}({operands[getattr(np, name).nin]})"
    return {name: Function(getattr(np, name), getattr(np, name).nin, spelled) for name, spelled in templates.items()}


UFUNCS: Mapping[str, Function] = _ufuncs()
WHERE = Function(np.where, 3, dict.fromkeys("biuf", "{0} ? {1} : {2}") | {"c": "gp_where_{T}({0}, {1}, {2})"})
# NumPy's functions of arrays. The imaginary part of a real number is 0.
PARTS: Mapping[str, Function] = {
    "real": Function(np.real, 1, dict.fromkeys("biuf", "{0}") | {"c": "{0}.re"}),
    "imag": Function(np.imag, 1, dict.fromkeys("biuf", "0") | {"c": "{0}.im"}),
    # No templates: it becomes arctan2 of the parts.
    "angle": Function(np.angle, 1, {}),
}
FUNCTIONS: Mapping[str, Function] = {**UFUNCS, "where": WHERE, **PARTS}
# Before the names of functions with the same bits on each device.
PORTABLE = "portable_"


def _portable() -> dict[str, Function]:
    operands = {1: "{0}", 2: "{0}, {1}"}
    return {
        PORTABLE + name: Function(one, one.arity, {"f": f"gp_{PORTABLE}{name}_{{T}}({operands[one.arity]})"})
        for name, one in DEFINITIONS.items()
    }


# All functions of a typed expression: also those that callers cannot name.
COMPUTED: Mapping[str, Function] = {
    **FUNCTIONS,
    **_portable(),
    "bits_of": Function(bits_of, 1, {"f": "gp_bits_{T}({0})"}),
    "float_of": Function(float_of, 1, {"u": "gp_float_{T}({0})"}),
    "complex_of": Function(complex_of, 2, {"f": "gp_make_{C}({0}, {1})"}),
    "cube": Function(lambda x: np.power(x, 3), 1, {"f": "gp_cube_{T}({0})"}),
    # Unlike floor_divide, by a divisor that a launch passes, and not 0.
    "index_quotient": Function(np.floor_divide, 2, {"u": "{0} / {1}"}),
    "fourth": Function(lambda x: np.power(x, 4), 1, {"f": "gp_fourth_{T}({0})"}),
}

# NumPy's other names for the same functions.
ALIASES = {
    "abs": "absolute", "true_divide": "divide", "mod": "remainder", "pow": "power", "bitwise_not": "invert",
    "conj": "conjugate", "asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2",
    "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh",
}  # fmt: skip
