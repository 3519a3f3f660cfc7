"""Queues of tiles that bulk copies move: how large the tiles are, and how many fit in local memory.

By the bytes that a work-item moves and the registers that its values need.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.geometry import Geometry, Refusal, first_refusal
from gpuprims.core.refusals import bulk_copies, group_fits
from gpuprims.core.traits import CallTraits
from gpuprims.primitives.fixed_scans import RUN
from gpuprims.primitives.scan_tiles import APART, BULK_BYTES, ScanTraits

# 32-bit words of the values of a run, which a work-item keeps in registers; fewer where an element is a byte:
# NVRTC 12.9 then spills 48 bytes of them on sm_90.
_WORDS, _WORDS_OF_BYTES = 60, 47
# The largest value, in words, whose runs stay in registers.
_HELD_WORDS = 2
# Most words in which a work-item holds the elements of its run that results need (row queues-elements).
_HELD_ELEMENTS = 72
# If results take this many times the bytes of their elements, tiles are larger by a factor (row queues).
_WIDENED, _MORE = 4, 36 / 28
# Tiles of elements: at most, and at least with two tiles of results instead of one; in the order of fixed_scans.py, too
# (row fixed_queues).
_DEEPEST, _DEEP, _DEEP_IN_ORDER = 12, 4, 5
# Work-items that scan values of so many words, and gradients of more words than a few, if so many bytes pass the queue
# for each word. Their queues have at least so many tiles of elements, of at most so many bytes in all (not those of
# gradients), and a work-item holds so many words of elements (row queues-words).
_SCAN = {3: 128, 4: 192, 5: 128, 6: 192}
_SCAN_GRADIENTS, _FEW_WORDS, _PASSING = 128, 3, 5
_DEEP_OF_WORDS, _IN_QUEUE, _HELD_OF_WORDS = 5, 150 << 10, 80
# Tiles of a multiprocessor from which on these queues are worth their larger tiles.
_MANY_TILES = 8
# Tiles of elements of float32 or larger types in queues of gradients of few words, at least (row queues-words).
_DEEP_OF_GRADIENTS = 7
# Up to this many bytes of an element and its results, tiles of short rows are smaller (row queues-banks).
_NARROW = 2
# Bytes of a unit's local memory that CUDA takes for each group, and of a group's that a kernel uses beside its arrays:
# of a queue in the order of fixed_scans.py, and of others, whose bytes CUDA rounds up to whole blocks.
_RESERVED, _SPARE, _OWN = 1024, 256, 4
# Values of the halves of tiles of tiles, and what is before these (fixed_tiles.h).
_HALVES = 32
# Bytes of local memory that a kernel may declare, of the 48 KiB that CUDA allows.
_DECLARED = 40 << 10


class Queue(NamedTuple):
    """The tiles of a scan that bulk copies move: elements of a work-item, bytes of all tiles, the kernel's numbers."""

    items: int
    local: int
    runs: int  # work-items that scan
    depth: int  # tiles of elements in local memory
    places: int  # tiles of results
    lookups: int  # tile statuses that a lane reads
    late: bool = False  # a work-item loads the values of its run one vector after the other, and keeps the tile so long

    @property
    def tile(self) -> int:
        """Elements of a tile."""
        return self.runs * self.items

    @property
    def block(self) -> int:
        """Work-items of a group: as many fold as scan, and three warps have other duties."""
        return 2 * self.runs + 3 * 32

    @property
    def numbers(self) -> dict[str, int]:
        """The numbers that the kernel is compiled with, by name."""
        return {
            "runs": self.runs,
            "depth": self.depth,
            "places": self.places,
            "lookups": self.lookups,
            "late": self.late,
        }


