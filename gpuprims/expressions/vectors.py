"""Strings of short vectors: ``p[0]``, or ``p.x``, is a component of the argument ``p``."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NoReturn

from gpuprims.errors import ExpressionError, quoted

# OpenCL's and CUDA's names of the first components.
_LETTERS = "xyzw"


class Components(ast.NodeTransformer):
    """Replaces each component of a vector by a name of its own, which no string can contain.

    Parameters
    ----------
    source : str
        The string, for messages.
    names : sequence of str
        The arguments.
    lanes : sequence of int
        Components of each argument; 0 for a number, which has none.
    """

    def __init__(self, source: str, names: Sequence[str], lanes: Sequence[int]) -> None:
        self._source, self._lanes = source, dict(zip(names, lanes, strict=True))
        self.names = [part for name in names for part in self._parts(name)]

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """Replace ``p[0]``; other indices than whole numbers are refused."""
        match node:
            case ast.Subscript(value=ast.Name(id=name)) if name in self._lanes:
                return self._component(name, _whole(node.slice), node)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """Replace ``p.x``."""
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=letter) if name in self._lanes:
                place = _LETTERS.find(letter) if len(letter) == 1 else -1
                return self._component(name, place if place >= 0 else None, node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.Name:
        """Refuse a whole vector."""
        if self._lanes.get(node.id):
            self._refuse(node.id, node.id)
        return node

    def visit_Call(self, node: ast.Call) -> ast.Call:
        """Visit the arguments; a function may have the name of a vector."""
        node.args = [self.visit(argument) for argument in node.args]
        return node

    def _parts(self, name: str) -> list[str]:
        count = self._lanes[name]
        return [f"{name}[{k}]" for k in range(count)] if count else [name]

    def _component(self, name: str, place: int | None, node: ast.expr) -> ast.Name:
        count = self._lanes[name]
        if place is None or not -count <= place < count:
            self._refuse(name, ast.unparse(node))
        return ast.copy_location(ast.Name(f"{name}[{place % count}]"), node)

    def _refuse(self, name: str, got: str) -> NoReturn:
        count = self._lanes[name]
        rule = f"components {name}[0] to {name}[{count - 1}]" if count else f"{name} as it is, which has no components"
        raise ExpressionError(f"string expression: {rule}; got {got} in {quoted(self._source)}")


def _whole(node: ast.expr) -> int | None:
    """Return a whole number that is written out; None for anything else."""
    sign = 1
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        sign, node = -1, node.operand
    return sign * node.value if isinstance(node, ast.Constant) and type(node.value) is int else None
