"""Indices of elements as arguments of a function: its last ones, one for each axis or one in C order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gpuprims.expressions.expr import Dtype, Expr, encode_constant
from gpuprims.expressions.typing import Node, TypedExpr

INDEX = np.dtype(np.int64)


def with_last(expr: Expr, names: Sequence[str]) -> Expr:
    """Return an expression with the parameters ``names`` after all others."""
    order = [*(name for name in expr.parameters if name not in names), *names]
    places = [str(order.index(name)) for name in expr.parameters]
    code = [replace(one, value=places[int(one.value)]) if one.name == "argument" else one for one in expr.code]
    return replace(expr, parameters=tuple(order), code=tuple(code))


def along_axes(function: TypedExpr, shape: Sequence[int]) -> TypedExpr:
    """Return a function whose last argument is an index in C order, given one of the indices along each axis.

    Lengths are constants of the function, so launches pass them, and arrays of all shapes share a kernel.
    """
    first = function.arity - len(shape)
    nodes: list[Node] = []

    def add(name: str, operands: tuple[int, ...], dtype: Dtype, value: str = "") -> int:
        nodes.append(Node(name, operands, value, dtype=dtype))
        return len(nodes) - 1

    # Divisions of 64 bits take several times as long as those of 32.
    counted = np.dtype(np.uint32 if math.prod(shape) <= 2**32 else np.uint64)
    left = add("cast", (add("argument", (), INDEX, str(first)),), counted, counted.name)
    indices = [0] * len(shape)
    for axis in reversed(range(len(shape))):
        own = left
        if axis:
            length = add("constant", (), counted, encode_constant(counted.type(shape[axis])).value)
            left = add("index_quotient", (own, length), counted)
            own = add("subtract", (own, add("multiply", (left, length), counted)), counted)
        indices[axis] = add("cast", (own,), INDEX, INDEX.name)
    places: list[int] = []
    for node in function.nodes:
        if node.name == "argument" and int(node.value) >= first:
            places.append(indices[int(node.value) - first])
        else:
            places.append(add(node.name, tuple(places[k] for k in node.operands), node.dtype, node.value))
    return TypedExpr(tuple(nodes), tuple(places[k] for k in function.results), first + 1)
