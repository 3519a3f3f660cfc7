"""Turn constants of an expression into parameters, so that one kernel serves all their values.

A launch passes each constant as a 64-bit word: a double, a float in the first half of the word, or a widened integer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from gpuprims.expressions.expr import Dtype, encode_constant
from gpuprims.expressions.typing import Step, TypedExpr

# Every device takes 1 KiB of parameters; the layout needs most of it.
_MOST = 32
# Compilers write better code for these constants. With -1 as a parameter, compact by a mask took 7 % longer (H200,
# 2^27 float32, CUDA, 356 us instead of 333, 2026-11-22).
_PLAIN = (-1, 0, 1)
# Functions whose second operand stays a constant, for better code: exponents and integer divisors.
_EXPONENTS, _DIVISORS = frozenset({"power"}), frozenset({"floor_divide", "remainder", "left_shift", "right_shift"})


@lru_cache(maxsize=1024)
def lift(*functions: TypedExpr | None) -> tuple[tuple[TypedExpr | None, ...], tuple[Dtype, ...], np.ndarray]:
    """Turn the constants of several functions into parameters, numbered across all functions.

    A step ``parameter`` replaces each constant; its value is the parameter's number. Exponents, integer divisors, -1,
    0, 1, bools and complex numbers stay. If there are too many constants, all stay. Return the functions, and the
    dtypes and 64-bit words of the parameters.
    """
    found = [_liftable(function.steps) if function else [] for function in functions]
    if not 0 < sum(map(len, found)) <= _MOST:
        return functions, (), np.zeros(0, np.int64)
    constants: list[Step] = []
    lifted: list[TypedExpr | None] = []
    for function, places in zip(functions, found, strict=True):
        if function and places:
            steps = list(function.steps)
            for k in places:
                constants.append(steps[k])
                steps[k] = replace(steps[k], name="parameter", value=str(len(constants) - 1))
            function = replace(function, steps=tuple(steps))
        lifted.append(function)
    words = np.zeros(len(constants), np.int64)
    for number, step in enumerate(constants):
        words[number : number + 1].view(_held(step.dtype))[0] = step.scalar
    words.flags.writeable = False  # the cache keeps it
    return tuple(lifted), tuple(step.dtype for step in constants), words


def bind(function: TypedExpr, words: np.ndarray) -> TypedExpr:
    """Turn parameters back into constants, with values from words: the inverse of :func:`lift`."""

    def bound(step: Step) -> Step:
        if step.name != "parameter":
            return step
        number = int(step.value)
        scalar = words[number : number + 1].view(_held(step.dtype))[0].astype(step.dtype)
        return replace(step, name="constant", value=encode_constant(scalar).value)

    return replace(function, steps=tuple(map(bound, function.steps)))


def member(number: int, dtype: Dtype) -> str:
    """Return C text of the struct members that make one word."""
    if dtype.kind == "f":
        return f"f64 c{number};" if dtype.itemsize == 8 else f"f32 c{number}; u32 after_c{number};"
    return f"{'i64' if dtype.kind == 'i' else 'u64'} c{number};"


def _liftable(steps: Sequence[Step]) -> list[int]:
    kept = set()
    for step in steps:
        integer = step.operands and steps[step.operands[-1]].dtype.kind in "iu"
        if step.name in _EXPONENTS or (step.name in _DIVISORS and integer):
            kept.add(step.operands[1])
    constants = [k for k, step in enumerate(steps) if step.name == "constant" and step.dtype.kind in "iuf"]
    return [k for k in constants if k not in kept and steps[k].scalar not in _PLAIN]


def _held(dtype: Dtype) -> str:
    """Return the dtype of a value inside its word."""
    return f"{dtype.kind}{max(dtype.itemsize, 4) if dtype.kind == 'f' else 8}"
