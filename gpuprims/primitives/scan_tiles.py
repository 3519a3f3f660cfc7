"""How large the tiles of a scan are: by the bytes that a work-item moves and the registers that its values need."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.geometry import Geometry, Refusal, first_refusal
from gpuprims.core.layout import Layout
from gpuprims.core.refusals import bulk_copies, group_fits
from gpuprims.core.traits import CallTraits

# Bytes that bulk copies move at least, and at which they begin.
BULK_BYTES = 16
# 32-bit words of the values of a run, which a work-item keeps in registers; fewer where an element is a byte:
# NVRTC 12.9 then spills 48 bytes of them on sm_90. Neighbours that it loads at once.
_WORDS, _WORDS_OF_BYTES, _NEIGHBOURS = 60, 47, 8
# Tiles of elements: at most, and at least with two tiles of results instead of one.
_DEEPEST, _DEEP = 12, 4
# Bytes of a unit's local memory that CUDA takes for each group, and of a group's that a kernel uses beside its arrays.
_RESERVED, _SPARE = 1024, 256
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
        True if bulk copies can move all operands: neighbours along the scanned axis, in rows that begin at multiples
        of 16 bytes, with each result at the place of its element.
    """

    element_bytes: int = 0
    result_bytes: int = 0
    words: int = 1
    vector: int = 1
    neighbours: int = 1
    streams: bool = False

    @classmethod
    def of(cls, call: CallTraits) -> ScanTraits:
        """Return the traits of a scan; facts that know no operands say of none that bulk copies can move them."""
        if isinstance(call, cls):
            return call
        return cls(**{one.name: getattr(call, one.name) for one in fields(CallTraits)})

    @property
    def widest(self) -> int:
        """The larger of the bytes read and written at one place."""
        return max(self.element_bytes, self.result_bytes, 1)

    def tiles(self, tile: int) -> int:
        """Return the tiles of all outputs."""
        return self.outputs * -(-self.size // tile)


def streams(layout: Layout, inputs: int) -> bool:
    """Return True if bulk copies can move all operands of a layout; inputs may be the same along the scanned axis.

    Operands of one element have no neighbours.
    """
    if len(layout.reduced) != 1:
        return False
    for k, (form, kept, (stride,)) in enumerate(
        zip(layout.forms, layout.kept_strides, layout.reduced_strides, strict=True)
    ):
        if stride == 0 and k < inputs:
            continue
        whole = form.begins_at(layout.offsets[k] * form.item, BULK_BYTES)
        if stride != 1 or not whole or any(start * form.item % BULK_BYTES for start in kept):
            return False
    return True


def scan_traits(layout: Layout, inputs: int, *, placed: bool, **facts: Any) -> ScanTraits:
    """Return the traits of a scan with a layout; ``placed`` results are not at the places of their elements."""
    moved = [
        form.item if strides[-1:] != (0,) else 0
        for form, strides in zip(layout.forms, layout.reduced_strides, strict=True)
    ]
    return ScanTraits(
        **facts,
        element_bytes=sum(moved[:inputs]),
        result_bytes=sum(moved[inputs:]),
        vector=min(layout.vector_width(), _NEIGHBOURS),
        neighbours=max(layout.kept[-1], 1) if layout.kept else 1,
        streams=not placed and streams(layout, inputs),
    )


class Queue(NamedTuple):
    """The tiles of a scan that bulk copies move: elements of a work-item, bytes of all tiles, the kernel's numbers."""

    items: int
    local: int
    runs: int  # work-items that scan
    depth: int  # tiles of elements in local memory
    places: int  # tiles of results
    lookups: int  # tile statuses that a lane reads

    @property
    def tile(self) -> int:
        """Elements of a tile."""
        return self.runs * self.items

    @property
    def numbers(self) -> dict[str, int]:
        """The numbers that the kernel is compiled with, by name."""
        return {"runs": self.runs, "depth": self.depth, "places": self.places, "lookups": self.lookups}


def queue_of(at: Geometry, able: Capabilities, call: ScanTraits) -> Queue:
    """Return the tiles for a geometry and a call; fewer than two if they do not fit.

    A work-item's elements are an odd number of vectors, so that neighbouring lanes use different banks of local memory.
    """
    runs, resident = (at.block // 32 - 3) // 2 * 32, at.groups_per_unit or 1
    lookups = -(-able.compute_units * resident // 32)
    room = able.asked_local_memory - _SPARE
    if able.unit_local_memory:
        room = min(room, able.unit_local_memory // resident - _RESERVED - _SPARE)
    words = _WORDS if call.widest > 1 else _WORDS_OF_BYTES
    most = min(4 * at.items // (call.vector * call.widest), words // (call.vector * call.words))
    items = call.vector * max(most - 1 + most % 2, 1)
    elements, results = runs * items * call.element_bytes, runs * items * call.result_bytes
    values = (runs + runs // 32 + 1) * call.value_bytes + 40  # of runs, warps and a tile, and barriers
    for places in (2, 1):
        depth = min((room - places * results) // (elements + values), _DECLARED // values, _DEEPEST)
        if depth >= _DEEP:
            break
    return Queue(items, depth * elements + places * results, runs, depth, places, lookups)


def queueable(at: Geometry) -> Refusal:
    """Refuse devices that cannot run a queue of tiles for a call, and operands that bulk copies cannot move."""

    def refuse(capabilities: Capabilities, call: CallTraits) -> str | None:
        if (reason := bulk_copies(capabilities, call)) is not None:
            return reason
        traits = ScanTraits.of(call)
        if not traits.streams:
            return (
                "is for results at the places of their elements and rows that begin at multiples of 16 bytes; "
                "this call's lie otherwise"
            )
        if queue_of(at, capabilities, traits).depth < 2:
            there = capabilities.asked_local_memory
            return f"needs local memory for two tiles in a group's queue; {capabilities.name} has {there} bytes"
        return None

    return first_refusal(group_fits(at.block), refuse)
