"""Refusals of stencils."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.geometry import Geometry, Refusal, first_refusal
from gpuprims.core.layout import VECTOR_BYTES
from gpuprims.core.refusals import SPARE_LOCAL, group_fits
from gpuprims.core.traits import CallTraits
from gpuprims.expressions.narrow import register
from gpuprims.primitives.stencil.blocks import (
    Block,
    column_block,
    dense_block,
    least_local_bytes,
    local_for_tiles,
    plane_items,
)
from gpuprims.primitives.stencil.long_rows import MOST_BESIDE, long_row_block
from gpuprims.primitives.stencil.separable import Numbers, fitted_strip, room_of, separable_fits
from gpuprims.primitives.stencil.traits import Neighbourhood, neighbourhood_of
from gpuprims.primitives.stencil.volumes import fitted_tile

# Most 32-bit numbers of a window that a work-item keeps in registers.
_MOST_NUMBERS = 128
# The same for all rows of a strip; compilers keep some of more numbers in memory.
_MOST_IN_STRIPS = 96
# The same for neighbourhoods in several planes.
_MOST_IN_PLANES = 128
# Fewest elements of a row that a work-item computes.
_LEAST_ITEMS = 4
# From this many rows of a neighbourhood on, filters in local memory take less time than windows in registers: by the
# bytes of an element, for large arrays and for those of at most _FEW elements; for several channels, since a column's
# elements are then read one by one; for narrow elements in rows that begin anywhere.
_LEAST_SPAN, _FEW = {1: 23, 2: 23, 4: 23, 8: 7}, 2**22  # rows: separable-rows
_LEAST_OF_FEW = {1: 9, 2: 9, 4: 13, 8: 7}  # rows: separable-rows
_LEAST_OF_CHANNELS, _LEAST_LOOSE = 7, 3  # rows: separable-rows
# Weights of a column that a work-item applies at once from registers.
_MOST_IN_COLUMNS = 32
# Most operations in all phases of a window; more take too long to compile.
_MOST_OPERATIONS = 8192
# Width of a tile in local memory.
TILE_WIDTH = 64
# Rows of a tile that a CPU's work-item computes.
CPU_ROWS = 16
# Bytes of a vector of a CPU.
CPU_VECTOR_BYTES = 64
# Rows of a strip that a group loads together, in advance.
ROWS_AT_ONCE = 4
# Most rows of a neighbourhood that one launch applies twice.
_MOST_ROWS_TWICE = 3
# Weights up to which a CPU's kernel that contains them is faster than one that reads them.
_CPU_TAPS = 27
# Most numbers of a window that stay in the cache of a CPU core.
_CPU_NUMBERS = 24_576


def one_pass(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse stencils in two passes."""
    return "computes in one pass; this call has two" if neighbourhood_of(call).across else None


