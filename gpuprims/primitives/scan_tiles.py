"""How large the tiles of a scan are: by the bytes that a work-item moves and the registers that its values need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.driver import Kernel, Launch
from gpuprims.core.launch_plan import in_turn
from gpuprims.core.layout import VECTOR_BYTES, Layout, plan_layout
from gpuprims.core.traits import CallTraits
from gpuprims.core.variant import Variant

# Bytes that bulk copies move at least, and at which they begin.
BULK_BYTES = 16
# Bytes that memory reads at least.
_SECTOR = 32
# Outputs side by side from which on elements of one lie far apart: work-items that scan one each are slower then.
FAR = 1 << 16  # rows: columns-each
# Bytes of a bank of local memory.
_BANK = 4
# Most bytes from an element to the next one: copies bring what lies between, as every read of memory does.
APART = 32
# Strides of inputs that kernels know when they are compiled.
STEPS = (-1, 1, 2, 3, 4)


# Neighbours that a work-item loads at once.
_NEIGHBOURS = 8


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
        side in either order, at the places of their elements.
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
    rereads : bool
        True if results need the elements at their own places.
    numbers : int
        Numbers of a value; complex ones are two.
    widest : int
        Bytes of the largest element or result that moves along the scanned axis.
    peeled : int
        Neighbours of each operand that a lane loads at once if rows may begin anywhere, but those of all operands at
        the same place of a vector; 0 if that is no more than where they begin at whole vectors.
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
    rereads: bool = False
    numbers: int = 1
    widest: int = 4
    peeled: int = 0

    @classmethod
    def of(cls, call: CallTraits) -> ScanTraits:
        """Return the traits of a scan; without facts about the operands, bulk copies cannot move them."""
        if isinstance(call, cls):
            return call
        return cls(**{one.name: getattr(call, one.name) for one in fields(CallTraits)})

    @property
    def passing(self) -> int:
        """Bytes that pass a queue for one element and its results."""
        return max(self.queued_bytes + self.result_bytes, 1)

    @property
    def step(self) -> int:
        """Elements of a vector, or of a bank of 32 bits if that has more; runs in local memory have an odd number."""
        return self.vector * max(_BANK // (self.vector * self.widest), 1)

    def tiles(self, tile: int) -> int:
        """Return the tiles of all outputs."""
        return self.outputs * self.rows * -(-self.row // tile)

    @property
    def row(self) -> int:
        """Elements of a row."""
        return self.size // max(self.rows, 1)


def streams(layout: Layout, inputs: int) -> bool:
    """Return True if bulk copies can move all operands of a layout; inputs may be the same along the scanned axis.

    Results lie side by side, in either order. Operands of one element have no neighbours. Numbers lie at multiples of
    their size, and so do pairs of them.
    """
    if len(layout.reduced) != 1:
        return False
    for k, (form, (stride,)) in enumerate(zip(layout.forms, layout.reduced_strides, strict=True)):
        if stride == 0 and k < inputs:
            continue
        alone = form.lanes == 1
        near = alone and stride in (STEPS if k < inputs else (-1,)) and abs(stride) * form.item <= APART
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
        widest=max((layout.forms[k].item for k in moving), default=_BANK),
        peeled=_peeled_width(layout),
    )


def _peeled_width(layout: Layout) -> int:
    """Return the most neighbours that a vector has if all operands begin it at the same elements; 0 if no more help."""
    moving = [k for k, strides in enumerate(layout.reduced_strides) if strides != (0,)]
    forms = [layout.forms[k] for k in moving]
    if not moving or moving[0] > 0 or any(layout.reduced_strides[k] != (1,) for k in moving):
        return 0
    width = VECTOR_BYTES // max(form.item for form in forms)
    while width > 1 and not _begin_alike(layout, moving, width):
        width //= 2
    return width if width > layout.vector_width() else 0


def _begin_alike(layout: Layout, operands: Sequence[int], width: int) -> bool:
    """Return True if all rows of operands begin as many elements after a multiple of ``width`` elements."""
    starts = set()
    for k in operands:
        form = layout.forms[k]
        if form.alignment < width * form.item or form.phase % form.item or form.lanes > 1:
            return False
        begin = form.phase // form.item + layout.offsets[k]
        if any(stride < width for stride in layout.kept_strides[k]):  # vectors would reach beyond the first or last row
            return False
        starts.add((begin % width, *(stride % width for stride in layout.kept_strides[k])))
    return len(starts) == 1


def prepare_levels(
    kernel: Kernel, variant: Variant, able: Capabilities, layout: np.ndarray, outputs: int, size: int, across: int = 1
) -> tuple[Launch, int]:
    """Return launches over aggregates of tiles, aggregates of these, and back; and the number of all aggregates.

    A group takes a tile of ``across`` outputs.
    """
    sizes, starts, end = [size], [-1], 0  # elements of an output at each level, and the level's first value
    while sizes[-1] > variant.tile:
        sizes.append(-(-sizes[-1] // variant.tile))
        starts.append(end)
        end += outputs * sizes[-1]
    last = len(sizes) - 1

    def launch(level: int, *, folds: bool) -> Launch:
        tiles, above = (sizes[level + 1], starts[level + 1]) if level < last else (1, -1)
        groups = variant.groups(-(-outputs // across) * tiles, able)
        return kernel.prepare(groups, layout, outputs, sizes[level], starts[level], above, int(folds))

    up = [launch(level, folds=True) for level in range(last)]
    down = [launch(level, folds=False) for level in reversed(range(last + 1))]
    return in_turn([*up, *down]), max(end, 1)
