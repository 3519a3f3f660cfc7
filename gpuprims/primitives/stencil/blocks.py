"""The block of elements that a work-item computes, fitted to a call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from gpuprims.core.layout import VECTOR_BYTES
from gpuprims.primitives.stencil.traits import Neighbourhood

# Lanes that read neighbours of a row.
LANES = 32
# Bytes of local memory that a group may take; CUDA kernels declare at most 48 KiB.
MOST_LOCAL = 48 * 1024 - 64
# 32-bit registers for the sums of a work-item, and for the neighbours in a row.
_MOST_SUMS, _MOST_VALUES = 64, 64


class Block(NamedTuple):
    """Elements of a work-item along a row, along a column, and in depth; and weights of a row that it applies at once."""

    items: int
    rows: int = 1
    planes: int = 1
    chunk: int = 1


def dense_blocks(reads: Neighbourhood, value: np.dtype, block: int) -> Iterator[tuple[Block, int]]:
    """Yield blocks for sums of a dtype, the best first, and the bytes of local memory that a group needs for each."""
    items, words = VECTOR_BYTES // value.itemsize, max(value.itemsize // 4, 1)
    taps = reads.beside // reads.channels + 1
    chunk = taps
    while ((chunk - 1) * reads.channels + items) * words > _MOST_VALUES and chunk > items:
        chunk = (chunk - 1) // items * items
    pitch = -(-(LANES * items + reads.beside) // items) * items
    padded = -(-taps // items) * items
    for planes in (4, 2, 1) if reads.deep > 1 else (1,):
        for rows in (8, 4, 2, 1):
            if planes * rows * items * words > _MOST_SUMS:
                continue
            numbers = (block // LANES * rows + reads.span - 1) * pitch + planes * reads.span * padded
            yield Block(items, rows, planes, chunk), numbers * value.itemsize


def dense_block(reads: Neighbourhood, value: np.dtype, block: int) -> Block | None:
    """Return the best block that fits in local memory; None if none does."""
    return next((one for one, needed in dense_blocks(reads, value, block) if needed <= MOST_LOCAL), None)


def column_block(value: np.dtype) -> Block:
    """Return the block of the kernel for columns."""
    return Block(16, chunk=16) if value.itemsize <= 4 else Block(8, chunk=16)


def plane_items(element: np.dtype) -> int:
    """Return the neighbours of a row that a work-item takes through planes."""
    return max(min(VECTOR_BYTES // element.itemsize, 4), 1)
