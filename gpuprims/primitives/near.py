"""Calls that one thread of a CPU runs sooner than several."""

from __future__ import annotations

from gpuprims.expressions import TypedExpr
from gpuprims.primitives.joined import scalar_in_loops

# Bytes that a call reads and writes; they may lie in the cache of the calling thread, and another would first begin and
# then fetch its share from there (backends/opencl/measurements.md: near-bytes).
_NEAR_BYTES = 3 << 18


def groups_near(groups: int, nbytes: int, *functions: TypedExpr) -> int:
    """Return ``groups``, or one, which the calling thread runs itself, for a call of few bytes and quick functions."""
    return 1 if nbytes <= _NEAR_BYTES and not scalar_in_loops(*functions) else groups
