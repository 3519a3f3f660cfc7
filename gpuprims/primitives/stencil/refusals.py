"""Refusals of stencils."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.geometry import Geometry, Refusal, first_refusal
from gpuprims.core.layout import VECTOR_BYTES
from gpuprims.core.refusals import SPARE_LOCAL, group_fits
from gpuprims.core.traits import CallTraits
from gpuprims.primitives.stencil.traits import Neighbourhood, StencilTraits

# Most 32-bit numbers of a window that a work-item keeps in registers, the fewest elements of a row that it computes,
# and the most operations in all phases of a window that are worth compiling.
MOST_NUMBERS, LEAST_ITEMS, MOST_OPERATIONS = 128, 4, 8192
# Width of a tile in local memory.
TILE_WIDTH = 64
# Rows of a strip that are loaded together in advance.
ROWS_AT_ONCE = 4
# Most rows of a neighbourhood that one launch applies twice.
MOST_ROWS_TWICE = 3
# Most numbers of a window that stay in the cache of a CPU core.
CPU_NUMBERS = 24_576


def one_pass(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse stencils in two passes."""
    return "computes in one pass; this call has two" if neighbourhood_of(call).across else None


def along_lines(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse arrays whose rows are not contiguous, and weights in memory."""
    reads = neighbourhood_of(call)
    if not reads.lines:
        return "is for rows whose elements, and channels, lie side by side; this call's do not, or it has planes"
    return "writes weights out one by one; this call has too many" if reads.table else None


def few_rows(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse windows that do not fit in the cache of a CPU core."""
    numbers = neighbourhood_of(call).numbers(64)
    if numbers <= CPU_NUMBERS:
        return None
    return f"keeps up to {CPU_NUMBERS} numbers; this call's neighbourhood takes {numbers}"


def window_fits(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse neighbourhoods that do not fit in registers, or take too many operations to write out."""
    reads = neighbourhood_of(call)
    numbers, work = reads.registers(LEAST_ITEMS), reads.taps * reads.span * LEAST_ITEMS
    if reads.times > 1 and reads.span > MOST_ROWS_TWICE:
        return f"applies up to {MOST_ROWS_TWICE} rows twice; this call's neighbourhood has {reads.span}"
    most = MOST_NUMBERS // reads.times
    if numbers * max(*(dtype.itemsize for dtype in call.dtypes[:2]), 4) > 4 * most:
        return f"keeps up to {most} numbers of 32 bits; this call's neighbourhood takes {numbers}"
    if work > MOST_OPERATIONS:
        return f"writes up to {MOST_OPERATIONS} operations out; this call has {work}"
    return None


def tile_fits(at: Geometry) -> Refusal:
    """Refuse neighbourhoods if a tile and its surroundings do not fit in local memory."""

    def refuse(capabilities: Capabilities, call: CallTraits) -> str | None:
        reads = neighbourhood_of(call)
        rows, columns = at.block * at.items // TILE_WIDTH + reads.span - 1, TILE_WIDTH + reads.beside
        return _too_much(rows * columns, call, capabilities)

    return first_refusal(group_fits(at.block), refuse)


def strips_fit(at: Geometry) -> Refusal:
    """Refuse neighbourhoods so wide that the rows that work-items exchange do not fit in local memory."""

    def refuse(capabilities: Capabilities, call: CallTraits) -> str | None:
        items, reads = max(VECTOR_BYTES // call.dtypes[0].itemsize, 1), neighbourhood_of(call)
        row = at.block * items + 2 * reads.times * reads.beside + VECTOR_BYTES
        return _too_much(2 * ROWS_AT_ONCE * row, call, capabilities)

    return first_refusal(group_fits(at.block), refuse)


def _too_much(numbers: int, call: CallTraits, capabilities: Capabilities) -> str | None:
    """Refuse arrays that do not fit in local memory; CUDA kernels declare at most 48 KiB of it."""
    needed = numbers * register_bytes(call.dtypes[0])
    if needed <= min(capabilities.local_memory, 48 * 1024) - SPARE_LOCAL:
        return None
    return f"needs {needed} bytes of local memory; {capabilities.name} has {capabilities.local_memory}"


def register_bytes(dtype: np.dtype[Any]) -> int:
    """Return the bytes of a number in registers and local memory, where float16 becomes float32."""
    return 4 if dtype == np.float16 else dtype.itemsize


def neighbourhood_of(call: CallTraits) -> Neighbourhood:
    """Return the neighbourhood of a stencil call, or raise for a call of another primitive."""
    if not isinstance(call, StencilTraits):
        raise TypeError(f"a refusal of stencils: traits of one; got {call}")
    return call.neighbourhood
