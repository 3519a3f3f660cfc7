"""Parse a string in Python's syntax to an :class:`Expr`.

Python never evaluates the string. Only arithmetic, comparisons, names, numbers and calls of listed functions are
accepted, so text from a file or a form is safe.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NoReturn

import numpy as np

from gpuprims.errors import ExpressionError, quoted, said, shortened
from gpuprims.expressions.expr import COMPUTABLE, MOST_BITS, Dtype, Expr
from gpuprims.expressions.functions import ALIASES, FUNCTIONS, OPERATORS
from gpuprims.expressions.hints import instead_of, other_syntax
from gpuprims.expressions.trace import Recorder, Tracer
from gpuprims.expressions.vectors import Components

# Limits of a string: characters, and depth of nested operators and calls.
MOST_CHARACTERS = 10_000
MOST_DEPTH = 500

_SYNTAX: dict[type[ast.AST], str] = {
    ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide", ast.FloorDiv: "floor_divide",
    ast.Mod: "remainder", ast.Pow: "power", ast.BitAnd: "bitwise_and", ast.BitOr: "bitwise_or",
    ast.BitXor: "bitwise_xor", ast.LShift: "left_shift", ast.RShift: "right_shift", ast.Lt: "less",
    ast.LtE: "less_equal", ast.Gt: "greater", ast.GtE: "greater_equal", ast.Eq: "equal", ast.NotEq: "not_equal",
    ast.USub: "negative", ast.UAdd: "positive", ast.Invert: "invert",
}  # fmt: skip
_CONSTANTS = {"pi": np.pi, "inf": np.inf, "nan": np.nan}
_CASTS = {dtype.name: dtype for dtype in COMPUTABLE}
_OTHER_ARITIES = {"clip": 3, **dict.fromkeys(_CASTS, 1)}
# A number of C's float, such as .299f.
_C_FLOAT = re.compile(r"(?<![\w.])(?:\d+\.\d*|\.\d+)f\b", re.IGNORECASE)
_TOO_LONG = f"a number of more than {MOST_BITS} bits"
_INSTEAD: dict[type[ast.AST], str] = {
    ast.Attribute: "an attribute access (write sqrt(x), not np.sqrt(x))",
    ast.Subscript: "an index (map has vector_axis= for strings of vectors)",
    ast.BoolOp: "'and' or 'or' (use & and |)",
    ast.Not: "'not' (use logical_not)",
    ast.IfExp: "a conditional (use where(condition, a, b))",
    ast.Lambda: "a lambda (pass the function itself, without quotes, or its expression alone)",
    ast.Starred: "a starred argument",
}


@lru_cache(maxsize=1024)
def parse(source: str) -> Expr:
    """Parse a string of names, numbers, operators, comparisons and functions of ``gpuprims.expressions.functions``.

    Names of dtypes convert (``"float32(x)"``); ``pi``, ``inf``, ``nan`` and ``1j`` are numbers; a tuple gives several
    results. Other names become parameters, in order of first appearance. Anything else raises :class:`ExpressionError`.

    Examples
    --------
    >>> parse("where(x > 0, sqrt(x), -y)").parameters
    ('x', 'y')
    """
    body = _body(source)
    return _built(source, body, _names(body))


@lru_cache(maxsize=1024)
def parse_vectors(source: str, lanes: tuple[int, ...]) -> Expr:
    """Parse a string of vectors as a function of all their components: ``p[0]``, or ``p.x``, is one of ``p``.

    ``lanes`` has the number of components of each argument, 0 for a number. Else as :func:`parse`.

    Examples
    --------
    >>> parse_vectors("p[0] + p[1] * s", (2, 0)).parameters
    ('p[0]', 'p[1]', 's')
    """
    body = _body(source)
    names = _names(body)
    if len(names) != len(lanes):
        raise ExpressionError(
            f"string expression: a name for each of {len(lanes)} arrays; got {len(names)} in {quoted(source)}"
        )
    components = Components(source.strip(), names, lanes)
    return _built(source, components.visit(body), components.names)


def _body(source: str) -> ast.expr:
    """Return the syntax tree of a string."""
    if len(source) > MOST_CHARACTERS:
        raise ExpressionError(
            f"string expression: at most {MOST_CHARACTERS:,} characters; got {len(source):,}, {quoted(source[:100])}"
        )
    try:
        return _two_results(ast.parse(source.strip(), mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ExpressionError(
            f"string expression: one expression in Python's syntax; got {quoted(source)}{_hint(source, error)}"
        ) from error


def _built(source: str, body: ast.expr, names: list[str]) -> Expr:
    """Return the instructions of a syntax tree, with these parameters."""
    builder = _Builder(source.strip(), names)
    with np.errstate(all="ignore"):  # kernels do not warn either
        if isinstance(body, ast.Tuple):
            return builder.recorder.finish(names, tuple(builder.build(item) for item in body.elts))
        return builder.recorder.finish(names, builder.build(body))


def _hint(source: str, error: BaseException) -> str:
    """Return what to write instead, or else the message of Python's parser."""
    message = getattr(error, "msg", None) or said(error)
    if found := _C_FLOAT.search(source):
        return f" (write float32({found[0][:-1]}) for {found[0]})"
    if message == "invalid decimal literal":
        return " (write products with *, such as 2*x)"
    return other_syntax(source) or f" ({shortened(message)})"


