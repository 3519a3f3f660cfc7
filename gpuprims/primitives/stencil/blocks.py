"""The block of elements that a work-item computes, fitted to a call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.layout import VECTOR_BYTES
from gpuprims.primitives.stencil.traits import Neighbourhood

# Bytes of local memory that a group may take; CUDA kernels declare at most 48 KiB.
MOST_LOCAL = 48 * 1024 - 64
# 32-bit registers for the sums of a work-item, and for the neighbours in a row.
_MOST_SUMS, _MOST_VALUES = 64, 72
# Most weights of a column that a work-item applies at once.
_MOST_CHUNK = 64


class Block(NamedTuple):
    """What a work-item computes.

    ``items`` neighbours of a row, ``vectors`` times; ``rows`` and ``planes``; ``chunk`` weights at once. ``lanes``
    work-items share a row.
    """

    items: int
    rows: int = 1
    planes: int = 1
    chunk: int = 1
    vectors: int = 1
    lanes: int = 32


def dense_blocks(reads: Neighbourhood, value: np.dtype[Any], block: int, length: int) -> Iterator[tuple[Block, int]]:
    """Yield blocks for sums of a dtype, the best first, and the bytes of local memory that a group needs for each."""
    items, words = VECTOR_BYTES // value.itemsize, max(value.itemsize // 4, 1)
    for planes, rows, vectors in ((4, 4, 1), (2, 4, 1), (1, 4, 1)) if reads.deep > 1 else ((1, 8, 1), (1, 4, 1), (1, 2, 1), (1, 1, 1)):
        yield dense_block_of(reads, value, block, planes, rows, vectors, 32)


def dense_block_of(reads, value, block, planes, rows, vectors, lanes):
    items, words = VECTOR_BYTES // value.itemsize, max(value.itemsize // 4, 1)
    taps = reads.beside // reads.channels + 1
    chunk = taps
    while ((chunk - 1) * reads.channels + items) * words * vectors > _MOST_VALUES and chunk > items:
        chunk = (chunk - 1) // items * items
    pitch = -(-(lanes * items * vectors + reads.beside) // items) * items
    padded = -(-taps // items) * items
    numbers = (block // lanes * rows + reads.span - 1) * pitch + planes * reads.span * padded
    return Block(items, rows, planes, chunk, vectors, lanes), numbers * value.itemsize


def dense_block(reads: Neighbourhood, value: np.dtype[Any], block: int, length: int) -> Block | None:
    """Return the best block that fits in local memory; None if none does."""
    return next((one for one, needed in dense_blocks(reads, value, block, length) if needed <= MOST_LOCAL), None)


def column_block(reads: Neighbourhood, value: np.dtype[Any]) -> Block:
    """Return the block of the kernel for columns."""
    items, most = (16, _MOST_CHUNK + 1) if value.itemsize <= 4 else (8, 33)
    parts = -(-reads.span // most)
    return Block(items, chunk=-(-reads.span // parts))


def plane_items(element: np.dtype[Any]) -> int:
    """Return the most neighbours of a row that a work-item takes through planes."""
    return max(min(VECTOR_BYTES // element.itemsize, 4), 1)
