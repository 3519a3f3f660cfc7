"""Turn constants of an expression into parameters, so that one kernel serves all their values.

A launch passes each constant as a 64-bit word: a double, a float in the first half of the word, or a widened integer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from gpuprims.expressions.expr import Dtype, encode_constant
from gpuprims.expressions.typing import Node, TypedExpr

# Every device takes 1 KiB of parameters; the layout needs most of it.
_MOST = 32
# Compilers write better code for these constants. With -1 as a parameter, compact by a mask took 7 % longer (H200,
# 2^27 float32, CUDA, 356 us instead of 333, 2026-11-22).
_PLAIN = (-1, 0, 1)
# Functions whose second operand stays a constant, for better code: exponents and integer divisors.
_EXPONENTS, _DIVISORS = (
    frozenset({"power"}),
    frozenset({"floor_divide", "remainder", "fmod", "left_shift", "right_shift"}),
)


@lru_cache(maxsize=1024)
def lift(*functions: TypedExpr | None) -> tuple[tuple[TypedExpr | None, ...], tuple[Dtype, ...], np.ndarray]:
    """Turn the constants of several functions into parameters, numbered across all functions.

    A node ``parameter`` replaces each constant; its value is the parameter's number. Exponents, integer divisors, -1,
    0, 1, bools and complex numbers stay. If there are too many constants, all stay. Return the functions, and the
    dtypes and 64-bit words of the parameters.
    """
    found = [_liftable(function.nodes) if function else [] for function in functions]
    if not 0 < sum(map(len, found)) <= _MOST:
        return functions, (), np.zeros(0, np.int64)
    constants: list[Node] = []
    lifted: list[TypedExpr | None] = []
    for function, places in zip(functions, found, strict=True):
        if function and places:
            nodes = list(function.nodes)
            for k in places:
                constants.append(nodes[k])
                nodes[k] = replace(nodes[k], name="parameter", value=str(len(constants) - 1))
            function = replace(function, nodes=tuple(nodes))
        lifted.append(function)
    words = np.zeros(len(constants), np.int64)
    for number, node in enumerate(constants):
        words[number : number + 1].view(_held(node.dtype))[0] = node.scalar
    words.flags.writeable = False  # the cache keeps it
    return tuple(lifted), tuple(node.dtype for node in constants), words


def bind(function: TypedExpr, words: np.ndarray) -> TypedExpr:
    """Turn parameters back into constants, with values from words: the inverse of :func:`lift`."""

    def bound(node: Node) -> Node:
        if node.name != "parameter":
            return node
        number = int(node.value)
        scalar = words[number : number + 1].view(_held(node.dtype))[0].astype(node.dtype)
        return replace(node, name="constant", value=encode_constant(scalar).value)

    return replace(function, nodes=tuple(map(bound, function.nodes)))


def member(number: int, dtype: Dtype) -> str:
    """Return C text of the struct members that make one word."""
    if dtype.kind == "f":
        return f"f64 c{number};" if dtype.itemsize == 8 else f"f32 c{number}; u32 after_c{number};"
    return f"{'i64' if dtype.kind == 'i' else 'u64'} c{number};"


def _liftable(nodes: Sequence[Node]) -> list[int]:
    kept = set()
    for node in nodes:
        integer = node.operands and nodes[node.operands[-1]].dtype.kind in "iu"
        if node.name in _EXPONENTS or (node.name in _DIVISORS and integer):
            kept.add(node.operands[1])
    constants = [k for k, node in enumerate(nodes) if node.name == "constant" and node.dtype.kind in "iuf"]
    return [k for k in constants if k not in kept and nodes[k].scalar not in _PLAIN]


def _held(dtype: Dtype) -> str:
    """Return the dtype of a value inside its word."""
    return f"{dtype.kind}{max(dtype.itemsize, 4) if dtype.kind == 'f' else 8}"
