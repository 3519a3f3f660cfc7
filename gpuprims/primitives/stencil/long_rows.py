"""Weights in one long row: the calls that their kernels take, and the block of a work-item."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.geometry import Refusal
from gpuprims.core.traits import CallTraits
from gpuprims.primitives.stencil.blocks import IDLE, Block, taps_across
from gpuprims.primitives.stencil.traits import Neighbourhood, neighbourhood_of

# Most weights of a single row for which a window does not spill registers on GPUs, and most that a CPU's kernel
# contains.
MOST_BESIDE, MOST_ON_CPUS = 40, 27
# For an array of one row, these kernels are faster from this many neighbours on. They read the weights from memory,
# so that other weights need no new kernel.
_LEAST_ALONE = 8  # rows: long_rows
# Results of a row that a work-item computes together, of 4 bytes each, and fewest weights in local memory at once.
_ITEMS, _LEAST_PIECE = 16, 128  # rows: long_rows
# Vectors of a row whose sums are in a CPU's registers together.
_CPU_VECTORS = 8
# Bytes of one of them.
_CPU_VECTOR_BYTES = 64


def one_long_row(least: int) -> Refusal:
    """Refuse all weights but those of one row of more than ``least``, without channels.

    An array of one row leaves most lanes of other kernels idle, so fewer weights suffice there.
    """

    def refuse(capabilities: Capabilities, call: CallTraits) -> str | None:
        reads = neighbourhood_of(call)
        if reads.span * reads.deep * reads.channels == 1 and reads.beside >= (_LEAST_ALONE if reads.alone else least):
            return None
        return f"is for more than {least} weights in one row, without channels; this call has others"

    return refuse


def long_row_block(chosen: Any, reads: Neighbourhood, value: np.dtype[Any], length: int) -> Block:
    """Return the block of a variant for rows of ``length``; ``chunk`` weights are in a GPU's local memory at once."""
    if chosen.block == 1:
        chunk = _CPU_VECTORS
        while chunk > 1 and length * value.itemsize <= chunk // 2 * _CPU_VECTOR_BYTES:  # rows: cpu_long_rows-short
            chunk //= 2
        return Block(chosen.items, chunk=chunk)
    items = _ITEMS // (value.itemsize // 4)
    shares = [chosen.block >> k for k in range(5) if chosen.block >> k]
    wide = [lanes for lanes in shares if lanes * items < 2 * length] or shares[-1:]
    covered = {lanes: -(-length // (lanes * items)) * lanes * items for lanes in wide}
    lanes = next(lanes for lanes in wide if covered[lanes] <= IDLE * min(covered.values()))
    most = max(_LEAST_PIECE, lanes * items // 4)
    return Block(items, lanes=lanes, chunk=min(most, -(-taps_across(reads) // items) * items))