def _two_results(body: ast.expr) -> ast.expr:
    """Return ``divmod(x, y)`` as ``x // y, x % y``, and any other expression as it is."""
    match body:
        case ast.Call(func=ast.Name(id="divmod"), args=[left, right], keywords=[]):
            both = [ast.copy_location(ast.BinOp(left, sign, right), body) for sign in (ast.FloorDiv(), ast.Mod())]
            return ast.copy_location(ast.Tuple(list[ast.expr](both), ast.Load()), body)
    return body


def _clipped(node: ast.expr) -> ast.expr:
    """Return ``clip`` with a bound of None as ``maximum``, as ``minimum`` or as its first argument."""
    match node:
        case ast.Call(func=ast.Name(id="clip"), args=[value, low, high], keywords=[]):
            given = [(name, bound) for name, bound in (("maximum", low), ("minimum", high)) if not _is_none(bound)]
            if len(given) == 1:
                name, bound = given[0]
                return ast.copy_location(ast.Call(ast.Name(name), [value, bound], []), node)
            return node if given else value
    return node


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _names(body: ast.expr) -> list[str]:
    """Return the names of the arguments, in order of first appearance."""
    called = {id(node.func) for node in ast.walk(body) if isinstance(node, ast.Call)}
    found = [n for n in ast.walk(body) if isinstance(n, ast.Name) and id(n) not in called and n.id not in _CONSTANTS]
    found.sort(key=lambda node: (node.lineno, node.col_offset))
    return list(dict.fromkeys(node.id for node in found))


