"""The launches of a sort on a CPU: chunks in buckets of near keys, and then each bucket."""

from __future__ import annotations

from typing import Any

from gpuprims.core.memory import section
from gpuprims.primitives.sort.work import Four, Passes, Work

# Buckets of a row, and bytes of its plan: as in chunk_buckets.h.
_BUCKETS, _PLAN = 256, 2 * 8 + 4 * 4 + 4096
# Elements of the smallest chunk that is worth a group of its own; groups for each unit, which share work; and the most
# such groups: their sides together have room for all elements.
_LEAST, _GROUPS, _MANY = 1 << 13, 4, 64  # rows: cpu_chunks


def by_chunks(work: Work) -> Passes:
    """Move the elements of each chunk to buckets of near keys, and sort each bucket."""
    device, (many, n), chosen = work.device, work.rows, work.variant
    units = device.capabilities.compute_units
    groups = max(min(_GROUPS * units, _MANY), min(units, _BUCKETS))
    parts = max(-(-n // chosen.items), min(groups, n // _LEAST), 1)
    room = max(2 * n // _BUCKETS, 1)  # twice the elements of a bucket, if buckets are equal
    spare = work.rows.size if work.wanted == "indices" else 0  # the result serves as a side for kept keys
    places, total = [], 0
    for elements in (work.rows.size, work.rows.size + spare, 2 * room * groups * many):
        for nbytes in (work.keys.nbytes, work.carried.itemsize if work.carried else 0):
            places.append(total // nbytes if nbytes else 0)
            total += section(elements * nbytes)
    kernel = device.kernel(chosen, work.spec(6, parts=("chunk_buckets.h",)))
    launches = [
        kernel.prepare(many * each, work.layout, many, n, step, parts, groups, room, spare, *work.begins, *places)
        for step, each in enumerate((1, parts, groups))
    ]
    table = many * (_PLAN + 4 * parts * (_BUCKETS + 1))

    def start(memories: Four[Any]) -> None:
        given = [*memories, device.driver.scratch(total), device.driver.scratch(table)]
        for launch in launches:
            launch(given)

    return start
