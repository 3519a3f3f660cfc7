"""The launches of a sort, from rows side by side to rows side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.device import Device
from gpuprims.core.kernel_spec import Dtype
from gpuprims.core.layout import contiguous, starts_of
from gpuprims.core.together import together
from gpuprims.core.variant import Variant
from gpuprims.primitives.sort.keys import Keys
from gpuprims.primitives.sort.lane_order import lanes_in_order
from gpuprims.primitives.sort.spec import SortSpec, Step

_DIGIT_BITS = 8
DIGITS = 1 << _DIGIT_BITS
_LEAST_BLOCK, _LEAST_ITEMS = 32, 4
# Bytes to which sections of memory between launches are rounded.
_ROUND = 256
# Local memory of a group that sweeps, beside that of its tile.
SPARE_SWEEP = 4 * (2 * DIGITS + 64)
T = TypeVar("T")


class Rows(NamedTuple):
    """Rows that are sorted by themselves."""

    many: int
    length: int

    @property
    def size(self) -> int:
        """Elements of all rows."""
        return self.many * self.length


class Four(NamedTuple, Generic[T]):
    """Something of each array: keys, values beside them, sorted keys, and values or indices in their order.

    What a call lacks is another array's: kernels do not touch it.
    """

    keys: T
    values: T
    sorted: T
    kept: T

    @classmethod
    def of(cls, given: Sequence[T], results: Sequence[T]) -> Four[T]:
        """Return the arrays of a call in their places."""
        return cls(given[0], given[-1], results[0], results[-1])


# Sorts the memories of a call.
Passes = Callable[[Four[Any]], None]


class Work(NamedTuple):
    """What to sort, and where each array's first element is in its memory."""

    device: Device
    variant: Variant
    rows: Rows
    keys: Keys
    carried: Dtype | None
    wanted: str
    begins: Four[int]

    @property
    def moved_bytes(self) -> int:
        """Bytes of a key, and of what goes with it."""
        return self.keys.nbytes + (self.carried.itemsize if self.carried else 0)

    @property
    def layout(self) -> np.ndarray:
        """What kernels take before their numbers."""
        return starts_of([contiguous(self.keys.word, (1,), 1)]).pack(0)

    def spec(self, memories: int, step: Step = "moves", *, lanes_in_order: bool = False) -> SortSpec:
        """Return the spec of a launch on so many memories."""
        return SortSpec.of(
            self.keys,
            carried=self.carried,
            indices=self.wanted == "indices",
            keeps_keys=self.wanted != "indices",
            step=step,
            lanes_in_order=lanes_in_order,
            wide=self.rows.length >= 2**32,
            memories=memories,
        )


def passes_of(work: Work) -> Passes:
    """Return what sorts rows by a variant."""
    ways = {"cpu_chunks": _by_chunks, "onesweep": _by_sweeps, "merge": _by_merging}
    return ways.get(work.variant.name, _by_rows)(work)


def _by_rows(work: Work) -> Passes:
    """Sort each row in one piece, all in one launch."""
    device, (count, length) = work.device, work.rows
    groups = work.variant.groups(count, device.capabilities)
    kernel = device.kernel(work.variant, work.spec(5))
    launch = kernel.prepare(groups, work.layout, count, length, *work.begins)
    nbytes = groups * 2 * length * work.moved_bytes
    return lambda memories: launch([*memories, device.driver.scratch(nbytes)])


