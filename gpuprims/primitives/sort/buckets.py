"""The launches of a sort of keys alone, from the top digit down."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from gpuprims.core.driver import Kernel, Launch
from gpuprims.core.together import together
from gpuprims.core.variant import Variant
from gpuprims.primitives.sort.keys import DIGITS
from gpuprims.primitives.sort.spec import Step
from gpuprims.primitives.sort.work import Four, Passes, Work

# Words of a bucket's entry, of a task, and of zeros that launches leave zero: as in buckets.h.
_ENTRY_WORDS, _TASK_WORDS, _STATE_WORDS = 8 + DIGITS, 4, 24 + 8 + DIGITS
# Work-items that count. At most half as many chunks have their zeros and NaN counted. As in buckets.h.
_COUNTERS, _CHUNKS = 512, 4096  # rows: buckets
# Bytes of a count for each value of a digit, and of 2,048 bins. Groups that move keys have this many copies of the
# counts. Groups that only count have one for each lane of a warp if there is room, so that no lane waits for another.
_COUNTING, _BINNING = 4 * DIGITS, 4 * 2048
_COPIES, _MOST_COPIES = 8, 32  # rows: buckets-counts
# Bytes of integers that are counted again if they share leading bits: as in sort_buckets.cl.
_WIDE = 4
# Keys of a window, which 16 bytes follow.
_WINDOW = 16
# Bytes of local memory that kernels declare, at most.
_DECLARED = 4 * (5 * DIGITS + 1024)
# The headers of all steps, and of those that have more.
_SHARED = "lower_sums.h", "buckets.h"
_PARTS: dict[Step, tuple[str, ...]] = {
    "counts": (*_SHARED, "bucket_plans.h"),
    "notes": (*_SHARED, "bucket_plans.h"),
    "tiles": (*_SHARED, "bucket_tasks.h"),
}


class _Table(NamedTuple):
    """The memory of buckets and tasks: the most buckets of a level, and where each part begins, in words."""

    most: int
    tasks_at: int
    ties_at: int
    words: int

    @classmethod
    def of(cls, n: int, nbytes: int, tile: int, room: int) -> _Table:
        """Return the table for ``n`` keys, moved a tile at a time and sorted in tasks of at most ``room`` keys."""
        most = n // (room + 1) + 1
        tasks_at = 2 * (most * _ENTRY_WORDS + n // tile + 1 + most)
        ties_at = tasks_at + (4 * (n // room + 1) * nbytes + DIGITS) * _TASK_WORDS
        return cls(most, tasks_at, ties_at, ties_at + 4 * _CHUNKS)


class _Shape(NamedTuple):
    """How a step is launched: variant, groups, bytes of local memory a group, and copies of its counts."""

    variant: Variant
    groups: int
    local: int
    copies: int = 1


def by_buckets(work: Work) -> Passes:
    """Count and move keys by digits from the top, then sort the buckets that fit in local memory."""
    device, n, nbytes = work.device, work.rows.length, work.keys.nbytes
    shapes = _shapes(work)
    moving, sorting = shapes["counts"], shapes["tiles"].variant
    table = _Table.of(n, nbytes, moving.variant.tile, sorting.tile)
    order = list(_order(work))
    steps = list(dict.fromkeys(step for step, *_ in order))
    kernels = dict(zip(steps, together(device, *(_compiling(work, step, shapes[step]) for step in steps)), strict=True))

    def prepared(step: Step, byte: int, final: int) -> Launch:
        shape = shapes[step]
        numbers = n, byte, final, table.most, sorting.tile, table.tasks_at, table.ties_at
        begins = work.begins.keys, work.begins.sorted
        launch: Launch = kernels[step].prepare(shape.groups, work.layout, *numbers, *begins, local=shape.local)
        return launch

    launches = [prepared(*one) for one in order]

    def start(memories: Four[Any]) -> None:
        driver = device.driver
        notes = driver.scratch(4 * table.words)
        between = driver.scratch(n * nbytes) if nbytes > 1 else notes
        given = [memories.keys, memories.sorted, between, notes, driver.counters(_STATE_WORDS)]
        for launch in launches:
            launch(given)

    return start


def _order(work: Work) -> Iterator[tuple[Step, int, int]]:
    """Yield the steps of a sort, each with the byte that it looks at, and 1 for those that are ``final``."""
    nbytes, floats = work.keys.nbytes, work.keys.dtype.kind == "f"
    for byte in reversed(range(nbytes)):
        first = byte == nbytes - 1
        yield "notes" if floats and first else "counts", byte, 0
        if first and not floats and nbytes >= _WIDE:
            yield "counts", byte, 1
        yield "moves" if byte else "fills", byte, int(nbytes == 1)
    if nbytes > 1:
        yield "tiles", 0, int(not floats)
    if floats:
        yield "ties", 0, 1


def _shapes(work: Work) -> dict[Step, _Shape]:
    """Return how each step is launched: moves and tasks with as many keys as local memory has room for."""
    able, n, nbytes = work.device.capabilities, work.rows.length, work.keys.nbytes
    room, tasks = able.asked_local_memory - _DECLARED, work.variant.tasks or work.variant.geometry
    binning = _BINNING + 4 * tasks.block
    moving = _fitted(work.variant, nbytes, room - _COUNTING * _COPIES)
    sorting = _fitted(replace(work.variant, geometry=tasks), nbytes, room - binning)
    counting = moving.resized(block=_COUNTERS, items=moving.tile // _COUNTERS, groups_per_unit=3)
    copies = _MOST_COPIES if room >= _COUNTING * _MOST_COPIES else _COPIES
    tiles = -(-n // moving.tile)
    staged = (sorting.tile // _WINDOW + 2) * (_WINDOW * nbytes + 16)
    return {
        "counts": _Shape(counting, counting.groups(tiles, able), _COUNTING * copies, copies),
        "notes": _Shape(counting, counting.groups(tiles, able), _COUNTING * copies, copies),
        "moves": _Shape(moving, moving.groups(tiles, able), _COUNTING * _COPIES + moving.tile * nbytes, _COPIES),
        "fills": _Shape(moving, moving.groups(tiles, able), 4 * (DIGITS + 1)),
        "tiles": _Shape(sorting, sorting.groups(n, able), binning + staged),
        "ties": _Shape(moving, moving.groups(tiles, able), 4 * moving.block),
    }


def _compiling(work: Work, step: Step, shape: _Shape) -> Callable[[], Kernel]:
    spec = work.spec(5, step, copies=shape.copies, parts=_PARTS.get(step, _SHARED))
    return lambda: work.device.kernel(shape.variant, spec)


def _fitted(variant: Variant, nbytes: int, room: int) -> Variant:
    """Return the variant with as many keys for each work-item as local memory has room for."""
    return variant.resized(items=max(1, min(variant.items, room // (variant.block * nbytes))))
