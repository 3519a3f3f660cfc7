"""Functions of elements: a traced Python function or a parsed string, as C for kernels and as NumPy for the oracle.

The one form is :class:`Expr`, a straight line of instructions. :mod:`.trace` makes one from a Python function,
:mod:`.parse` from a string, :mod:`.typing` gives every instruction its NumPy dtype, and :mod:`.emit` writes C, in which
:mod:`.lifting` has turned constants into parameters.
"""

from gpuprims.expressions.emit import c_type, constant, converted, emit_function, literal
from gpuprims.expressions.expr import Expr, computable, part
from gpuprims.expressions.lifting import bind, lift, member
from gpuprims.expressions.parse import parse
from gpuprims.expressions.trace import trace
from gpuprims.expressions.typing import TypedExpr, typed

__all__ = [
    "Expr", "TypedExpr", "bind", "c_type", "computable", "constant", "converted", "emit_function", "expression", "lift",
    "literal", "member", "parse", "part", "trace", "typed",
]  # fmt: skip


def expression(source: object, arity: int | None = None) -> Expr:
    """Turn what a caller gave as a function into an :class:`Expr`.

    Parameters
    ----------
    source : Expr, str or callable
        An expression, a string such as ``"2*x + y"``, or a Python function of elements.
    arity : int, optional
        Number of arguments the function is called with; a function with ``*args`` needs it.

    Returns
    -------
    Expr

    Raises
    ------
    ExpressionError
        When the string leaves the whitelist or the function cannot be traced.
    """
    if isinstance(source, Expr):
        return source
    if isinstance(source, str):
        return parse(source)
    return trace(source, arity)
