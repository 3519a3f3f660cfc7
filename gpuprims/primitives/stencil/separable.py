"""Strips of stencil/separable, fitted to a call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.refusals import SPARE_LOCAL
from gpuprims.primitives.stencil.blocks import Block, taps_across
from gpuprims.primitives.stencil.traits import Neighbourhood

# Results of a line that a work-item computes together, by the bytes of a sum, and the weights that it applies at once.
_ITEMS, _CHUNK = {4: 16, 8: 8}, 8
# Rows that a group takes at once.
_STEP = 32
# Columns of a strip, and numbers of a line, at most.
_WIDEST, _LONGEST = 192, 768
# Local memory of a compute unit, the groups that registers leave room for, and how long a lone group waits for loads
# and for its other work-items, relative to its work.
_UNIT_BYTES, _MOST_RESIDENT, _WAITS = 220 * 1024, {4: 5, 8: 4}, 2
# Instructions to load a word, to make sums of the elements that share it, and to store a result. A weight takes one or
# two.
_LOAD, _CONVERT, _STORE = 5, {4: 4, 8: 6}, 6
# Fewest groups of a compute unit for which one launch takes less time than two.
_FEWEST_RESIDENT = 3
# Extra instructions of a result that take as long as two launches need for the values between them.
_MOST_EXTRA = 72
# Most strips of a column that are compared.
_MOST_STRIPS = 64


class Numbers(NamedTuple):
    """Bytes of an element in memory, and of a sum."""

    element: int
    value: int

    @property
    def packed(self) -> int:
        """Elements of a word that one load moves."""
        return max(4 // self.element, 1)


class Strip(NamedTuple):
    """What a group computes: the block of each work-item, and rows."""

    block: Block
    depth: int


def fitted_strip(
    group: int,
    reads: Neighbourhood,
    element: np.dtype[Any],
    value: np.dtype[Any],
    lengths: Sequence[int],
    able: Capabilities,
) -> Strip:
    """Return the strip that a group computes, given the lengths of axes."""
    where, numbers = (lengths[0], *lengths[-2:]), Numbers(element.itemsize, value.itemsize)
    strip = separable_strip(reads, numbers, group, where, able.compute_units, room_of(able))
    if strip is None:
        raise TypeError(f"stencil/separable: a strip that fits in local memory; got {reads}")
    return strip


def room_of(able: Capabilities) -> int:
    """Return the bytes of local memory that a group may use."""
    return able.asked_local_memory - SPARE_LOCAL


@lru_cache(maxsize=256)
def separable_strip(
    reads: Neighbourhood, numbers: Numbers, group: int, lengths: tuple[int, int, int], units: int, local: int
) -> Strip | None:
    """Return the strip that takes the least time and fits in local memory; None if none does.

    Groups of ``group`` work-items, on a number of compute units, share the batches, rows and elements of a row.
    """
    fitting = [
        Strip(block, depth)
        for block in _blocks(reads, numbers, group, local)
        for depth in _depths(lengths[1], _lag(reads, block))
    ]

    def cost(strip: Strip) -> float:
        block, depth = strip
        resident = _resident(block, reads, numbers)
        batches, rows, length = lengths
        groups = batches * -(-rows // depth) * -(-length // (block.lanes * block.items))
        of_unit = -(-groups // units)
        steps = -(-(min(depth, rows) + _lag(reads, block)) // _STEP)
        return of_unit * steps * _instructions(block, reads, numbers, group) * (1 + _WAITS / min(resident, of_unit))

    return min(fitting, key=cost, default=None)


def separable_fits(reads: Neighbourhood, numbers: Numbers, group: int, local: int) -> bool:
    """Return True if a strip fits in ``local`` bytes, and takes less time than a launch for each axis."""
    return any(True for _ in _blocks(reads, numbers, group, local))


def _blocks(reads: Neighbourhood, numbers: Numbers, group: int, local: int) -> Iterator[Block]:
    """Yield the blocks of strips that fit in ``local`` bytes; of two axes, if one launch takes less time than two."""
    items = _ITEMS[numbers.value]
    narrow = items * reads.channels
    for wide in range(narrow, max(_WIDEST, narrow) + 1, narrow):
        block = Block(items, lanes=wide // items, chunk=_CHUNK)
        if wide + reads.beside > _LONGEST or _local_bytes(block, reads, numbers) > local:
            continue
        if not reads.across or _in_one_launch(block, reads, numbers, group):
            yield block


def _in_one_launch(block: Block, reads: Neighbourhood, numbers: Numbers, group: int) -> bool:
    """Return True if one launch takes less time than a launch for each axis."""
    if _resident(block, reads, numbers) < _FEWEST_RESIDENT:
        return False
    least = (taps_across(reads) + reads.span) * numbers.value // 4
    return _instructions(block, reads, numbers, group) / (block.lanes * block.items * _STEP) - least <= _MOST_EXTRA


def _resident(block: Block, reads: Neighbourhood, numbers: Numbers) -> int:
    """Return the groups of a compute unit."""
    return min(max(_UNIT_BYTES // _local_bytes(block, reads, numbers), 1), _MOST_RESIDENT[numbers.value])


def _depths(rows: int, lag: int) -> Iterator[int]:
    """Yield the depths at which the strips of a column take whole steps."""
    for strips in range(1, _MOST_STRIPS + 1):
        depth = -(-(-(-rows // strips) + lag) // _STEP) * _STEP - lag
        if strips == 1 or depth >= lag // 2:
            yield depth


def _lag(reads: Neighbourhood, block: Block) -> int:
    """Return the rows by which results lag behind loads."""
    return -(-(reads.span - 1) // block.items) * block.items


def _words(block: Block, reads: Neighbourhood, packed: int) -> int:
    """Return the words of a line."""
    return (block.lanes * block.items + reads.beside + 2 * (packed - 1)) // packed


def ring_bytes(block: Block, reads: Neighbourhood, numbers: Numbers) -> int:
    """Return the bytes of the ring, and of rows before they are filtered."""
    needed = (_lag(reads, block) + _STEP) * (block.lanes * block.items + 1)
    if reads.across or reads.beside > 0:
        needed += _STEP * (_words(block, reads, numbers.packed) * numbers.packed + 1)
    return needed * numbers.value


def _local_bytes(block: Block, reads: Neighbourhood, numbers: Numbers) -> int:
    """Return the bytes that a group takes, also for the places of a line's elements and for weights."""
    declared = (taps_across(reads) + reads.span + 12) * numbers.value + (block.lanes * block.items + reads.beside) * 4
    return ring_bytes(block, reads, numbers) + declared


def _instructions(block: Block, reads: Neighbourhood, numbers: Numbers, group: int) -> int:
    """Estimate the instructions of a step."""
    along, wide, warps = reads.across or reads.beside > 0, block.lanes * block.items, group // 32
    down = reads.across or not along
    words, weight = -(-_words(block, reads, numbers.packed) // 32) * 32, numbers.value // 4
    written = numbers.packed * _CONVERT[numbers.value] if numbers.packed > 1 else weight
    loads = _STEP * words * (_LOAD + written)
    in_rows = _STEP * -(-block.lanes // warps) * warps * block.items if along else 0
    in_columns = -(-wide * _STEP // block.items // group) * group * block.items
    by_weights = in_rows * (taps_across(reads) + 4) + in_columns * ((reads.span if down else 0) + 4)
    return loads + weight * by_weights + in_columns * _STORE
