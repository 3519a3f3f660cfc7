"""Work-items that a CPU's compiler joins in vectors, for functions that it leaves scalar in loops."""

from __future__ import annotations

import numpy as np

from gpuprims.expressions import TypedExpr
from gpuprims.expressions.functions import FLOATING

# Functions that call the compiler's library, for some dtypes at least.
_LIBRARY = {*FLOATING, "power", "remainder", "floor_divide", "absolute", "fmod"} - {"sqrt", "hypot"}
_EXTREMES = {"maximum", "minimum"}


def scalar_in_loops(*functions: TypedExpr) -> bool:
    """Return True for functions that Intel's compiler vectorises in work-items alone (rows: cpu_chunks-joined).

    These are calls of library functions, float16, complex128, 64-bit integers as floats, and the larger of two 64-bit
    numbers.
    """
    return any(_is_scalar(function, k) for function in functions for k in range(len(function.nodes)))


def _is_scalar(function: TypedExpr, k: int) -> bool:
    node = function.nodes[k]
    if node.name == "absolute" and function.nodes[node.operands[0]].dtype == np.complex64:
        return False  # it is hypot, made of the compiler's square root (backends/opencl/measurements.md: roots)
    if node.name in _LIBRARY or node.dtype in (np.float16, np.complex128):
        return True
    if node.name == "cast" and node.dtype.kind == "f":
        source = function.nodes[node.operands[0]]
        return source.name != "constant" and source.dtype.kind in "iu" and source.dtype.itemsize == 8
    return node.name in _EXTREMES and node.dtype.itemsize == 8
