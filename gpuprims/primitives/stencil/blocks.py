"""What a work-item computes, fitted to a call. Comments name the rows of measurements.md."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.layout import VECTOR_BYTES
from gpuprims.core.refusals import SPARE_LOCAL
from gpuprims.primitives.stencil.traits import Neighbourhood

# Bytes of local memory that a group may take; CUDA kernels declare at most 48 KiB.
_MOST_LOCAL = 48 * 1024 - 64
# 32-bit registers for the sums of a work-item and for the neighbours in a row.
_MOST_HELD = 88
# Weights of a column that a work-item applies at once, at most.
_MOST_CHUNK = 32
# A work-item's loads take as long as this many results, and do so for at most this many weights.
_READ, _FEW_TAPS = 8, 512  # rows: dense-few
# How long a lone group waits for planes, relative to its work, and the groups that registers leave room for.
_WAITS, _MOST_RESIDENT = 2, 4  # rows: dense-waits
# Bytes of a column's position in the array's rows.
_PLACE = 4
# Groups may load this many times the elements that narrower groups would.
IDLE = 1.2
_IDLE_IN_STRIPS = 1.15  # rows: rolling-volumes
# Fewest lanes that share a row of a tile: eight read 16 bytes each from all banks of local memory.
_LEAST_LANES = 8
# Narrower tiles load more rows. They are used if they cover less than this part of the columns that wide ones cover.
_MUCH_FEWER = 0.9


class Block(NamedTuple):
    """What a work-item computes.

    ``items`` neighbours of a row, ``vectors`` times; ``rows`` and ``planes``; ``chunk`` weights at once. ``lanes``
    work-items share a row.
    """

    items: int
    planes: int = 1
    rows: int = 1
    vectors: int = 1
    lanes: int = 32
    chunk: int = 1


# Planes, rows, vectors and lanes, the fastest first: for numbers of 4 and of 8 bytes, in one plane and in several.
_DENSE = {  # rows: dense
    (4, False): ((1, 4, 2, 16), (1, 8, 1, 32), (1, 4, 1, 32), (1, 2, 1, 32), (1, 1, 1, 32)),
    (4, True): ((4, 2, 2, 16), (2, 2, 2, 16), (1, 4, 2, 16), (1, 4, 1, 32), (1, 2, 1, 32), (1, 1, 1, 32)),
    (8, False): ((1, 4, 2, 32), (1, 8, 1, 32), (1, 4, 1, 32), (1, 2, 1, 32), (1, 1, 1, 32)),
    (8, True): (
        (2, 4, 2, 16),
        (2, 2, 2, 16),
        (2, 2, 2, 32),
        (1, 4, 2, 32),
        (1, 4, 1, 32),
        (1, 2, 1, 32),
        (1, 1, 1, 32),
    ),
}


def dense_block(
    reads: Neighbourhood, value: np.dtype[Any], group: int, lengths: Sequence[int], units: int
) -> Block | None:
    """Return the best block for sums of a dtype that fits in registers and local memory; None if none does.

    Groups of ``group`` work-items, on ``units`` compute units, share the batches, planes, rows and elements of a row.
    """
    fitting = [one for one in _dense_blocks(reads, value) if local_bytes(one, reads, value, group) <= _MOST_LOCAL]
    if not fitting:
        return None
    whole = [one for one in fitting if one.chunk == taps_across(reads)]
    in_parts = reads.deep > 1 and value.itemsize == 8  # sums of many rows by few weights at once read less
    known = [_narrowed(one, reads, value, group, lengths[-1]) for one in (fitting if in_parts else whole or fitting)]
    if reads.taps > _FEW_TAPS:
        return known[0]
    if _tiles(known[0], group, lengths) < units:  # few large blocks would leave compute units idle
        return min(known, key=lambda one: max(_tiles(one, group, lengths), units) * (_sums(one) + _READ))
    if reads.deep == 1 or value.itemsize > 4:
        return known[0]

    def cost(block: Block) -> float:
        of_unit = -(-_tiles(block, group, lengths) // units)
        return of_unit * (_sums(block) + _READ) * (1 + _WAITS / min(of_unit, _MOST_RESIDENT))

    return min(known[:2], key=cost)  # rows: dense-waits


def _sums(block: Block) -> int:
    """Return the results of a work-item."""
    return block.planes * block.rows * block.vectors * block.items


def _tiles(block: Block, group: int, lengths: Sequence[int]) -> int:
    """Return the tiles of an array."""
    batches, planes, rows, length = lengths
    across = _covered(block, length) // (block.lanes * block.items * block.vectors)
    return batches * -(-planes // block.planes) * -(-rows // (group // block.lanes * block.rows)) * across


def _narrowed(best: Block, reads: Neighbourhood, value: np.dtype[Any], group: int, length: int) -> Block:
    """Return the block with fewer lanes in a row, if tiles then cover far fewer columns."""
    columns, narrow = _covered(best, length), best
    while narrow.lanes > _LEAST_LANES:
        narrow = narrow._replace(lanes=narrow.lanes // 2)
        if local_bytes(narrow, reads, value, group) > _MOST_LOCAL:
            break
        if _covered(narrow, length) < _MUCH_FEWER * columns:
            best, columns = narrow, _covered(narrow, length)
    return best


def _covered(block: Block, length: int) -> int:
    """Return the columns of all tiles along a row, those beyond its end included."""
    wide = block.lanes * block.items * block.vectors
    return -(-length // wide) * wide


def _dense_blocks(reads: Neighbourhood, value: np.dtype[Any]) -> Sequence[Block]:
    """Return the blocks, each with as many weights at once as registers allow."""
    items, words, found = VECTOR_BYTES // value.itemsize, value.itemsize // 4, []
    for planes, rows, vectors, lanes in _DENSE[value.itemsize, reads.deep > 1]:
        room = _MOST_HELD // words - planes * rows * vectors * items
        chunk = taps_across(reads)
        while vectors * ((chunk - 1) * reads.channels + items) > room and chunk > items:
            chunk = (chunk - 1) // items * items
        found.append(Block(items, planes, rows, vectors, lanes, chunk))
    return found


def taps_across(reads: Neighbourhood) -> int:
    """Return the weights of a row."""
    return reads.beside // reads.channels + 1


def local_bytes(block: Block, reads: Neighbourhood, value: np.dtype[Any], group: int) -> int:
    """Return the bytes of a tile with its surroundings, of its columns' places, and of a plane's weights."""
    rows, columns = group // block.lanes * block.rows + reads.span - 1, block.lanes * block.items * block.vectors
    padded = [-(-number // block.items) * block.items for number in (columns + reads.beside, taps_across(reads))]
    return (rows * padded[0] + block.planes * reads.span * padded[1]) * value.itemsize + padded[0] * _PLACE


def least_local_bytes(reads: Neighbourhood, value: np.dtype[Any], group: int) -> int:
    """Return the bytes of the smallest tile."""
    return min(local_bytes(one, reads, value, group) for one in _dense_blocks(reads, value))


def column_block(reads: Neighbourhood, value: np.dtype[Any]) -> Block:
    """Return the block of the kernel for columns."""
    words = value.itemsize // 4
    parts = -(-reads.span // (_MOST_CHUNK // words))
    return Block(16 // words, chunk=-(-reads.span // parts))


def plane_items(element: np.dtype[Any]) -> int:
    """Return the most neighbours of a row that a work-item takes through planes."""
    return max(min(VECTOR_BYTES // element.itemsize, 4), 1)


def plane_numbers(offsets: Sequence[tuple[int, ...]], numbers: int) -> int:
    """Return the numbers that a work-item keeps of all planes, and loads of the next, with ``numbers`` of each row."""
    rows: dict[int, list[int]] = {}
    for dz, dy, _ in offsets:
        rows.setdefault(dy, []).append(dz)
    return sum(max(planes) - min(planes) + 2 for planes in rows.values()) * numbers


def group_along(length: int, items: int, most: int, beside: int) -> int:
    """Return the largest group, of whole warps, that loads few elements beyond the end of a row."""
    sizes = [most // parts for parts in (1, 2, 4) if most % (32 * parts) == 0] or [most]
    loaded = {size: -(-length // (size * items)) * (size * items + beside) for size in sizes}
    return next(size for size in sizes if loaded[size] <= _IDLE_IN_STRIPS * min(loaded.values()))


def local_for_tiles(capabilities: Capabilities) -> int:
    """Return the bytes of local memory that a group may use; CUDA kernels declare at most 48 KiB of it."""
    return min(capabilities.local_memory - SPARE_LOCAL, _MOST_LOCAL)