class _Builder:
    """Writes the instructions of one parsed string."""

    def __init__(self, source: str, names: list[str]) -> None:
        self.source = source
        self.recorder = Recorder()
        self._arguments = {name: self.recorder.argument(k) for k, name in enumerate(names)}

    def build(self, root: ast.expr) -> object:
        """Return the tracer or the number of a node, without recursion."""
        waiting: list[tuple[ast.expr | str, int]] = [(root, 0)]
        values: list[Any] = []
        while waiting:
            node, depth = waiting.pop()
            if isinstance(node, str):  # a function of the last values
                count = depth
                values[-count:] = [self._apply(node, values[-count:])]
                continue
            if depth > MOST_DEPTH:
                self._refuse(f"more than {MOST_DEPTH} levels of nested operators and calls")
            node = _clipped(node)
            match node:
                case ast.Constant(value=bool() | int() | float() | complex() as number):
                    values.append(self._bounded(number))
                case ast.Name(id=name):
                    values.append(_CONSTANTS[name] if name in _CONSTANTS else self._arguments[name])
                case _:
                    name, operands = self._function(node)
                    waiting.append((name, len(operands)))
                    waiting += [(operand, depth + 1) for operand in reversed(operands)]
        return values.pop()

    def _function(self, node: ast.expr) -> tuple[str, list[ast.expr]]:
        """Return the function that a node applies, and its operands."""
        match node:
            case ast.UnaryOp(op=unary, operand=operand) if type(unary) in _SYNTAX:
                return _SYNTAX[type(unary)], [operand]
            case ast.BinOp(op=binary, left=left, right=right) if type(binary) in _SYNTAX:
                return _SYNTAX[type(binary)], [left, right]
            case ast.Compare(ops=[compared], left=left, comparators=[right]) if type(compared) in _SYNTAX:
                return _SYNTAX[type(compared)], [left, right]
            case ast.Compare(ops=[_, _, *_]):
                self._refuse("a chained comparison (use (a < x) & (x < b))")
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
                return self._called(name, len(arguments)), arguments
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name = node.func.attr
            hint = instead_of(name, tuple(_OTHER_ARITIES)) or f" (write {name}(...) if it is on the whitelist)"
            if name in FUNCTIONS or name in ALIASES or name in _OTHER_ARITIES:
                hint = f" (write {name}(...) without a prefix)"
            self._refuse(shortened(ast.get_source_segment(self.source, node) or name) + hint)
        kind = type(node.op) if isinstance(node, ast.UnaryOp) else type(node)
        return self._refuse(_INSTEAD.get(kind) or shortened(ast.get_source_segment(self.source, node) or kind.__name__))

    def _called(self, name: str, count: int) -> str:
        canonical = ALIASES.get(name, name)
        arity = _OTHER_ARITIES.get(name) or (FUNCTIONS[canonical].arity if canonical in FUNCTIONS else None)
        if arity is None:
            hint = instead_of(name, tuple(_OTHER_ARITIES))
            self._refuse(f"a call of {shortened(name)}(), which is not on the whitelist{hint},")
        if count != arity:
            self._refuse(f"{name}() with {count} arguments instead of {arity}")
        return canonical

    def _apply(self, name: str, values: Sequence[Any]) -> object:
        """Apply a function. If all operands are numbers, Python or NumPy computes it now, as in a traced function."""
        if name in _CASTS:
            return self._cast(_CASTS[name], values[0])
        if name == "clip":
            return self._apply("minimum", [self._apply("maximum", values[:2]), values[2]])
        if any(isinstance(value, Tracer) for value in values):
            return self.recorder.apply(name, *values)
        python = name in OPERATORS and all(type(value) in (bool, int, float, complex) for value in values)
        try:
            return self._calculate(name, values) if python else FUNCTIONS[name].numpy(*values)
        except (ArithmeticError, AttributeError, TypeError, ValueError) as error:
            self._refuse(f"{name} of {shortened(', '.join(map(quoted, values)))} ({said(error)})")

    def _cast(self, dtype: Dtype, value: Any) -> object:
        if isinstance(value, Tracer):
            return value.astype(dtype)
        if np.iscomplexobj(value) and dtype.kind not in "bc":
            self._refuse(f"{dtype}({quoted(value)}), which would lose the imaginary part (use real(x)),")
        try:
            return dtype.type(value)
        except (ArithmeticError, TypeError, ValueError) as error:
            self._refuse(f"{dtype} of {quoted(value)} ({said(error)})")

    def _calculate(self, name: str, values: Sequence[Any]) -> object:
        """Apply a Python operator to numbers; refuse results of too many bits."""
        if name in ("power", "left_shift") and all(isinstance(value, int) for value in values):
            base, exponent = values
            bits = exponent if name == "left_shift" else exponent * max(abs(base).bit_length() - 1, 0)
            if bits > MOST_BITS:
                self._refuse(_TOO_LONG)
        if name == "invert":  # Python warns of ~True
            values = [values[0] + 0]
        return self._bounded(getattr(operator, f"__{OPERATORS[name]}__")(*values))

    def _bounded(self, number: object) -> object:
        if isinstance(number, int) and number.bit_length() > MOST_BITS:
            self._refuse(_TOO_LONG)
        return number

    def _refuse(self, what: str) -> NoReturn:
        raise ExpressionError(
            f"string expression: arithmetic, comparisons and listed functions; got {what} in {quoted(self.source)}"
        )
