"""How large the tiles of a scan are: by the bytes that a work-item moves and the registers that its values need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.driver import Kernel, Launch
from gpuprims.core.geometry import Geometry, Refusal, first_refusal
from gpuprims.core.launch_plan import in_turn
from gpuprims.core.layout import Layout, plan_layout
from gpuprims.core.refusals import bulk_copies, group_fits
from gpuprims.core.traits import CallTraits
from gpuprims.core.variant import Variant
from gpuprims.primitives.fixed_scans import RUN

# Bytes that bulk copies move at least, and at which they begin.
BULK_BYTES = 16
# Bytes that memory reads at least.
_SECTOR = 32
# Most bytes from an element to the next one: copies bring what lies between, as every read of memory does.
_APART = 32
# Strides of inputs that kernels know when they are compiled.
STEPS = (-1, 1, 2, 3, 4)
# 32-bit words of the values of a run, which a work-item keeps in registers; fewer where an element is a byte:
# NVRTC 12.9 then spills 48 bytes of them on sm_90. Neighbours that it loads at once.
_WORDS, _WORDS_OF_BYTES, _NEIGHBOURS = 60, 47, 8
# Words of a value of which a run stays in registers.
_HELD_WORDS = 2
# If results take this many times the bytes of their elements, tiles are larger by a factor (row queues).
_WIDENED, _MORE = 4, 36 / 28
# Tiles of elements: at most, and at least with two tiles of results instead of one.
_DEEPEST, _DEEP = 12, 4
# Bytes of a unit's local memory that CUDA takes for each group, and of a group's that a kernel uses beside its arrays.
_RESERVED, _SPARE = 1024, 256
# Values of the halves of tiles of tiles, and what is before these (fixed_tiles.h).
_HALVES = 32
# Bytes of local memory that a kernel may declare, of the 48 KiB that CUDA allows.
_DECLARED = 40 << 10


@dataclass(frozen=True)
class ScanTraits(CallTraits):
    """Facts about a scan.

    Parameters
    ----------
    element_bytes, result_bytes : int
        Bytes of the elements and of the results that lie at one place of the scanned axis.
    words : int
        32-bit words of a value.
    vector : int
        Neighbours of each operand that a work-item of a queue loads at once.
    neighbours : int
        Outputs that lie side by side in memory.
    streams : bool
        True if bulk copies can move all operands: along the scanned axis inputs lie few bytes apart, results side by
        side and at the places of their elements.
    sectors : bool
        True if neighbours along the scanned axis lie whole sectors of memory apart in all operands.
    brought, taken : int
        Inputs and results that move along the scanned axis.
    queued_bytes : int
        Bytes of such inputs from each element to the next; all of these bytes pass through a queue.
    phased : bool
        True if some operand or row may begin between multiples of 16 bytes, or inputs do not lie side by side.
    rows : int
        Rows of each output, of as many elements each, which a queue takes one after the other.
    """

    element_bytes: int = 0
    result_bytes: int = 0
    words: int = 1
    vector: int = 1
    neighbours: int = 1
    streams: bool = False
    sectors: bool = False
    brought: int = 1
    taken: int = 1
    queued_bytes: int = 0
    phased: bool = False
    rows: int = 1

    @classmethod
    def of(cls, call: CallTraits) -> ScanTraits:
        """Return the traits of a scan; facts that know no operands say of none that bulk copies can move them."""
        if isinstance(call, cls):
            return call
        return cls(**{one.name: getattr(call, one.name) for one in fields(CallTraits)})

    @property
    def passing(self) -> int:
        """Bytes that pass a queue for one element and its results."""
        return max(self.queued_bytes + self.result_bytes, 1)

    def tiles(self, tile: int) -> int:
        """Return the tiles of all outputs."""
        return self.outputs * self.rows * -(-self.row // tile)

    @property
    def row(self) -> int:
        """Elements of a row."""
        return self.size // max(self.rows, 1)


def streams(layout: Layout, inputs: int) -> bool:
    """Return True if bulk copies can move all operands of a layout; inputs may be the same along the scanned axis.

    Operands of one element have no neighbours. Numbers lie at multiples of their size, and so do pairs of them.
    """
    if len(layout.reduced) != 1:
        return False
    for k, (form, (stride,)) in enumerate(zip(layout.forms, layout.reduced_strides, strict=True)):
        if stride == 0 and k < inputs:
            continue
        alone = form.lanes == 1
        near = alone and k < inputs and stride in STEPS and abs(stride) * form.item <= _APART
        if not (stride == 1 or near) or not _begins_at(layout, k, min(form.item, BULK_BYTES) if alone else BULK_BYTES):
            return False
    return True


def _begins_at(layout: Layout, k: int, nbytes: int) -> bool:
    """Return True if an operand, and each of its rows, begins at a multiple of ``nbytes``."""
    form = layout.forms[k]
    return form.begins_at(layout.offsets[k] * form.item, nbytes) and not any(
        start * form.item % nbytes for start in layout.kept_strides[k]
    )


def in_rows(layout: Layout, shape: tuple[int, ...], axes: tuple[int, ...]) -> Layout:
    """Return the layout in which the rows of a scan of all elements are the outputs, in order; else the same layout."""
    if layout.kept or len(layout.reduced) < 2:
        return layout
    rows = (plan_layout(layout.forms, shape, axes[first:]) for first in range(1, len(axes)))
    return next((one for one in rows if len(one.reduced) == 1), layout)


def scan_traits(layout: Layout, inputs: int, *, placed: bool, **facts: Any) -> ScanTraits:
    """Return the traits of a scan, by rows that a queue takes; ``placed`` results are not at the places of elements."""
    strides = [own[-1] if own else 1 for own in layout.reduced_strides]
    moving = [k for k, stride in enumerate(strides) if stride]
    moved = [form.item if stride else 0 for form, stride in zip(layout.forms, strides, strict=True)]
    return ScanTraits(
        **facts,
        element_bytes=sum(moved[:inputs]),
        result_bytes=sum(moved[inputs:]),
        vector=min(layout.vector_width(), _NEIGHBOURS),
        neighbours=max(layout.kept[-1], 1) if layout.kept else 1,
        streams=not placed and streams(layout, inputs),
        sectors=not any(strides[k] * layout.forms[k].item % _SECTOR for k in moving),
        brought=sum(k < inputs for k in moving),
        taken=sum(k >= inputs for k in moving),
        queued_bytes=sum(abs(stride) * nbytes for stride, nbytes in zip(strides[:inputs], moved, strict=False)),
        phased=any(strides[k] != 1 or not _begins_at(layout, k, BULK_BYTES) for k in moving),
    )


class Queue(NamedTuple):
    """The tiles of a scan that bulk copies move: elements of a work-item, bytes of all tiles, the kernel's numbers."""

    items: int
    local: int
    runs: int  # work-items that scan
    depth: int  # tiles of elements in local memory
    places: int  # tiles of results
    lookups: int  # tile statuses that a lane reads
    late: bool = False  # a work-item loads the values of its run one vector after the other

    @property
    def tile(self) -> int:
        """Elements of a tile."""
        return self.runs * self.items

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
    runs, resident = _runs(at), at.groups_per_unit or 1
    words = _WORDS if call.passing > 2 else _WORDS_OF_BYTES
    wide = call.result_bytes >= _WIDENED * call.queued_bytes > 0
    nbytes = 8 * at.items * (_MORE if wide else 1)  # of a work-item's elements and results
    most, held = int(nbytes) // (call.vector * call.passing), words // (call.vector * call.words)
    late = call.words > _HELD_WORDS and held < most
    most = min(most, words // call.vector if late else held)
    items = call.vector * max(most - 1 + most % 2, 1)
    if (pieces := -(-call.row // (runs * items))) > 1:  # tiles of a row, alike
        items = min(call.vector * (-(-call.row // (pieces * runs * call.vector)) // 2 * 2 + 1), items)
    queue = _queue(at, able, call, items, runs + runs // 32 + 1, -(-able.compute_units * resident // 32))
    return queue._replace(late=late)


def ordered_queue_of(at: Geometry, able: Capabilities, call: ScanTraits) -> Queue:
    """Return the same for tiles of the order of fixed_scans.py: a work-item has a run of each of several such tiles.

    They are fewer if only few fit.
    """
    most = max(at.items // (RUN * call.words), 1)
    queues = (_ordered_queue(at, able, call, tiles) for tiles in range(most, 0, -1))
    return next((queue for queue in queues if queue.depth >= _DEEP), _ordered_queue(at, able, call, 1))


def _ordered_queue(at: Geometry, able: Capabilities, call: ScanTraits, tiles: int) -> Queue:
    runs = _runs(at)
    lookups = -(-(able.compute_units * (at.groups_per_unit or 1) * tiles + RUN - 1) // 32)
    learning = lookups * (32 + 32 // RUN) + 2 * runs + _HALVES
    values = tiles * (runs + runs // 32 + 2)
    return _queue(at, able, call, tiles * RUN, values, lookups, learning * call.value_bytes)


def _runs(at: Geometry) -> int:
    """Return how many work-items of a group scan: as many fold, and three warps have other duties."""
    return (at.block // 32 - 3) // 2 * 32


def _queue(
    at: Geometry, able: Capabilities, call: ScanTraits, items: int, values: int, lookups: int, learning: int = 0
) -> Queue:
    """Return as deep a queue as fits, if each tile has ``values`` and the warp that learns prefixes some bytes."""
    runs, resident = _runs(at), at.groups_per_unit or 1
    room = able.asked_local_memory - _SPARE
    if able.unit_local_memory:
        room = min(room, able.unit_local_memory // resident - _RESERVED - _SPARE)
    room -= learning
    block = BULK_BYTES * call.phased  # before the first element of an operand
    elements = runs * items * call.queued_bytes + block * call.brought
    results = runs * items * call.result_bytes + block * call.taken * (runs // 32)
    nbytes = values * call.value_bytes + 40  # with barriers
    for places in (2, 1):
        depth = min((room - places * results) // (elements + nbytes), (_DECLARED - learning) // nbytes, _DEEPEST)
        if depth >= _DEEP:
            depth -= depth > _DEEP and depth % 2 == 0  # queues of an even depth were slower (row queues-depth)
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
                f"is for elements that lie at most {_APART} bytes apart, and for results side by side at the places of "
                "their elements; this call's lie otherwise"
            )
        if queue(at, capabilities, traits).depth < 2:
            there = capabilities.asked_local_memory
            return f"needs local memory for two tiles in a group's queue; {capabilities.name} has {there} bytes"
        return None

    return first_refusal(group_fits(at.block), refuse)


def prepare_levels(
    kernel: Kernel, variant: Variant, able: Capabilities, layout: np.ndarray, outputs: int, size: int
) -> tuple[Launch, int]:
    """Return launches over aggregates of tiles, aggregates of these, and back; and the number of all aggregates."""
    sizes, starts, end = [size], [-1], 0  # elements of an output at each level, and the level's first value
    while sizes[-1] > variant.tile:
        sizes.append(-(-sizes[-1] // variant.tile))
        starts.append(end)
        end += outputs * sizes[-1]
    last = len(sizes) - 1

    def launch(level: int, *, folds: bool) -> Launch:
        tiles, above = (outputs * sizes[level + 1], starts[level + 1]) if level < last else (outputs, -1)
        groups = variant.groups(tiles, able)
        return kernel.prepare(groups, layout, outputs, sizes[level], starts[level], above, int(folds))

    up = [launch(level, folds=True) for level in range(last)]
    down = [launch(level, folds=False) for level in reversed(range(last + 1))]
    return in_turn([*up, *down]), max(end, 1)
