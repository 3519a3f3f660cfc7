"""Work-items that a CPU's compiler joins in vectors, for functions that it leaves scalar in loops."""

from __future__ import annotations

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.layout import Layout
from gpuprims.expressions import TypedExpr
from gpuprims.expressions.functions import FLOATING

# Functions that call the compiler's library, for some dtypes at least.
_LIBRARY = {*FLOATING, "power", "remainder", "floor_divide", "fmod"} - {"fabs", "sqrt", "hypot"}
# Bytes of complex128.
_LARGE = 16


def lanes_joined(capabilities: Capabilities) -> int:
    """Return how many work-items of a group a CPU's compiler joins in a vector register (rows: cpu_chunks-lanes)."""
    warp = max(capabilities.warp, 1)
    return min(warp, capabilities.vector_lanes or warp)


def scalar_in_loops(*functions: TypedExpr) -> bool:
    """Return True for calls of library functions, which Intel's compiler vectorises in work-items alone.

    In work-items, it loads elements that lie apart one by one: other functions are quicker in loops, even those of
    float16, of 64-bit integers as floats, and of complex128 (rows: cpu_chunks-joined).
    """
    return any(node.name in _LIBRARY for function in functions for node in function.nodes)


def widens(function: TypedExpr) -> bool:
    """Return True if a function converts integers of 64 bits to floats, which loops do by halves (arithmetic.h)."""
    return any(
        node.name == "cast" and node.dtype.kind == "f" and function.nodes[node.operands[0]].dtype.name.endswith("int64")
        for node in function.nodes
    )


def large_apart(layout: Layout, inputs: int) -> bool:
    """Return True for complex128 that do not lie side by side, which load slower in vectors (cpu_chunks-apart)."""
    return any(
        form.item == _LARGE and own[-1:] not in ((), (-1,), (0,), (1,))
        for form, own in zip(layout.forms[:inputs], layout.reduced_strides[:inputs], strict=True)
    )