def along_lines(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse arrays whose rows are not contiguous."""
    if neighbourhood_of(call).lines:
        return None
    return "is for rows whose elements, and channels, lie side by side; this call's do not"


def written_out(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse weights that are too many for a kernel to contain."""
    return None if neighbourhood_of(call).written else "contains all weights; this call has too many"


def one_plane(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse arrays of several planes."""
    reason = "is for one plane at a time; this call's neighbourhoods have several"
    return reason if neighbourhood_of(call).planes else None


def weights_read(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse functions of neighbours, and weights that are few."""
    return None if neighbourhood_of(call).table else "reads weights from memory; this call has a function"


def block_fits(at: Geometry) -> Refusal:
    """Refuse neighbourhoods if no tile with its surroundings fits in local memory."""

    def refuse(capabilities: Capabilities, call: CallTraits) -> str | None:
        least = least_local_bytes(neighbourhood_of(call), call.dtypes[1], at.block)
        if least <= local_for_tiles(capabilities):
            return None
        return f"needs {least} bytes of local memory; {capabilities.name} has {capabilities.local_memory}"

    return first_refusal(group_fits(at.block), refuse)


def one_axis_at_a_time(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse weights that are no product of a row and a column."""
    reads = neighbourhood_of(call)
    if reads.table and (reads.across or (reads.deep == 1 and 0 in (reads.beside, reads.span - 1))):
        return None
    return "filters rows and then columns; this call's weights, or function, are no product of the two"


def lines_in_strip(at: Geometry) -> Refusal:
    """Refuse neighbourhoods if no strip for two filters fits in local memory."""

    def refuse(capabilities: Capabilities, call: CallTraits) -> str | None:
        numbers = Numbers(call.dtypes[0].itemsize, call.dtypes[1].itemsize)
        if separable_fits(neighbourhood_of(call), numbers, at.block, room_of(capabilities)):
            return None
        return "computes two axes in one launch if local memory holds a wide strip; this call's weights are too many"

    return first_refusal(group_fits(at.block), refuse)


def rolled_well(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse windows that registers hold well, and filters along one axis, which other kernels apply in one pass."""
    reads, itemsize = neighbourhood_of(call), call.dtypes[0].itemsize
    if not reads.across:
        long = reads.beside >= MOST_BESIDE * reads.channels or reads.span > _MOST_IN_COLUMNS
        return None if long else "is for long lines of weights; other kernels apply this call's at once"
    if reads.paired and not reads.loose:
        return "is for numbers that do not share registers; this call's do"
    least = (_LEAST_OF_FEW if call.size <= _FEW else _LEAST_SPAN)[itemsize]
    least = _LEAST_LOOSE if reads.loose else min(least, _LEAST_OF_CHANNELS) if reads.channels > 1 else least
    return None if reads.span >= least else f"is for {least} or more rows of this array; this call has {reads.span}"


def along_columns(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse neighbours in the element's own row."""
    reads = neighbourhood_of(call)
    return None if reads.beside == 0 and reads.deep == 1 else "is for neighbours above and below; this call has others"


def planes_fit(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse neighbourhoods that registers do not hold."""
    reads = neighbourhood_of(call)
    items = plane_items(call.dtypes[0])
    numbers = (reads.deep + 1) * reads.span * (items + reads.beside) * -(-register_bytes(call.dtypes[0]) // 4)
    if numbers <= _MOST_IN_PLANES:
        return None
    return f"keeps up to {_MOST_IN_PLANES} numbers of 32 bits; this call's neighbourhood takes {numbers}"


def short_rows(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse long rows of weights, for which registers spill, where a kernel can read the weights from memory."""
    reads = neighbourhood_of(call)
    if not reads.table or reads.span * reads.deep > 1 or reads.beside < MOST_BESIDE * reads.channels:
        return None
    return f"is for rows of up to {MOST_BESIDE} weights; this call's have {reads.beside // reads.channels + 1}"


def few_rows(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse windows that do not fit in the cache of a CPU core."""
    reads = neighbourhood_of(call)
    numbers = reads.numbers(64)
    if reads.table and not reads.across and reads.taps > _CPU_TAPS:
        return f"is for up to {_CPU_TAPS} weights, which it contains; this call has {reads.taps}"
    if numbers <= _CPU_NUMBERS:
        return None
    return f"keeps up to {_CPU_NUMBERS} numbers; this call's neighbourhood takes {numbers}"


def tile_in_cache(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse neighbourhoods so large that a tile does not fit in the cache of a CPU core."""
    numbers = tile_numbers(neighbourhood_of(call), 64)
    if numbers <= _CPU_NUMBERS:
        return None
    return f"keeps up to {_CPU_NUMBERS} numbers; this call's neighbourhood takes {numbers}"


def tile_numbers(reads: Neighbourhood, items: int) -> int:
    """Return the elements of a tile of ``items`` columns and its surroundings."""
    return (CPU_ROWS + reads.span - 1) * (items + reads.beside)


def window_fits(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse neighbourhoods that do not fit in registers, or take too many operations."""
    reads = neighbourhood_of(call)
    numbers, work = reads.registers(_LEAST_ITEMS), reads.taps * reads.span * _LEAST_ITEMS
    if reads.times > 1 and reads.span > _MOST_ROWS_TWICE:
        return f"applies up to {_MOST_ROWS_TWICE} rows twice; this call's neighbourhood has {reads.span}"
    most = _MOST_NUMBERS // reads.times
    if numbers * max(*(dtype.itemsize for dtype in call.dtypes[:2]), 4) > 4 * most:
        return f"keeps up to {most} numbers of 32 bits; this call's neighbourhood takes {numbers}"
    if work > _MOST_OPERATIONS:
        return f"writes up to {_MOST_OPERATIONS} operations out; this call has {work}"
    return None


def fitted_block(
    chosen: Any,
    reads: Neighbourhood,
    element: np.dtype[Any],
    value: np.dtype[Any],
    lengths: Sequence[int],
    able: Capabilities,
) -> Block:
    """Return the block that a work-item of a variant computes, given the lengths of axes."""
    if chosen.window == "separable":
        return fitted_strip(chosen.block, reads, element, value, lengths, able).block
    if chosen.window == "dense":
        block = dense_block(reads, value, chosen.block, lengths, able.compute_units)
        if block is None:
            raise TypeError(f"{chosen.label}: a block that fits in local memory; got {reads}")
        return block
    if chosen.window == "rows":
        items = chosen.items
        while items > 64 and tile_numbers(reads, items) > _CPU_NUMBERS:
            items //= 2
        chunk = 4
        while chunk > 1 and lengths[-1] * value.itemsize <= chunk // 2 * CPU_VECTOR_BYTES:  # rows: cpu_dense-short
            chunk //= 2
        return Block(items, rows=8 if chunk == 1 else 4, chunk=chunk)
    if chosen.window == "columns":
        return column_block(reads, value)
    if chosen.window == "long row":
        return long_row_block(chosen, reads, value, lengths[-1])
    if chosen.window == "volume":
        return fitted_tile(reads, value, chosen.block, lengths, able)
    if chosen.window == "planes":
        return Block(plane_items(element))
    return Block(fitted_items(chosen.window, chosen.items, reads, element.itemsize))


def fitted_items(window: str, items: int, reads: Neighbourhood, itemsize: int) -> int:
    """Return how many items a work-item takes, so that its window fits in registers or in a CPU core's cache."""
    if window == "tile":
        return items
    most, numbers = _CPU_NUMBERS, reads.numbers
    if window == "strip":
        items, most, numbers = max(VECTOR_BYTES // itemsize, 1), _MOST_NUMBERS // reads.times, reads.registers
    while items > _LEAST_ITEMS and numbers(items) > most:
        items //= 2
    if window == "strip":  # with the rows that are loaded together
        slots = (reads.span - 1 + ROWS_AT_ONCE) / reads.span
        while items > _LEAST_ITEMS and reads.registers(items) * slots > _MOST_IN_STRIPS:
            items //= 2
    return items


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
    """Return the bytes of a number in registers and local memory, where narrow floats become float32."""
    return register(dtype).itemsize
