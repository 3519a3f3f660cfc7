"""The launch of a sort of elements that fit in the tiles of groups that run at the same time."""

from __future__ import annotations

from typing import Any

from gpuprims.primitives.sort.keys import DIGITS
from gpuprims.primitives.sort.lane_order import RANKS, lanes_in_order
from gpuprims.primitives.sort.room import fitted_at_once
from gpuprims.primitives.sort.spec import DIFFERING
from gpuprims.primitives.sort.turns import Turns
from gpuprims.primitives.sort.work import Four, Passes, Work

# Tables of counts; bytes of a count; 32-bit words by which groups count how many have arrived, and tell what differs.
_TABLES, _COUNT, _COUNTERS = 2, 2, 6


def at_once(work: Work) -> Passes:
    """Sort all elements in one launch."""
    device, n = work.device, work.rows.length
    widest = max(work.keys.nbytes, work.carried.itemsize if work.carried else 0)
    chosen, local = fitted_at_once(work.variant, n, widest, device.capabilities)
    groups = -(-n // chosen.tile)
    turns = Turns(work, work.keys.nbytes, counts=_TABLES * groups * DIGITS * _COUNT)
    first, second = [*turns.sides, (0, 0), (0, 0)][:2]
    in_order = lanes_in_order(device, work.variant)
    kernel = device.kernel(chosen, work.spec(6, lanes_in_order=in_order, parts=(*RANKS, DIFFERING)))
    launch = kernel.prepare(groups, work.layout, n, *work.begins, *first, *second, local=local)

    def start(memories: Four[Any]) -> None:
        launch([*memories, turns.allocate(), device.driver.counters(_COUNTERS)])

    return start
