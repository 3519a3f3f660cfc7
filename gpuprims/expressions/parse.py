"""From a string in Python's syntax to an :class:`Expr`, through a whitelist.

The string is parsed, never evaluated: nothing but arithmetic, comparisons, names, numbers and calls of listed functions
gets past, so text from a file or a form is safe to pass on.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from gpuprims.errors import ExpressionError
from gpuprims.expressions.expr import COMPUTABLE, Expr, Instruction
from gpuprims.expressions.functions import ALIASES, FUNCTIONS
from gpuprims.expressions.trace import Recorder, Tracer

# Of each operator, the function that it is of elements, and what it does to Python's numbers.
_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide", ast.FloorDiv: "floor_divide",
    ast.Mod: "remainder", ast.Pow: "power", ast.BitAnd: "bitwise_and", ast.BitOr: "bitwise_or",
    ast.BitXor: "bitwise_xor", ast.LShift: "left_shift", ast.RShift: "right_shift",
}  # fmt: skip
_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Lt: "less", ast.LtE: "less_equal", ast.Gt: "greater", ast.GtE: "greater_equal", ast.Eq: "equal",
    ast.NotEq: "not_equal",
}  # fmt: skip
_UNARY: dict[type[ast.unaryop], str] = {ast.USub: "negative", ast.UAdd: "positive", ast.Invert: "invert"}
_PYTHON: dict[str, Callable[..., Any]] = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "divide": operator.truediv,
    "floor_divide": operator.floordiv, "remainder": operator.mod, "power": operator.pow, "bitwise_and": operator.and_,
    "bitwise_or": operator.or_, "bitwise_xor": operator.xor, "left_shift": operator.lshift,
    "right_shift": operator.rshift, "less": operator.lt, "less_equal": operator.le, "greater": operator.gt,
    "greater_equal": operator.ge, "equal": operator.eq, "not_equal": operator.ne, "negative": operator.neg,
    "positive": operator.pos, "invert": operator.invert,
}  # fmt: skip
# Largest number that constants in a string may make: float64 holds nothing larger.
_MOST_BITS = 1024
_CONSTANTS = {"pi": np.pi, "inf": np.inf, "nan": np.nan}
_CASTS = {dtype.name: dtype for dtype in COMPUTABLE}
_INSTEAD: dict[type[ast.AST], str] = {
    ast.Attribute: "an attribute access (write sqrt(x), not np.sqrt(x))",
    ast.Subscript: "an index",
    ast.BoolOp: "'and' or 'or' (use & and |)",
    ast.Not: "'not' (use logical_not)",
    ast.IfExp: "a conditional (use where(condition, a, b))",
    ast.Lambda: "a lambda",
    ast.Starred: "a starred argument",
}


@lru_cache(maxsize=1024)
def parse(source: str) -> Expr:
    """Parse a string expression.

    Parameters
    ----------
    source : str
        Python syntax over names, numbers, operators, comparisons and the functions of
        ``gpuprims.expressions.functions``; dtype names convert (``"float32(x)"``), ``pi``, ``inf``, ``nan`` and ``1j``
        are numbers, and a tuple gives several results. Names become parameters in order of first appearance.

    Returns
    -------
    Expr

    Raises
    ------
    ExpressionError
        Naming what is not on the whitelist.

    Examples
    --------
    >>> parse("where(x > 0, sqrt(x), -y)").parameters
    ('x', 'y')
    """
    try:
        body = ast.parse(source.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ExpressionError(
            f"string expression: one expression in Python's syntax; got {source!r} ({error})"
        ) from error
    names = _names(body)
    builder = _Builder(source, names)
    if isinstance(body, ast.Tuple):
        return builder.recorder.finish(names, tuple(builder.visit(item) for item in body.elts))
    return builder.recorder.finish(names, builder.visit(body))


def _names(body: ast.expr) -> list[str]:
    """Names that stand for arguments, in the order in which a reader meets them."""
    called = {id(node.func) for node in ast.walk(body) if isinstance(node, ast.Call)}
    found = [n for n in ast.walk(body) if isinstance(n, ast.Name) and id(n) not in called and n.id not in _CONSTANTS]
    found.sort(key=lambda node: (node.lineno, node.col_offset))
    return list(dict.fromkeys(node.id for node in found))


class _Builder:
    """Writes the instructions of one parsed string."""

    def __init__(self, source: str, names: list[str]) -> None:
        self.source = source
        self.recorder = Recorder()
        self._arguments = {n: self.recorder.add(Instruction("argument", value=str(k))) for k, n in enumerate(names)}

    def visit(self, node: ast.expr) -> object:
        """Return the tracer, or the Python scalar, that a node stands for."""
        match node:
            case ast.Constant(value=bool() | int() | float() | complex() as value):
                return value
            case ast.Name(id=name):
                return _CONSTANTS[name] if name in _CONSTANTS else self._arguments[name]
            case ast.UnaryOp(op=op, operand=operand) if type(op) in _UNARY:
                return self._apply(_UNARY[type(op)], operand)
            case ast.BinOp(left=left, op=binary, right=right) if type(binary) in _BINARY:
                return self._apply(_BINARY[type(binary)], left, right)
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARE:
                return self._apply(_COMPARE[type(op)], left, right)
            case ast.Compare(ops=[_, _, *_]):
                return self._refuse("a chained comparison (use (a < x) & (x < b))")
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
                return self._call(name, arguments)
        kind = type(node.op) if isinstance(node, ast.UnaryOp) else type(node)
        return self._refuse(_INSTEAD.get(kind, ast.unparse(node)))

    def _call(self, name: str, arguments: list[ast.expr]) -> object:
        if name in _CASTS and len(arguments) == 1:
            return self._cast(_CASTS[name], self.visit(arguments[0]))
        if name == "clip" and len(arguments) == 3:
            low, high = (self.visit(argument) for argument in arguments[1:])
            return self._fold("minimum", self._fold("maximum", self.visit(arguments[0]), low), high)
        canonical = ALIASES.get(name, name)
        if canonical not in FUNCTIONS:
            return self._refuse(f"a call of {name}(), which is not on the whitelist")
        if len(arguments) != FUNCTIONS[canonical].arity:
            return self._refuse(f"{name}() with {len(arguments)} arguments instead of {FUNCTIONS[canonical].arity}")
        return self._apply(canonical, *arguments)

    def _cast(self, dtype: np.dtype[Any], value: Any) -> object:
        if isinstance(value, Tracer):
            return value.astype(dtype)
        if np.iscomplexobj(value) and dtype.kind not in "bc":
            return self._refuse(f"{dtype}({value!r}), which would lose the imaginary part (use real(x)),")
        return dtype.type(value)

    def _apply(self, name: str, *operands: ast.expr) -> object:
        return self._fold(name, *(self.visit(operand) for operand in operands))

    def _fold(self, name: str, *values: object) -> object:
        """Apply a function; on numbers alone NumPy computes it now, as Python does inside a traced function."""
        if any(isinstance(value, Tracer) for value in values):
            return self.recorder.apply(name, *values)
        python = name in _PYTHON and all(type(value) in (bool, int, float, complex) for value in values)
        try:
            return self._calculate(name, values) if python else FUNCTIONS[name].numpy(*values)
        except (ArithmeticError, TypeError, ValueError) as error:
            return self._refuse(f"{name} of {', '.join(map(repr, values))} ({error})")

    def _calculate(self, name: str, values: Sequence[Any]) -> object:
        """Apply a Python operator to numbers, which are kept from growing without bound."""
        if name in ("power", "left_shift") and all(isinstance(value, int) for value in values):
            base, exponent = values
            bits = exponent if name == "left_shift" else exponent * max(abs(base).bit_length() - 1, 0)
            if bits > _MOST_BITS:
                return self._refuse(f"a number of more than {_MOST_BITS} bits")
        return _PYTHON[name](*values)

    def _refuse(self, what: str) -> Tracer:
        raise ExpressionError(
            f"string expression: arithmetic, comparisons and listed functions; got {what} in {self.source!r}"
        )
