"""Expressions that NumPy computes with the bits of kernels."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gpuprims.expressions.functions import BITWISE, COMPARE, COMPUTED, PORTABLE
from gpuprims.expressions.portable import CHOICES
from gpuprims.expressions.typing import Node, TypedExpr

# Rounded once, as IEEE 754 says, or not at all. Minima and maxima are not here: equal zeros may differ in their signs.
_OF_FLOATS = frozenset(
    (
        *("add", "subtract", "multiply", "square", "divide", "sqrt", "negative", "positive", "absolute", "fabs"),
        "sign",
        *(PORTABLE + name for name in CHOICES),
    )
)
_OF_INTEGERS = frozenset(
    (
        *("add", "subtract", "multiply", "square", "floor_divide", "remainder", "negative", "positive", "absolute"),
        *("invert", "left_shift", "right_shift", "minimum", "maximum", "sign", *BITWISE),
    )
)
_OF_ANY = frozenset(
    ("where", "isnan", "isinf", "isfinite", "logical_and", "logical_or", "logical_xor", "logical_not", *COMPARE)
)
_COMPUTED = frozenset(("bool", "float32", "float64", *(f"{u}int{bits}" for u in ("", "u") for bits in (8, 16, 32, 64))))


def is_exact(function: TypedExpr) -> bool:
    """Return True if NumPy computes a function with the bits of kernels, but for those of NaN."""
    return all(_is_exact(node, [function.nodes[k] for k in node.operands]) for node in function.nodes)


def computes_integers(function: TypedExpr) -> bool:
    """Return True if a function computes integers and bools, and leaves other elements as they are."""
    for node in function.nodes:
        of_floats = node.name == "cast" and function.nodes[node.operands[0]].dtype.kind not in "biu"
        if node.name not in ("argument", "constant", "where") and (node.dtype.kind not in "biu" or of_floats):
            return False
    return True


def _is_exact(node: Node, operands: list[Node]) -> bool:
    if node.dtype.name not in _COMPUTED:
        return False
    if node.name in ("argument", "constant") or node.name in _OF_ANY:
        return True
    of_floats = any(one.dtype.kind == "f" for one in operands)
    if node.name == "cast":  # a float may be out of an integer's range
        return node.dtype.kind in "fb" or not of_floats
    return node.name in (_OF_FLOATS if of_floats else _OF_INTEGERS)


def prepared(function: TypedExpr) -> Callable[..., tuple[Any, ...]]:
    """Return an exact function in NumPy, for many calls: a call costs little more than NumPy's functions."""
    fixed, steps = list[Any](), list[tuple[int, Callable[..., Any], tuple[int, ...]]]()
    for place, node in enumerate(function.nodes):
        fixed.append(np.asarray(node.scalar) if node.name == "constant" else None)  # ufuncs take scalars more slowly
        if node.name == "cast":
            steps.append((place, partial(np.ndarray.astype, dtype=node.dtype), node.operands))
        elif node.name not in ("argument", "constant"):
            steps.append((place, COMPUTED[node.name].numpy, node.operands))
    results, used = function.results, {k for node in function.nodes for k in node.operands} | {*function.results}
    nodes = [(k, node) for k, node in enumerate(function.nodes) if k in used]
    arguments = [(k, int(node.value)) for k, node in nodes if node.name == "argument"]

    def compute(*arrays: Any) -> tuple[Any, ...]:
        values = fixed.copy()
        for place, number in arguments:
            values[place] = arrays[number]
        for place, apply, operands in steps:
            values[place] = apply(*[values[k] for k in operands])
        return tuple([values[k] for k in results])

    warns = any(node.dtype.kind == "f" and node.name in _OF_FLOATS for node in function.nodes)

    def quiet(*arrays: Any) -> tuple[Any, ...]:
        with np.errstate(all="ignore"):  # kernels do not warn either
            return compute(*arrays)

    return quiet if warns else compute


def prepared_alone(function: TypedExpr, arrays: int) -> Callable[..., Any]:
    """Return an exact function of one operation, whose result is no float, for many calls on a number of arrays."""
    (place,), nodes = function.results, function.nodes
    operands = [nodes[k] for k in nodes[place].operands]
    places = [int(one.value) if one.name == "argument" else -1 for one in operands]
    if nodes[place].name != "cast" and places == list(range(arrays)):
        return COMPUTED[nodes[place].name].numpy
    if nodes[place].name != "cast" and places == [0, -1] and arrays == 1:
        apply, constant = COMPUTED[nodes[place].name].numpy, np.asarray(operands[1].scalar)
        return lambda x: apply(x, constant)
    compute = prepared(function)
    return lambda *given: compute(*given)[0]
