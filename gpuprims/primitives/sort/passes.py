"""The launches of a sort, from rows side by side to rows side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.driver import Launch
from gpuprims.core.together import together
from gpuprims.core.variant import Variant
from gpuprims.primitives.sort.buckets import by_buckets
from gpuprims.primitives.sort.chunks import by_chunks
from gpuprims.primitives.sort.counted import by_counts
from gpuprims.primitives.sort.keys import DIGITS
from gpuprims.primitives.sort.lane_order import RANKS, lanes_in_order
from gpuprims.primitives.sort.resident import at_once
from gpuprims.primitives.sort.short_rows import in_groups, in_lanes
from gpuprims.primitives.sort.traits import LANES, LEAST_MERGING, merged_bytes
from gpuprims.primitives.sort.turns import Turns
from gpuprims.primitives.sort.work import Four, Passes, Rows, Work

_LEAST_ITEMS = 4
# Local memory of a group that sweeps, beside that of its tile.
SPARE_SWEEP = 4 * (2 * DIGITS + 64)


def passes_of(work: Work) -> Passes:
    """Return the function that sorts rows by a variant."""
    ways = {
        "cpu_chunks": by_chunks,
        "onesweep": _by_sweeps,
        "counted": by_counts,
        "buckets": by_buckets,
        "resident": at_once,
        "places": _by_places,
        "lanes": in_lanes,
        "rows": in_groups,
        "merge": _by_merging,
        "cpu_merge": _by_merging,
    }
    return ways.get(work.variant.name, _by_rows)(work)


def _by_rows(work: Work) -> Passes:
    """Sort each row in one piece, all in one launch."""
    device, (count, length) = work.device, work.rows
    groups = work.variant.groups(count, device.capabilities)
    kernel = device.kernel(work.variant, work.spec(5))
    launch = kernel.prepare(groups, work.layout, count, length, *work.begins)
    nbytes = groups * 2 * length * work.moved_bytes
    return lambda memories: launch([*memories, device.driver.scratch(nbytes)])


def _by_places(work: Work) -> Passes:
    """Place each element by comparing it with all others of its row, in one launch."""
    device, rows, variant = work.device, work.rows, work.variant
    groups = variant.groups(-(-rows.length * LANES // variant.block) * rows.many, device.capabilities)
    return device.kernel(variant, work.spec(4)).prepare(groups, work.layout, *rows, *work.begins)


def _by_sweeps(work: Work) -> Passes:
    """Count all digits in one launch, and move elements by one digit in each of the next."""
    device, rows, able = work.device, work.rows, work.device.capabilities
    nbytes = work.keys.nbytes
    chosen, local = fitted_to_sweep(work.variant, rows, max(nbytes, work.carried.itemsize if work.carried else 0), able)
    tiles = -(-rows.length // chosen.tile)
    groups = chosen.groups(tiles * rows.many, able)
    parts = max(groups // rows.many, 1)
    count, sweep = together(
        device,
        lambda: device.kernel(chosen, work.spec(3, "counts", parts=RANKS)),
        lambda: device.kernel(chosen, work.spec(6, lanes_in_order=lanes_in_order(device, work.variant), parts=RANKS)),
    )
    turns = Turns(work, nbytes, counts=4 * DIGITS * nbytes * rows.many)
    numbers = rows.length, parts, work.begins.keys
    counting = count.prepare(rows.many * parts, work.layout, *numbers, local=4 * nbytes * DIGITS)
    launches = [
        sweep.prepare(groups, work.layout, *rows, tiles, byte, *turns.ends(byte), *turns.places(byte), local=local)
        for byte in range(turns.passes)
    ]

    def start(memories: Four[Any]) -> None:
        driver, between = device.driver, turns.allocate()
        statuses = driver.tile_statuses(1 + tiles * rows.many * DIGITS)
        counting([memories.keys, between, driver.counters(rows.many * (nbytes * DIGITS + 1))])
        for byte, launch in enumerate(launches):
            keys, values, *to = turns.memories(byte, memories, between)
            launch([keys, values, between, *to, statuses])

    return start


def _by_merging(work: Work) -> Passes:
    """Sort tiles, and merge runs of them until each row is one."""
    device, rows = work.device, work.rows
    chosen = fitted_to_merge(work.variant, rows.length, work.keys.nbytes, device.capabilities)
    tiles = -(-rows.length // chosen.tile)
    groups = chosen.groups(tiles * rows.many, device.capabilities)
    runs = [chosen.tile << k for k in range((tiles - 1).bit_length())]
    turns = Turns(work, 1 + len(runs))
    by_groups = chosen.block > 1  # whose work-items would all wait for the two that search
    crossings = _crossings(work, chosen, tiles, runs, turns) if by_groups else []
    launches = []
    for k in range(turns.passes):
        kernel = device.kernel(chosen, work.spec(5 if crossings else 4) if k else work.spec(4, "tiles"))
        _, last = turns.ends(k)
        launches.append(kernel.prepare(groups, work.layout, *rows, tiles, *runs[k - 1 : k], last, *turns.places(k)))

    def start(memories: Four[Any]) -> None:
        between = turns.allocate()
        launches[0]([*turns.memories(0, memories, between)])
        found = [device.driver.scratch(8 * tiles * rows.many)] if crossings else []
        for k, launch in enumerate(launches[1:], 1):
            given = turns.memories(k, memories, between)
            if crossings:
                crossings[k - 1]([given.keys, *found])
            launch([*given, *found])

    return start


def _crossings(work: Work, chosen: Variant, tiles: int, runs: Sequence[int], turns: Turns) -> list[Launch]:
    """Return the launches that find, for runs of each length, where the merge path enters each tile."""
    if not runs:
        return []
    groups = chosen.groups(-(-tiles * work.rows.many // chosen.block), work.device.capabilities)
    kernel = work.device.kernel(chosen, work.spec(2, "crosses"))
    numbers = [(*work.rows, tiles, run, turns.places(k).keys) for k, run in enumerate(runs, 1)]
    return [kernel.prepare(groups, work.layout, *given) for given in numbers]


def fitted_to_sweep(variant: Variant, rows: Rows, widest: int, able: Capabilities) -> tuple[Variant, int]:
    """Return the variant in tiles that fill the device and fit in local memory, and its bytes of local memory."""
    counts = 4 * DIGITS * variant.block // (able.warp or 1)
    items = variant.items

    def local() -> int:
        return max(counts, variant.block * items * widest)

    while items > _LEAST_ITEMS and (
        local() > able.asked_local_memory - SPARE_SWEEP or variant.block * items * able.compute_units > rows.size
    ):
        items //= 2
    return variant.resized(items=items), local()


def fitted_to_merge(variant: Variant, length: int, nbytes: int, able: Capabilities) -> Variant:
    """Return the variant in groups that are no larger than rows need, and whose tiles fit in local memory."""
    block, items = variant.block, variant.items
    while block > LEAST_MERGING and (
        block // 2 * items >= length or merged_bytes(block * items, nbytes) > able.local_memory
    ):
        block //= 2
    return variant.resized(block=block)
