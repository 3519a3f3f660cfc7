"""Which scans a variant cannot run, or others run faster. Comments name the rows of measurements.md."""

from __future__ import annotations

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.geometry import Geometry, Refusal, first_refusal
from gpuprims.core.refusals import SPARE_LOCAL, columns, few_outputs, lacks_local, many_rows, warps_of
from gpuprims.core.traits import CallTraits
from gpuprims.primitives.fixed_scans import RUN, TILE
from gpuprims.primitives.queues import ordered_queue_of, queue_of, queueable
from gpuprims.primitives.scan_tiles import FAR, ScanTraits

# Tiles of a multiprocessor from which on a queue is worth its start, and of values of several words or elements that
# round_robin loads one by one. rows: queues-short, queues-pairs
_QUEUED, _QUEUED_ALONE = 8, 2
# Words of values, at most, if results need elements; a queue of more spills registers. rows: queues-elements
_MOST_WORDS = 10
# Bytes of the elements and results of a tile, at least, if the tiles of a queue end where rows end.
_LEAST_MOVED = 16 << 10  # rows: queues-rows
# Elements of a long row, at most, that a few lanes scan; rows from which on they fill a device; elements of vectors.
_LONGEST, _MANY_LONG, _NEIGHBOURS = 1 << 15, 2048, 8  # rows: rows-peeled
# Elements of an output in the order of fixed_scans.py: as many tiles as a tile has runs, twice.
MOST_IN_ORDER = TILE * TILE * TILE
# Outputs that fill a device if each has a few lanes.
_MANY = 1024  # rows: fixed_rows
# Bytes of a value in that order: more take too many registers.
MOST_BYTES = 8

# Elements from which on fewer readings were measured to pay (row fixed_round_robin).
_LONG = 2**20
# The most statuses that a group reads at once in that order.
LOOKED_UP = 1024
# Largest value, in bytes, for which a work-item holds a run in registers twice.
_MOST_TURNED = 16  # rows: fixed_rows

# Outputs side by side from which on work-items alone scan them sooner than groups scan strips, as multiples of a warp's
# lanes for each compute unit: if values have several words; if elements are narrow, or values have two numbers; if
# outputs are short. rows: columns-each
_WORDS, _TURNS_OF_WORDS = 3, 1
_NARROW, _TURNS_OF_NARROW = 2, 4
_SHORT_COLUMN, _TURNS_OF_SHORT = 64, 16
ALONE_COLUMNS = 2048
# Elements of such an output, at most, and outputs that lie together, at least, if runs of strips read narrow elements
# twice and yet sooner.
_LONG_NARROW, _WIDE_NARROW = 1 << 13, 500  # rows: columns-each