def queue_of(at: Geometry, able: Capabilities, call: ScanTraits) -> Queue:
    """Return the tiles for a geometry and a call; fewer than two if they do not fit.

    A work-item's elements are an odd number of vectors, so that neighbouring lanes use different banks of local memory.
    """
    if (queue := _queue_of_words(at, able, call)) is not None:
        return queue
    runs, lookups = _runs(at), _lookups(at, able)
    words = _WORDS if call.passing > 2 else _WORDS_OF_BYTES
    wide = call.result_bytes >= _WIDENED * call.queued_bytes > 0
    nbytes = 8 * at.items * (_MORE if wide else 1)  # of a work-item's elements and results
    most, held = int(nbytes) // (call.vector * call.passing), words // (call.vector * call.words)
    late = call.rereads or (call.words > _HELD_WORDS and held < most)
    if call.rereads:
        most = min(most, _HELD_ELEMENTS // (call.vector * max(call.brought, call.element_bytes // 4)))
    else:
        most = min(most, words // call.vector if late else held)
    most = most * call.vector // call.step
    items = _in_row(call, runs, call.step * max(most - 1 + most % 2, 1))
    values, found = runs + runs // 32 + 1, _found(call, lookups)
    two, one = (_queue(at, able, call, items, values, lookups, learning=found, most=n) for n in (2, 1))
    if call.rereads and call.words <= _HELD_WORDS and call.element_bytes >= 4 * call.brought:
        fewer = range(items, 0, -2 * call.step)
        queues = (_queue(at, able, call, n, values, lookups, learning=found, most=1) for n in fewer)
        one = next((queue for queue in queues if queue.depth >= _DEEP_OF_GRADIENTS), one)
    pays = call.phased or (call.words <= _HELD_WORDS and one.depth > two.depth)  # rows: queues-places
    return (one if pays and call.result_bytes <= call.queued_bytes else two)._replace(late=late)


def _queue_of_words(at: Geometry, able: Capabilities, call: ScanTraits) -> Queue | None:
    """Return the tiles for values of several words, or None if the larger number of work-items scans others faster."""
    if call.rereads:
        runs = _SCAN_GRADIENTS if call.words > _FEW_WORDS else 0
        most = _HELD_OF_WORDS // (call.vector * max(call.brought, call.element_bytes // 4))
    else:
        runs = 0 if call.phased else _SCAN.get(call.words, 0)
        most = _WORDS // (call.vector * call.words)
    if not 0 < runs < _runs(at) or call.passing < _PASSING * call.words:
        return None
    few, lookups = at._replace(block=2 * runs + 3 * 32), _lookups(at, able)
    values, found = runs + runs // 32 + 1, _found(call, lookups)
    for vectors in range(most, 0, -1):
        items = _in_row(call, runs, call.vector * vectors)
        deepest = call.rereads * _DEEPEST or _IN_QUEUE // (runs * items * call.queued_bytes)
        queue = _queue(few, able, call, items, values, lookups, learning=found, most=1, deepest=deepest)
        if queue.depth >= _DEEP_OF_WORDS and (vectors < 3 or vectors % 2):
            many = call.tiles(queue.tile) >= _MANY_TILES * able.compute_units
            return queue._replace(late=call.rereads) if many else None
    return None


def _in_row(call: ScanTraits, runs: int, items: int) -> int:
    """Return at most so many elements of a work-item, with which the tiles of a row are alike."""
    pieces = max(-(-call.row // (runs * items)), 1)
    if pieces == 1 and call.widest > _NARROW:
        return items
    return min(call.step * (-(-call.row // (pieces * runs * call.step)) // 2 * 2 + 1), items)


def _lookups(at: Geometry, able: Capabilities) -> int:
    """Return how many tile statuses a lane reads."""
    return -(-able.compute_units * (at.groups_per_unit or 1) // 32)


def _found(call: ScanTraits, lookups: int) -> int:
    """Return the bytes of the words of these statuses."""
    return 4 * 32 * lookups * call.words


def ordered_queue_of(at: Geometry, able: Capabilities, call: ScanTraits) -> Queue:
    """Return the tiles for the order of fixed_scans.py: a work-item has a run of each of several of its tiles.

    The queue has fewer of them if a deep queue of more does not fit in local memory.
    """
    most = max(at.items // (RUN * call.words), 1)
    queues = (_ordered_queue(at, able, call, tiles) for tiles in range(most, 0, -1))
    return next((queue for queue in queues if queue.depth >= _DEEP_IN_ORDER), _ordered_queue(at, able, call, 1))


def _ordered_queue(at: Geometry, able: Capabilities, call: ScanTraits, tiles: int) -> Queue:
    runs = _runs(at)
    lookups = -(-(able.compute_units * (at.groups_per_unit or 1) * tiles + RUN - 1) // 32)
    learning = lookups * (32 + 32 // RUN) + 2 * runs + _HALVES
    values = tiles * (runs + runs // 32 + 2)
    nbytes = learning * call.value_bytes
    return _queue(
        at, able, call, tiles * RUN, values, lookups, parts=tiles, learning=nbytes, deep=_DEEP_IN_ORDER, spare=_SPARE
    )


def _runs(at: Geometry) -> int:
    """Return how many work-items of a group scan: as many fold, and three warps have other duties."""
    return (at.block // 32 - 3) // 2 * 32


def _queue(
    at: Geometry,
    able: Capabilities,
    call: ScanTraits,
    items: int,
    values: int,
    lookups: int,
    *,
    parts: int = 1,
    learning: int = 0,
    deep: int = _DEEP,
    deepest: int = _DEEPEST,
    most: int = 2,
    spare: int = _OWN,
) -> Queue:
    """Return as deep a queue as fits, if each tile has ``values`` and the warp that learns prefixes some bytes.

    A warp gathers a tile's results in so many ``parts``. There are at ``most`` so many tiles of results.
    """
    runs, resident = _runs(at), at.groups_per_unit or 1
    room = able.asked_local_memory
    if able.unit_local_memory:
        room = min(room, able.unit_local_memory // resident - _RESERVED)
    room -= learning + spare
    block = BULK_BYTES * call.phased  # before the first element of an operand
    elements = runs * items * call.queued_bytes + block * call.brought
    results = runs * items * call.result_bytes + block * call.taken * parts * (runs // 32)
    nbytes = values * call.value_bytes + 40  # with barriers
    for places in range(most, 0, -1):
        depth = min((room - places * results) // (elements + nbytes), (_DECLARED - learning) // nbytes, deepest)
        rounding = -(learning + spare + depth * nbytes) % BULK_BYTES
        depth -= depth * (elements + nbytes) + places * results + rounding > room
        if depth >= deep:
            depth -= depth > deep and depth % 2 == 0  # queues of an even depth were slower (row queues-depth)
            break
    return Queue(items, depth * elements + places * results, runs, depth, places, lookups)


def queueable(at: Geometry, queue: Callable[[Geometry, Capabilities, ScanTraits], Queue] = queue_of) -> Refusal:
    """Refuse devices that cannot run a queue of tiles for a call, and operands that bulk copies cannot move."""

    def refuse(capabilities: Capabilities, call: CallTraits) -> str | None:
        if (reason := bulk_copies(capabilities, call)) is not None:
            return reason
        traits = ScanTraits.of(call)
        if not traits.streams:
            return (
                f"is for elements that lie at most {APART} bytes apart, and for results side by side at the places of "
                "their elements; this call's lie otherwise"
            )
        if queue(at, capabilities, traits).depth < 2:
            there = capabilities.asked_local_memory
            return f"needs local memory for two tiles in a group's queue; {capabilities.name} has {there} bytes"
        return None

    return first_refusal(group_fits(at.block), refuse)
