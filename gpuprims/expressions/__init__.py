"""Functions of elements, from Python functions or strings, as C for kernels and as NumPy for the reference backend.

:mod:`.trace` makes an :class:`Expr`, a list of instructions, from a Python function, and :mod:`.parse` from a string.
:mod:`.typing` finds the dtype of every instruction, and :mod:`.indices` adds indices of elements. :mod:`.lifting` turns
constants into parameters, :mod:`.emit` writes C, and :mod:`.same_bits` puts in functions with the same bits everywhere.
"""

from types import FunctionType
from typing import Any

from gpuprims.expressions.emit import c_type, constant, converted, emit_function
from gpuprims.expressions.expr import Expr, computable, part
from gpuprims.expressions.indices import INDEX, along_axes, with_last
from gpuprims.expressions.lifting import bind, lift, member
from gpuprims.expressions.parse import parse, parse_vectors
from gpuprims.expressions.same_bits import as_portable, in_vectors
from gpuprims.expressions.trace import trace
from gpuprims.expressions.typing import TypedExpr, typed

__all__ = [
    "INDEX", "Expr", "TypedExpr", "along_axes", "as_portable", "bind", "c_type", "computable", "constant", "converted",
    "emit_function", "expression", "in_vectors", "lift", "member", "parse", "parse_vectors", "part", "trace", "typed",
    "with_last",
]  # fmt: skip


_AGAIN: Any = vars(trace)["again"]  # takes less time


def expression(source: object, arity: int | None = None) -> Expr:
    """Return an expression, a string such as ``"2*x + y"`` or a Python function of ``arity`` elements as an Expr."""
    if type(source) is FunctionType:  # first, because it takes the longest
        found: Expr = _AGAIN(source, arity) or trace(source, arity)
        return found
    if isinstance(source, Expr):
        return source
    return parse(source) if isinstance(source, str) else trace(source, arity)
