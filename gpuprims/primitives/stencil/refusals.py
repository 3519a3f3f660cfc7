"""Refusals of stencils."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.geometry import Refusal
from gpuprims.core.layout import VECTOR_BYTES
from gpuprims.core.refusals import SPARE_LOCAL
from gpuprims.core.traits import CallTraits
from gpuprims.primitives.stencil.traits import Neighbourhood, StencilTraits

# Numbers of 32 bits that a work-item keeps of a stencil's neighbourhoods in registers, the fewest elements of a row
# that it takes, and operations in all phases of a window that are worth compiling.
MOST_NUMBERS, LEAST_ITEMS, MOST_OPERATIONS = 128, 4, 8192
# Elements of a row of a tile in local memory.
TILE_WIDTH = 64
# Rows of a strip that are loaded together before they are needed.
ROWS_AT_ONCE = 4
# Rows of a neighbourhood that is applied twice in one launch.
MOST_ROWS_TWICE = 3
# Numbers that a work-item of a CPU keeps, so that they stay in a cache of its core.
CPU_NUMBERS = 24_576


def one_step(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse stencils in two steps."""
    return (
        "computes in one step; this call has two, which it may do one after the other"
        if neighbourhood_of(call).across
        else None
    )


def along_lines(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse arrays whose rows do not lie together, and weights from memory."""
    reads = neighbourhood_of(call)
    if not reads.lines:
        return "is for rows whose elements, and channels, lie side by side; this call's do not, or it has planes"
    return "writes weights out one by one; this call has too many" if reads.table else None


def window_fits(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse neighbourhoods that do not fit in registers, or have too many operations to write out in each phase."""
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


def tile_fits(block: int, items: int) -> Refusal:
    """Refuse neighbourhoods that with a tile do not fit in local memory."""

    def refuse(capabilities: Capabilities, call: CallTraits) -> str | None:
        reads = neighbourhood_of(call)
        rows, columns = block * items // TILE_WIDTH + reads.span - 1, TILE_WIDTH + reads.beside
        return _too_much(rows * columns * register_bytes(call.dtypes[0]), capabilities)

    return refuse


def strips_fit(block: int) -> Refusal:
    """Refuse neighbourhoods so wide that rows handed round do not fit in local memory."""

    def refuse(capabilities: Capabilities, call: CallTraits) -> str | None:
        number = register_bytes(call.dtypes[0])
        items = max(VECTOR_BYTES // call.dtypes[0].itemsize, 1)
        reads = neighbourhood_of(call)
        needed = 2 * ROWS_AT_ONCE * number * (block * items + 2 * reads.times * reads.beside + VECTOR_BYTES)
        return _too_much(needed, capabilities)

    return refuse


def register_bytes(dtype: np.dtype[Any]) -> int:
    """Return the bytes of a number in registers and local memory, where halves are floats."""
    return 4 if dtype == np.float16 else dtype.itemsize


def _too_much(needed: int, capabilities: Capabilities) -> str | None:
    """Return why a group's arrays do not fit in local memory, of which CUDA's kernels declare up to 48 KiB."""
    if needed <= min(capabilities.local_memory, 48 * 1024) - SPARE_LOCAL:
        return None
    return f"needs {needed} bytes of local memory; {capabilities.name} has {capabilities.local_memory}"


def few_rows(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse windows of more rows than a work-item of a CPU keeps in the cache of its core."""
    numbers = neighbourhood_of(call).numbers(64)
    if numbers <= CPU_NUMBERS:
        return None
    return f"keeps up to {CPU_NUMBERS} numbers; this call's neighbourhood takes {numbers}"


def neighbourhood_of(call: CallTraits) -> Neighbourhood:
    """Return what a stencil call reads, or raise for a call of another primitive."""
    if not isinstance(call, StencilTraits):
        raise TypeError(f"a refusal of stencils: traits of one; got {call}")
    return call.neighbourhood
