"""Tiles of stencil/separable, fitted to a call."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from gpuprims.primitives.stencil.blocks import Block, taps_across
from gpuprims.primitives.stencil.traits import Neighbourhood

# Results of a line that a work-item computes together, and the weights that it applies to them at once.
_ITEMS, _CHUNK = 8, 8
# Rows that a group filters together.
_STAGED = 32
# Columns and rows of a tile with its surroundings, at most.
_WIDEST, _MOST_ROWS = 192, 384
# Extra instructions of a result that take as long as two launches need for the values between them.
_MOST_EXTRA = 96
# Local memory of a compute unit, the groups that registers leave room for, and how long a lone group waits for loads
# and for its other work-items, in parts of its work.
_UNIT_BYTES, _MOST_RESIDENT, _WAITS = 220 * 1024, 5, 2
# Instructions to load an element, and to make float32 or float64 of a narrower number. A weight takes one or two.
_LOAD, _CONVERT = 6, {4: 2, 8: 8}


@lru_cache(maxsize=256)
def separable_block(
    reads: Neighbourhood, element: int, value: int, group: int, lengths: tuple[int, int, int], units: int, local: int
) -> Block | None:
    """Return the tile that takes the least time and fits in local memory; None if none does.

    ``element`` and ``value`` are the bytes of a number in local memory and of a sum. Groups of ``group`` work-items, on
    a number of compute units, share the batches, rows and elements of a row.
    """
    fitting = list(_fitting(reads, element, value, local))

    def cost(block: Block) -> float:
        resident = min(_UNIT_BYTES // local_bytes(block, reads, element, value), _MOST_RESIDENT)
        batches, rows, length = lengths
        tiles = batches * -(-rows // block.rows) * -(-length // (block.lanes * block.items))
        return max(tiles, resident * units) * _instructions(block, reads, value, group) * (1 + _WAITS / resident)

    return min(fitting, key=cost, default=None)


def separable_fits(reads: Neighbourhood, element: int, value: int, local: int) -> bool:
    """Return True if a tile fits in ``local`` bytes."""
    return any(True for _ in _fitting(reads, element, value, local))


def _fitting(reads: Neighbourhood, element: int, value: int, local: int) -> Iterator[Block]:
    return (one for one in _blocks(reads, element < value) if local_bytes(one, reads, element, value) <= local)


def _blocks(reads: Neighbourhood, narrower: bool) -> Iterator[Block]:
    """Yield tiles whose rows that only surround it are no more than half; rows may be staged as narrow numbers."""
    along, taps = reads.across or reads.beside > 0, taps_across(reads)
    for wide in range(_ITEMS * reads.channels, _WIDEST + 1, _ITEMS * reads.channels):
        for tall in range(_STAGED, _MOST_ROWS + 1, _STAGED):
            high = (tall - reads.span + 1) // _ITEMS * _ITEMS
            if 2 * high < tall or (reads.span == 1 and tall > _STAGED):
                continue
            extra = tall / high * (taps + _LOAD * (1 + reads.beside / wide)) - taps
            if reads.across and extra > _MOST_EXTRA:
                continue
            block = Block(_ITEMS, rows=high, lanes=wide // _ITEMS, chunk=_CHUNK)
            yield block
            if along and narrower:
                yield block._replace(narrow=True)


def local_bytes(block: Block, reads: Neighbourhood, element: int, value: int) -> int:
    """Return the bytes of a tile, of rows before they are filtered, and of the weights."""
    along, wide = reads.across or reads.beside > 0, block.lanes * block.items
    tall = block.rows + reads.span - 1
    staged = element if block.narrow else value
    needed = (-(-tall // _STAGED) * _STAGED if along else tall) * (wide + 1) * value
    if along:
        needed += _STAGED * ((wide + reads.beside) * staged + max(staged, 8))
    return needed + (taps_across(reads) + reads.span + 4) * value


def _instructions(block: Block, reads: Neighbourhood, value: int, group: int) -> int:
    """Estimate the instructions of a tile."""
    along, wide, warps = reads.across or reads.beside > 0, block.lanes * block.items, group // 32
    down = reads.across or not along
    tall = -(-(block.rows + reads.span - 1) // _STAGED) * _STAGED
    loads = tall * -(-(wide + reads.beside) // 32) * 32 * _LOAD
    weight, taps = value // 4, taps_across(reads)
    in_rows = tall * -(-block.lanes // warps) * warps if along else 0
    in_columns = -(-wide * block.rows // block.items // group) * group if down else 0
    read = in_rows * (block.items + taps) if block.narrow else loads // _LOAD
    return loads + block.items * weight * (in_rows * taps + in_columns * reads.span) + read * _CONVERT[value]