def _by_chunks(work: Work) -> Passes:
    """Sort by a digit at a time, lowest first: count the digits of chunks, then move the elements of each."""
    device, rows, begins = work.device, work.rows, work.begins
    parts = max(work.variant.groups(-(-rows.length // work.variant.items), device.capabilities), 1)
    chunk = -(-rows.length // parts)
    count, move = device.kernel(work.variant, work.spec(2, "counts")), device.kernel(work.variant, work.spec(5))
    groups, shared = rows.many * parts, (rows.length, chunk, parts)
    last = work.keys.nbytes - 1
    launches = []
    for digit in range(last + 1):
        ends = digit == 0, digit == last
        read = (begins.keys, begins.values) if ends[0] else (0, 0)
        written = (begins.sorted, begins.kept) if ends[1] else (0, 0)
        shift = digit * _DIGIT_BITS
        counting = count.prepare(groups, work.layout, *shared, shift, read[0])
        moving = move.prepare(groups, work.layout, *shared, shift, *map(int, ends), *read, *written)
        launches.append((counting, moving))

    def start(memories: Four[Any]) -> None:
        driver = device.driver
        counts = driver.scratch(4 * DIGITS * groups)
        keys, values = memories.keys, memories.values
        sides = [_side(work) for _ in range(min(last, 2))]
        for digit, (counting, moving) in enumerate(launches):
            to = (memories.sorted, memories.kept) if digit == last else sides[digit % 2]
            counting([keys, counts])
            moving([keys, values, counts, *to])
            keys, values = to

    return start


def _by_sweeps(work: Work) -> Passes:
    """Count all digits in one launch, and move elements by one digit in each of the next."""
    device, rows, begins, able = work.device, work.rows, work.begins, work.device.capabilities
    nbytes = work.keys.nbytes
    chosen, local = fitted_to_sweep(work.variant, rows, max(nbytes, work.carried.itemsize if work.carried else 0), able)
    tiles = -(-rows.length // chosen.tile)
    groups = chosen.groups(tiles * rows.many, able)
    parts = max(groups // rows.many, 1)
    count, sweep = together(
        device,
        lambda: device.kernel(chosen, work.spec(3, "counts")),
        lambda: device.kernel(chosen, work.spec(6, lanes_in_order=lanes_in_order(device, work.variant))),
    )
    counting = count.prepare(rows.many * parts, work.layout, rows.length, parts, begins.keys, local=4 * nbytes * DIGITS)
    room = _Room(work, 4 * DIGITS * nbytes * rows.many)
    launches = []
    for byte in range(nbytes):
        ends = byte == 0, byte == nbytes - 1
        read = (begins.keys, begins.values) if ends[0] else room.sides[(byte - 1) % 2]
        written = (begins.sorted, begins.kept) if ends[1] else room.sides[byte % 2]
        numbers = (*rows, tiles, byte, *map(int, ends), *read, *written)
        launches.append(sweep.prepare(groups, work.layout, *numbers, local=local))

    def start(memories: Four[Any]) -> None:
        driver = device.driver
        between = driver.scratch(room.nbytes)
        statuses = driver.tile_statuses(1 + tiles * rows.many * DIGITS)
        counting([memories.keys, between, driver.counters(rows.many * (nbytes * DIGITS + 1))])
        read: tuple[Any, Any] = memories.keys, memories.values
        for byte, launch in enumerate(launches):
            written = (memories.sorted, memories.kept) if byte == nbytes - 1 else (between, between)
            launch([*read, between, *written, statuses])
            read = written

    return start


class _Room:
    """Where sections of one memory begin: counts, then keys and what goes with them, for two passes in turn."""

    def __init__(self, work: Work, counts: int) -> None:
        items = work.keys.nbytes, work.carried.itemsize if work.carried else 0
        end, sides = _rounded(counts), []
        for _ in range(min(work.keys.nbytes - 1, 2)):
            begins = []
            for item in items:
                begins.append(end // item if item else 0)
                end += _rounded(work.rows.size * item)
            sides.append((begins[0], begins[1]))
        self.nbytes, self.sides = end, sides


def _rounded(nbytes: int) -> int:
    return -(-nbytes // _ROUND) * _ROUND


def _by_merging(work: Work) -> Passes:
    """Sort tiles, and merge runs of them until each row is one."""
    device, rows, begins = work.device, work.rows, work.begins
    chosen = fitted_to_merge(work.variant, rows.length)
    tiles = -(-rows.length // chosen.tile)
    groups = chosen.groups(tiles * rows.many, device.capabilities)
    runs = [chosen.tile << k for k in range((tiles - 1).bit_length())]
    first = device.kernel(chosen, work.spec(4, "tiles")).prepare(
        groups, work.layout, *rows, tiles, int(not runs), begins.keys, begins.values, *_ends(begins, last=not runs)
    )
    launches = [first]
    for run in runs:
        last = run == runs[-1]
        numbers = (*rows, tiles, run, int(last), *_ends(begins, last=last))
        launches.append(device.kernel(chosen, work.spec(4)).prepare(groups, work.layout, *numbers))

    def start(memories: Four[Any]) -> None:
        keys, values = memories.keys, memories.values
        sides = [_side(work) for _ in range(min(len(runs), 2))]
        for k, launch in enumerate(launches):
            to = (memories.sorted, memories.kept) if k == len(runs) else sides[k % 2]
            launch([keys, values, *to])
            keys, values = to

    return start


def fitted_to_sweep(variant: Variant, rows: Rows, widest: int, able: Capabilities) -> tuple[Variant, int]:
    """Return the variant in tiles that fill the device and fit in local memory, and the bytes of local memory."""
    counts = 4 * DIGITS * variant.block // (able.warp or 1)
    items = variant.items

    def local() -> int:
        return max(counts, variant.block * items * widest)

    while items > _LEAST_ITEMS and (
        local() > able.asked_local_memory - SPARE_SWEEP or variant.block * items * able.compute_units > rows.size
    ):
        items //= 2
    return variant.resized(items=items), local()


def fitted_to_merge(variant: Variant, length: int) -> Variant:
    """Return the variant in groups that are no larger than rows need."""
    block = variant.block
    while block > _LEAST_BLOCK and block // 2 * variant.items >= length:
        block //= 2
    return variant.resized(block=block)


def _ends(begins: Four[int], *, last: bool) -> tuple[int, int]:
    """Return where a pass writes: the last one to the results, others to the start of their memory."""
    return (begins.sorted, begins.kept) if last else (0, 0)


def _side(work: Work) -> tuple[Any, Any]:
    """Allocate memory for keys between passes, and for what goes with them."""
    scratch = work.device.driver.scratch
    keys = scratch(work.rows.size * work.keys.nbytes)
    return keys, scratch(work.rows.size * work.carried.itemsize) if work.carried else keys
