"""Derivatives of functions of elements, in reverse: from gradients of the results to gradients of the arguments."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from gpuprims.errors import ExpressionError
from gpuprims.expressions.expr import Expr, evaluate
from gpuprims.expressions.functions import SELECTIONS
from gpuprims.expressions.trace import trace

# From the result and the operands of a function to its derivative by each operand.
Partials = Callable[..., tuple[Any, ...]]

_LN2, _LN10 = math.log(2), math.log(10)


_SMOOTH: Mapping[str, Partials] = {
    "add": lambda r, x, y: (1, 1),
    "subtract": lambda r, x, y: (1, -1),
    "multiply": lambda r, x, y: (y, x),
    "divide": lambda r, x, y: (1 / y, -r / y),
    "remainder": lambda r, x, y: (1, -np.floor_divide(x, y)),
    "fmod": lambda r, x, y: (1, -np.trunc(x / y)),
    "power": lambda r, x, y: (
        y * np.power(x, y - 1), np.where(x > 0, r * np.log(np.where(x > 0, x, 1)), 0),
    ),
    "square": lambda r, x: (2 * x,),
    "reciprocal": lambda r, x: (-r * r,),
    "negative": lambda r, x: (-1,),
    "positive": lambda r, x: (1,),
    "conjugate": lambda r, x: (1,),
    "real": lambda r, x: (1,),
    "absolute": lambda r, x: (np.sign(x),),
    "fabs": lambda r, x: (np.sign(x),),
    "copysign": lambda r, x, y: (np.copysign(1, y) * np.sign(x), 0),
    "hypot": lambda r, x, y: (x / r, y / r),
    "arctan2": lambda r, x, y: (y / (x * x + y * y), -x / (x * x + y * y)),
    "sqrt": lambda r, x: (0.5 / r,),
    "cbrt": lambda r, x: (r / (3 * x),),
    "exp": lambda r, x: (r,),
    "exp2": lambda r, x: (_LN2 * r,),
    "expm1": lambda r, x: (r + 1,),
    "log": lambda r, x: (1 / x,),
    "log2": lambda r, x: (1 / (_LN2 * x),),
    "log10": lambda r, x: (1 / (_LN10 * x),),
    "log1p": lambda r, x: (1 / (1 + x),),
    "sin": lambda r, x: (np.cos(x),),
    "cos": lambda r, x: (-np.sin(x),),
    "tan": lambda r, x: (1 + r * r,),
    "arcsin": lambda r, x: (1 / np.sqrt(1 - x * x),),
    "arccos": lambda r, x: (-1 / np.sqrt(1 - x * x),),
    "arctan": lambda r, x: (1 / (1 + x * x),),
    "sinh": lambda r, x: (np.cosh(x),),
    "cosh": lambda r, x: (np.sinh(x),),
    "tanh": lambda r, x: (1 - r * r,),
    "arcsinh": lambda r, x: (1 / np.sqrt(x * x + 1),),
    "arccosh": lambda r, x: (1 / np.sqrt(x * x - 1),),
    "arctanh": lambda r, x: (1 / (1 - x * x),),
    "cast": lambda r, x: (1,),
}  # fmt: skip
# Functions whose results are steps: truths, whole numbers and bits.
_STEPS = frozenset({
    "argument", "constant", "less", "less_equal", "greater", "greater_equal", "equal", "not_equal", "logical_and",
    "logical_or", "logical_xor", "logical_not", "isnan", "isinf", "isfinite", "signbit", "sign", "floor", "ceil",
    "trunc", "rint", "floor_divide", "bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift", "right_shift",
    "imag",
})  # fmt: skip


@lru_cache(maxsize=1024)
def vjp(expr: Expr) -> Expr:
    """Return the function from the arguments of a function, then a gradient of each result, to :func:`gradients`."""
    taken = len(expr.parameters)
    return trace(lambda *given: gradients(expr, given[:taken], given[taken:]), taken + len(expr.results))


@lru_cache(maxsize=1024)
def jacobian(expr: Expr) -> Expr:
    """Return the function to the derivatives of the first result by each argument, then of the second, and so on."""
    one = range(len(expr.results))

    def rows(*given: Any) -> tuple[Any, ...]:
        units = [[1 if k == row else None for k in one] for row in one]
        return tuple(part for unit in units for part in gradients(expr, given, unit))

    return trace(rows, len(expr.parameters))


def gradients(expr: Expr, arguments: Sequence[Any], above: Sequence[Any]) -> tuple[Any, ...]:
    """Return the gradient of each argument, given one of each result, or None for results without.

    Steps, such as comparisons and ``floor``, have a derivative of 0. Arguments that nothing depends on have 0.

    Raises
    ------
    ExpressionError
        A function in it has no derivative here.
    """
    values = evaluate(expr.code, range(len(expr.code)), arguments)
    adjoint: list[Any] = [None] * len(expr.code)
    for k, gradient in zip(expr.results, above, strict=True):
        if gradient is not None:
            adjoint[k] = gradient if adjoint[k] is None else adjoint[k] + gradient
    for k in reversed(range(len(expr.code))):
        if adjoint[k] is not None:
            _pass_on(expr, k, values, adjoint)
    found: list[Any] = [0] * len(arguments)
    for k, instruction in enumerate(expr.code):
        if instruction.name == "argument" and adjoint[k] is not None:
            found[int(instruction.value)] = adjoint[k]
    return tuple(found)


def _pass_on(expr: Expr, k: int, values: tuple[Any, ...], adjoint: list[Any]) -> None:
    """Add the gradient of an instruction's result, times its derivatives, to the gradients of its operands."""
    name, operands = expr.code[k].name, expr.code[k].operands
    if name in _STEPS:
        return
    above = adjoint[k]
    if name == "where" or name in SELECTIONS:
        chosen = values[operands[0]]
        chosen, *before = (chosen, None) if name == "where" else (values[k] == chosen,)  # of equal ones the first
        parts: list[Any] = [*before, np.where(chosen, above, 0), np.where(chosen, 0, above)]
    elif name in _SMOOTH:
        partials = _SMOOTH[name](values[k], *(values[one] for one in operands))
        parts = [_times(above, partial) for partial in partials]
    else:
        raise ExpressionError(f"derivative: functions with one here; got {name} (write it as others)")
    for operand, part in zip(operands, parts, strict=True):
        if part is not None and expr.code[operand].name != "constant":
            adjoint[operand] = part if adjoint[operand] is None else adjoint[operand] + part


def _times(above: Any, partial: Any) -> Any:
    """Return a product, None for one by a constant 0."""
    if type(partial) is not int or abs(partial) > 1:
        return above * partial
    return (above if partial > 0 else -above) if partial else None
