"""The launches of a radix sort whose groups do not wait for each other."""

from __future__ import annotations

from typing import Any

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.driver import Launch
from gpuprims.core.together import together
from gpuprims.core.variant import Variant
from gpuprims.primitives.sort.keys import DIGITS
from gpuprims.primitives.sort.traits import counted_bytes
from gpuprims.primitives.sort.turns import Turns
from gpuprims.primitives.sort.work import Four, Passes, Work

_PARTS = ("lower_sums.h",)


def by_counts(work: Work) -> Passes:
    """For each digit: count it in each tile, add up the counts of the tiles before, and move the elements."""
    device, rows, able = work.device, work.rows, work.device.capabilities
    chosen = fitted_to_count(work.variant, work.moved_bytes, able)
    tiles = -(-rows.length // chosen.tile)
    count, scan, move = together(
        device,
        lambda: device.kernel(chosen, work.spec(2, "counts", parts=_PARTS)),
        lambda: device.kernel(chosen, work.spec(1, "scans", parts=_PARTS)),
        lambda: device.kernel(chosen, work.spec(5, parts=_PARTS)),
    )
    turns = Turns(work, work.keys.nbytes)
    groups, lines = chosen.groups(tiles * rows.many, able), rows.many * DIGITS
    scanning = scan.prepare(chosen.groups(lines, able), work.layout, rows.many, tiles)

    def launches_of(byte: int) -> tuple[Launch, Launch]:
        numbers, places = (*rows, tiles, byte), turns.places(byte)
        counting = count.prepare(groups, work.layout, *numbers, places.keys)
        return counting, move.prepare(groups, work.layout, *numbers, *turns.ends(byte), *places)

    launches = [launches_of(byte) for byte in range(turns.passes)]

    def start(memories: Four[Any]) -> None:
        between, table = turns.allocate(), device.driver.scratch(4 * lines * (tiles + 1))
        for byte, (counting, moving) in enumerate(launches):
            keys, values, *to = turns.memories(byte, memories, between)
            counting([keys, table])
            scanning([table])
            moving([keys, values, table, *to])

    return start


def fitted_to_count(variant: Variant, moved_bytes: int, able: Capabilities) -> Variant:
    """Return the variant in tiles that fit in local memory."""
    tile = variant.geometry
    while tile.items > 1 and counted_bytes(tile, moved_bytes) > able.local_memory:
        tile = tile._replace(items=tile.items // 2)
    return variant.resized(items=tile.items)
