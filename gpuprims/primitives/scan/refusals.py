"""Which scans queues of tiles run faster than other variants. Comments name the rows of measurements.md."""

from __future__ import annotations

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.geometry import Geometry, Refusal, first_refusal
from gpuprims.core.refusals import few_outputs
from gpuprims.core.traits import CallTraits
from gpuprims.primitives.fixed_scans import TILE
from gpuprims.primitives.queues import ordered_queue_of, queue_of, queueable
from gpuprims.primitives.scan_tiles import ScanTraits

# Tiles of a multiprocessor from which on a queue is worth its start, and of values of several words or elements that
# round_robin loads one by one. rows: queues-short
_QUEUED, _QUEUED_ALONE = 8, 2
# Bytes of the elements and results of a tile, at least, if the tiles of a queue end where rows end.
_LEAST_MOVED = 16 << 10  # rows: queues-rows
# Elements of an output in the order of fixed_scans.py: as many tiles as a tile has runs, twice.
MOST_IN_ORDER = TILE * TILE * TILE
# Bytes of a value in that order: more take too many registers.
MOST_BYTES = 8


def queue_pays(at: Geometry) -> Refusal:
    """Refuse calls that other variants run faster."""

    def refuse(capabilities: Capabilities, call: CallTraits) -> str | None:
        traits = ScanTraits.of(call)
        queue = queue_of(at, capabilities, traits)
        if not traits.commutative and traits.words == 2 and traits.vector > 1:  # rows: queues
            return "is for values of other than 2 words, or operators that commute, or elements loaded one by one"
        if traits.rows > 1 and min(traits.row, queue.tile) * traits.passing < _LEAST_MOVED:
            return f"is for rows that fill a tile; this call has {traits.rows} rows of {traits.row} elements"
        few = _QUEUED if traits.words == 1 and traits.vector > 1 else _QUEUED_ALONE
        wanted, tiles = few * capabilities.compute_units, traits.tiles(queue.tile)
        return None if tiles >= wanted else f"is for {wanted} or more tiles of {queue.tile}; this call has {tiles}"

    return first_refusal(queueable(at), few_outputs, refuse)


def ordered_queue_fits(at: Geometry) -> Refusal:
    """Refuse calls that a queue in the fixed order cannot run."""

    def refuse(capabilities: Capabilities, call: CallTraits) -> str | None:
        rows = ScanTraits.of(call).rows
        if call.value_bytes > MOST_BYTES:
            return f"is for values of at most {MOST_BYTES} bytes; this call's have {call.value_bytes}"
        if call.size > MOST_IN_ORDER:
            return f"is for outputs of at most 2^36 elements; this call's have {call.size}"
        return None if rows == 1 else f"is for outputs of one row; this call's have {rows}"

    return first_refusal(queueable(at, ordered_queue_of), few_outputs, refuse)


def ordered_queue_pays(at: Geometry) -> Refusal:
    """Refuse those, and calls that other variants of the same order run faster."""

    def refuse(capabilities: Capabilities, call: CallTraits) -> str | None:
        traits = ScanTraits.of(call)
        queue = ordered_queue_of(at, capabilities, traits)
        wanted, tiles = _QUEUED * capabilities.compute_units, traits.tiles(queue.tile)
        return None if tiles >= wanted else f"is for {wanted} or more tiles of {queue.tile}; this call has {tiles}"

    return first_refusal(ordered_queue_fits(at), refuse)