def wide_columns(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Yield outputs side by side that work-items scan sooner alone.

    A group that scans a strip keeps a tile of values in registers, and loads as many elements as that has values. If
    values are large or elements narrow, these are few bytes, and a tile of short outputs is not full. Work-items alone
    load more and wait for nobody, but each needs an output.
    """
    traits = ScanTraits.of(call)
    if traits.words >= _WORDS:
        turns = _TURNS_OF_WORDS
    elif _narrow(traits) or (traits.numbers > 1 and traits.neighbours < FAR):
        turns = _TURNS_OF_NARROW
    elif call.size <= _SHORT_COLUMN:
        turns = _TURNS_OF_SHORT
    else:
        return None
    least = turns * capabilities.compute_units * max(capabilities.warp, 1)
    if call.outputs < least or columns(ALONE_COLUMNS)(capabilities, call):
        return None
    return f"takes longer than scan/each for {least} or more such outputs side by side; this call has {call.outputs}"


def narrow_columns(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Yield narrow elements of outputs side by side, unless these are long or few, or have sums of 64 bits.

    A tile of strips has few of their bytes, and values of 16 bits do not stay in registers.
    """
    traits = ScanTraits.of(call)
    sums = traits.words == _WORDS - 1
    if sums or not _narrow(traits) or traits.neighbours < _WIDE_NARROW or call.size > _LONG_NARROW:
        return None
    if columns(ALONE_COLUMNS)(capabilities, call):
        return None
    rule = f"takes longer than scan/column_runs for elements of at most {_NARROW} bytes"  # rows: columns-each
    return f"{rule}; this call's have {traits.element_bytes}"


def _narrow(traits: ScanTraits) -> bool:
    return 0 < traits.element_bytes <= _NARROW


def many_short_rows(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse calls where a few lanes for each output leave warps idle or read far apart, and several tiles."""
    if call.side_by_side:
        return "is for outputs whose elements lie together; this call's outputs lie side by side"
    if call.size <= TILE and call.outputs >= _MANY:
        return None
    rule = f"is for {_MANY} or more outputs of at most {TILE} elements"
    return f"{rule}; this call has {call.outputs} of {call.size}"


def rows_of_lanes(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse calls where a few lanes for each output leave warps idle or read far apart in memory.

    Rows may be longer if a queue would take them an element at a time, or if its tiles were much longer than they are.
    """
    traits = ScanTraits.of(call)
    vectors = traits.peeled or (traits.widest <= _NARROW and traits.vector >= _NEIGHBOURS)
    long = not call.side_by_side and call.outputs >= _MANY_LONG and call.size <= _LONGEST
    return None if vectors and long else many_rows(capabilities, call)


def queue_pays(at: Geometry) -> Refusal:
    """Refuse calls that other variants run faster."""

    def refuse(capabilities: Capabilities, call: CallTraits) -> str | None:
        traits = ScanTraits.of(call)
        queue = queue_of(at, capabilities, traits)
        if traits.rereads and traits.words > _MOST_WORDS:
            rule = f"is for values of at most {_MOST_WORDS} words, if results need elements"
            return f"{rule}; this call's have {traits.words}"
        if traits.rows > 1 and min(traits.row, queue.tile) * traits.passing < _LEAST_MOVED:
            return f"is for rows that fill a tile; this call has {traits.rows} rows of {traits.row} elements"
        few = _QUEUED if traits.words == 1 and traits.vector > 1 else _QUEUED_ALONE
        wanted, tiles = few * capabilities.compute_units, traits.tiles(queue.tile)
        return None if tiles >= wanted else f"is for {wanted} or more tiles of {queue.tile}; this call has {tiles}"

    return first_refusal(queueable(at), few_outputs, refuse)


def ordered_queue_fits(at: Geometry) -> Refusal:
    """Refuse calls that a queue in the fixed order cannot run."""

    def refuse(capabilities: Capabilities, call: CallTraits) -> str | None:
        traits = ScanTraits.of(call)
        rows = traits.rows
        if traits.rereads:
            return "is for results that need no elements; this call's need those at their own places"
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


def stretches_fit(at: Geometry) -> Refusal:
    """Refuse values that take too much room, and more elements than the order has levels for."""

    def refuse(capabilities: Capabilities, call: CallTraits) -> str | None:
        if call.value_bytes > MOST_BYTES:
            return f"is for values of at most {MOST_BYTES} bytes; this call's have {call.value_bytes}"
        if call.size > MOST_IN_ORDER:
            return f"is for outputs of at most 2^36 elements; this call's have {call.size}"
        values = LOOKED_UP * (RUN + 1) // RUN + 3 * (TILE // RUN) + warps_of(at.block, capabilities) * (at.items // RUN)
        return lacks_local(at.block * RUN * 4 + values * call.value_bytes + 4 * SPARE_LOCAL, capabilities)

    return refuse


def runs_turn(at: Geometry) -> Refusal:
    """Refuse values that take too much room where a warp turns its runs."""

    def refuse(capabilities: Capabilities, call: CallTraits) -> str | None:
        if call.value_bytes > _MOST_TURNED:
            return f"is for values of at most {_MOST_TURNED} bytes; this call's have {call.value_bytes}"
        return lacks_local(at.block * RUN * 4 + SPARE_LOCAL, capabilities)

    return refuse


def too_short(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Yield outputs that do not give all groups a stretch; those of some thousand elements fill none."""
    if call.size >= _LONG:
        return None
    return f"is for outputs of {_LONG} or more elements; this call's have {call.size}"


def not_two_long(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Yield two long outputs side by side, which fixed_round_robin moves fewer times (row fixed_columns)."""
    if call.outputs > 2 or call.size < _LONG:
        return None
    return f"takes longer than fixed_round_robin for two outputs of {_LONG} or more elements"
