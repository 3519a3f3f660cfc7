"""Tiles of stencil/volumes, fitted to a call, and the calls that the kernel takes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.geometry import Geometry, Refusal, first_refusal
from gpuprims.core.layout import VECTOR_BYTES
from gpuprims.core.refusals import group_fits
from gpuprims.core.traits import CallTraits
from gpuprims.primitives.stencil.blocks import Block, local_for_tiles
from gpuprims.primitives.stencil.traits import Neighbourhood, neighbourhood_of

# Rows that a work-item computes, and with each the columns of a tile, the fastest first, by the bytes of a sum.
_TILES: dict[int, dict[int, tuple[int, ...]]] = {4: {8: (128, 64, 32), 4: (64, 32)}, 8: {4: (64, 32)}}  # rows: volumes
# Most 32-bit numbers of sums of planes that a work-item keeps in registers, and most weights of a line.
_MOST_KEPT, _MOST_WEIGHTS = 72, 17  # rows: volumes
# Groups of a compute unit, and strips of the planes that are compared.
_RESIDENT, _MOST_STRIPS = 2, 32
# Fewest elements that take less time in one launch than in two.
_FEWEST = 2**21  # rows: volumes


def three_axes(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse all but products of a line of planes, a column and a row, without channels."""
    reads = neighbourhood_of(call)
    if reads.across and reads.deep > 1 and reads.channels == 1:
        return None
    which = "a product of three lines of a few weights, without channels"
    return f"filters rows, columns and planes at once, by {which}; this call's weights, or function, are not"


def volume_fits(at: Geometry) -> Refusal:
    """Refuse neighbourhoods if no tile fits in registers and local memory."""

    def refuse(capabilities: Capabilities, call: CallTraits) -> str | None:
        reads = neighbourhood_of(call)
        if _tiles(reads, call.dtypes[1], at.block, local_for_tiles(capabilities)):
            return None
        most = max(reads.deep, reads.span, reads.beside + 1)
        return (
            f"keeps sums in registers and a plane in local memory; this call's lines of up to {most} weights do not fit"
        )

    return first_refusal(group_fits(at.block), refuse)


def few_elements(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Leave CPUs, and volumes that do not occupy a GPU, to two launches: one along two axes, one along the third."""
    if capabilities.kind != "cpu" and call.size >= _FEWEST:
        return None
    return f"is for GPUs and {_FEWEST:,} or more elements"


def fitted_tile(
    reads: Neighbourhood, value: np.dtype[Any], group: int, lengths: Sequence[int], able: Capabilities
) -> Block:
    """Return the tile of a group: its columns as ``lanes``, and the rows of a work-item as ``items``."""
    rows, length = lengths[-2:]

    def cost(tile: Block) -> int:
        high = group // tile.lanes * tile.items
        return -(-length // tile.lanes) * tile.lanes * -(-rows // high) * high

    return min(_tiles(reads, value, group, local_for_tiles(able)), key=cost)


@lru_cache(maxsize=256)
def _tiles(reads: Neighbourhood, value: np.dtype[Any], group: int, room: int) -> list[Block]:
    """Return the tiles whose sums fit in registers and whose planes fit in ``room`` bytes of local memory.

    A tile of few rows loads and filters many rows around it for each of its own. So tiles have at least as many rows as
    are around them, if such a tile fits.
    """
    for items, widths in _TILES[value.itemsize].items():
        tiles = [Block(items, lanes=columns) for columns in widths]
        fitting = [one for one in tiles if tile_bytes(one, reads, value, group) <= room]
        if fitting and items * _kept(reads, value) <= _MOST_KEPT and _few_weights(reads):
            return [one for one in fitting if reads.span - 1 <= group // one.lanes * items] or fitting[-1:]
    return []


def _few_weights(reads: Neighbourhood) -> bool:
    return max(reads.deep, reads.span, reads.beside + 1) <= _MOST_WEIGHTS


def _kept(reads: Neighbourhood, value: np.dtype[Any]) -> int:
    """Return the 32-bit numbers of the sums of an element that are not complete."""
    return (reads.deep - 1) * value.itemsize // 4


def tile_bytes(tile: Block, reads: Neighbourhood, value: np.dtype[Any], group: int) -> int:
    """Return the bytes of a plane of a tile with its surroundings, of its filtered rows, and of the columns' places."""
    rows = group // tile.lanes * tile.items + reads.span - 1
    vector = VECTOR_BYTES // value.itemsize
    beside = (-(-reads.beside // vector) + 1) * vector
    return rows * (2 * tile.lanes + beside) * value.itemsize + 4 * tile.lanes


@lru_cache(maxsize=256)
def volume_depth(tiles: int, planes: int, deep: int, units: int) -> int:
    """Return the planes of a strip that take the least time, given the tiles of a plane.

    A group loads ``deep - 1`` planes more than it computes. All groups at once take as long as the last.
    """

    def cost(depth: int) -> int:
        return -(-tiles * -(-planes // depth) // (units * _RESIDENT)) * (depth + deep - 1)

    depths = sorted({-(-planes // strips) for strips in range(1, min(planes, _MOST_STRIPS) + 1)}, reverse=True)
    return min(depths, key=cost)
