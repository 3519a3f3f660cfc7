"""Folds by a tree that is the same on every device: its operations and their order depend on the elements alone.

An output's elements lie in blocks of ``lanes * RUN``. A lane has at most ``RUN`` elements of a block. It folds each
four of them, a to d, as ``(a + b) + (c + d)``, and the fours one after the other. Then the lanes of a block fold
pairwise, and blocks fold with their neighbours, pairwise too:

    commutative     lane i has elements i, i + lanes, i + 2 lanes, ...; lanes i and i + lanes / 2 fold first
    in order        lane i has elements i RUN, i RUN + 1, ...; lanes 2 i and 2 i + 1 fold first
    blocks          blocks 2 i and 2 i + 1 fold first, then pairs of these

What is missing, at the end, is not folded. So a group may take any 2^k neighbouring blocks that begin at a multiple of
2^k: their fold is a node of the tree.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from gpuprims.core.counters import with_counters
from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.kernel_spec import value_bytes, value_words
from gpuprims.core.layout import Layout
from gpuprims.core.variant import MOST_GROUPS
from gpuprims.operators import Folding
from gpuprims.primitives.fold_spec import FoldSpec
from gpuprims.primitives.fold_variants import FoldVariant
from gpuprims.primitives.near import groups_near

RUN = 16
# Lanes of values that have few bytes, and of others, for which a group needs less local memory. Elements of a lane that
# CPUs load at once lie in different pages, because a page has one stream that is fetched ahead (rows: cpu_fixed).
_LANES, _LANES_OF_MANY, _FEW_BYTES = 1024, 512, 24
# Elements that one instruction of a GPU loads at most: as many as give each of a group's 128 work-items lanes.
MOST_LOADED = 4

# 32-bit words of the elements of outputs that a lane loads at once, the most of these outputs, and words of an output
# that a lane holds alone if outputs lie side by side.
_IN_FLIGHT, _MOST_ROWS, _ALONE = 16, 4, 32

# Bytes of neighbouring outputs that a group takes at least, and elements of an output that a work-item takes before
# others share it (rows: fixed_columns).
_LINE, _FEWEST = 128, 32
# Lanes that such a work-item folds at once, if each has one element, or several; by the most words of a value. If these
# are many, a group has half of the work-items, for which there are more registers each (rows: fixed_columns).
_FEW_WORDS, _BATCHES = 2, ((2, (16, 4)), (6, (16, 2)), (math.inf, (4, 2)))

Values = list[np.ndarray]
Fold = Callable[..., Sequence[np.ndarray]]


@dataclass(frozen=True, eq=False, kw_only=True)
class FixedSpec(FoldSpec):
    """The macros of a fold by the fixed tree, without contraction."""

    contracted: ClassVar[bool] = False

    def macros(self) -> dict[str, int | str]:
        """See :class:`KernelSpec`."""
        return super().macros() | {"TREE_LANES": lanes_of(value_bytes(self.values)), "TREE_RUN": RUN}

    def headers(self) -> tuple[Path, ...]:
        """See :class:`KernelSpec`."""
        return (*super().headers(), Path(__file__).parent / "reduce" / "kernels" / "fixed.h")


@dataclass(frozen=True, eq=False, kw_only=True)
class FewSpec(FixedSpec):
    """The macros of such a fold of outputs of few elements, which a few lanes share."""

    row_lanes: int  # that share an output
    pieces: int  # vectors of a lane
    rows: int  # outputs that a lane takes at once
    several_each: bool  # lanes of the tree have more than one element

    def macros(self) -> dict[str, int | str]:
        """See :class:`KernelSpec`."""
        taken = {"ROW_LANES": self.row_lanes, "PIECES": self.pieces, "ROWS": self.rows}
        return super().macros() | taken | {"SEVERAL_EACH": int(self.several_each)}


@dataclass(frozen=True, eq=False, kw_only=True)
class ColumnsSpec(FixedSpec):
    """The macros of such a fold of outputs side by side."""

    width: int  # outputs of a group
    batch: int  # lanes of the tree that a work-item folds at once
    lane_loads: int  # elements of such a lane that it loads at once
    levels: int  # of the binary counter of a work-item's batches

    def macros(self) -> dict[str, int | str]:
        """See :class:`KernelSpec`."""
        batch = {"BATCH": self.batch, "BATCH_BITS": self.batch.bit_length() - 1, "BATCH_LEVELS": self.levels}
        return super().macros() | batch | {"STRIP_WIDTH": self.width, "LANE_LOADS": self.lane_loads}


def lanes_of(nbytes: int) -> int:
    """Return the lanes of a block of values of ``nbytes`` bytes."""
    return _LANES if nbytes <= _FEW_BYTES else _LANES_OF_MANY


def launch_fixed(
    device: Device,
    chosen: FoldVariant,
    folding: Folding,
    layout: Layout,
    outputs: int,
    count: int,
    counted: int,
    *,
    commutative: bool,
) -> Launch:
    """Return the launch of a fold by the fixed tree; ``layout`` has the elements of an output in index order."""
    able = device.capabilities
    if not chosen.shares_outputs:
        return _launch_few(device, chosen, folding, layout, outputs, count, counted)
    if chosen.narrows:
        return _launch_columns(device, chosen, folding, layout, outputs, count, counted, commutative)
    vector = min(layout.vector_width(), MOST_LOADED) if chosen.vectors and commutative else 1
    tiles = max(-(-count // (chosen.block * chosen.items)), 1)
    groups = chosen.groups(min(outputs * tiles, MOST_GROUPS), able)
    if chosen.by_rows and len(folding.values) == 1:
        read = sum([form.item for form in layout.forms[: len(layout.forms) - len(folding.outputs)]]) * outputs * count
        groups = groups_near(groups, read, folding.map, folding.op)
    strips = -(-outputs // chosen.outputs_per_group)
    parts, shift = shares(count, groups // strips, lanes_of(value_bytes(folding.values)))
    spec = FixedSpec.of(folding, layout, commutative=commutative, vector=vector)
    launch = device.kernel(chosen, spec).prepare(
        min(groups, outputs * parts), layout.pack(counted), outputs, count, parts, shift
    )
    return _with_parts(device, launch, spec, outputs, outputs * parts if parts > 1 else 0, read=count > 0)


def _launch_few(
    device: Device, chosen: FoldVariant, folding: Folding, layout: Layout, outputs: int, count: int, counted: int
) -> Launch:
    """Return the launch of a fold of outputs of few elements: by as many lanes as each has vectors, or by one."""
    words = value_words(folding.values)
    alone = layout.side_by_side(len(layout.forms) - len(folding.outputs)) and count * words <= _ALONE
    vector = 1 if alone else min(layout.vector_width(), MOST_LOADED)
    held = min(count, lanes_of(value_bytes(folding.values)))  # lanes of the tree that have elements
    if count > held and count % vector:
        vector = 1  # the kernel has no part of a vector there
    vectors = -(-held // vector)
    lanes = 1 if alone else min(_power(vectors), device.capabilities.warp)
    pieces = _power(-(-vectors // lanes))
    rows = min(max(_IN_FLIGHT // (pieces * vector * words), 1), _MOST_ROWS)
    how = {"commutative": True, "vector": vector, "several_each": count > held}
    spec = FewSpec.of(folding, layout, row_lanes=lanes, pieces=pieces, rows=rows, **how)
    tiles = -(-outputs * lanes // (spec.rows * chosen.block))
    groups = chosen.groups(min(tiles, MOST_GROUPS), device.capabilities)
    launch = device.kernel(chosen, spec).prepare(groups, layout.pack(counted), outputs, count)
    return with_counters(device, launch, 1, 0, unread=0, one_kernel=True)


def _launch_columns(
    device: Device,
    chosen: FoldVariant,
    folding: Folding,
    layout: Layout,
    outputs: int,
    count: int,
    counted: int,
    commutative: bool,
) -> Launch:
    """Return the launch of a fold of outputs side by side: few a group, if many groups would have nothing to do."""
    words = value_words(folding.values)
    chosen = chosen if words <= _FEW_WORDS else chosen.resized(block=chosen.block // 2)
    lanes, most = (
        lanes_of(value_bytes(folding.values)),
        (chosen.groups_per_unit or 1) * device.capabilities.compute_units,
    )
    width = _width(chosen, layout, len(folding.outputs), outputs, count, most)
    lane_loads = 1 if commutative and count <= lanes else 4
    batch = next(taken[lane_loads > 1] for held, taken in _BATCHES if words <= held)
    levels = max((lanes * width // (chosen.block * batch)).bit_length() - 1, 1)
    how = {"commutative": commutative, "batch": batch, "lane_loads": lane_loads, "levels": levels}
    spec = ColumnsSpec.of(folding, layout, width=width, **how)
    strips, split = -(-outputs // width), 0
    parts, shift = shares(count, most // strips, lanes)
    taken = chosen.block // width * batch  # lanes that a group takes at once
    while commutative and not shift and strips * parts << split + 1 <= most and taken << split + 1 <= min(count, lanes):
        split += 1
    each = parts << split
    groups = chosen.groups(strips * each, device.capabilities)
    launch = device.kernel(chosen, spec).prepare(groups, layout.pack(counted), outputs, count, parts, shift, split)
    return _with_parts(device, launch, spec, strips, outputs * each if each > 1 else 0, read=count > 0)


def _with_parts(device: Device, launch: Launch, spec: FixedSpec, counters: int, values: int, *, read: bool) -> Launch:
    """Return the launch with memory for the ``values`` of parts and their counters; 0 if outputs have one part each."""
    unread = 0 if read else len(spec.inputs)
    scratch = values * value_bytes(spec.values)
    return with_counters(device, launch, counters if values else 1, scratch, unread=unread, one_kernel=True)


def _width(chosen: FoldVariant, layout: Layout, written: int, outputs: int, count: int, most: int) -> int:
    """Return how many outputs a group takes, if ``most`` groups fill the device."""
    item = max(form.item for form in layout.forms[: len(layout.forms) - written])
    width, least = chosen.block, min(max(_LINE // item, 1), _power(layout.kept[-1]))
    blocks = _blocks(count, _LANES)
    while width > least and -(-outputs // width) * blocks < most and count * width >= _FEWEST * chosen.block:
        width //= 2
    return width


def _power(number: int) -> int:
    """Return the least power of two that is not below a number."""
    return 1 << (number - 1).bit_length()


def _blocks(size: int, lanes: int) -> int:
    """Return the blocks of ``size`` elements of an output."""
    return max(-(-size // (lanes * RUN)), 1)


def shares(size: int, most: int, lanes: int) -> tuple[int, int]:
    """Return how many parts an output of ``size`` elements has, ``most`` at most, and k, if each has 2^k blocks."""
    blocks = _blocks(size, lanes)
    shift = max(-(-blocks // max(most, 1)) - 1, 0).bit_length()
    return -(-blocks // (1 << shift)), shift


def fold_fixed(op: Fold, values: Values, lanes: int, *, commutative: bool) -> Values:
    """Fold rows, of one element or more, to one value each, as kernels of the fixed tree do."""
    rows, n = values[0].shape
    whole = n // (lanes * RUN) * lanes * RUN
    blocks: list[Values] = []
    if whole:
        blocks.append([value[:, :whole].reshape(rows, -1, lanes * RUN) for value in values])
    if whole < n:
        blocks.append([value[:, np.newaxis, whole:] for value in values])
    folded = [_fold_blocks(op, block, lanes, commutative) for block in blocks]
    joined = [np.concatenate([block[k] for block in folded], axis=1) for k in range(len(values))]
    return [value[:, 0] for value in _fold_neighbours(op, joined)]


def _fold_blocks(op: Fold, values: Values, lanes: int, commutative: bool) -> Values:
    """Fold the elements of blocks, along the last axis."""

    def of_lanes(k: int) -> Values:
        """Return element k of the lanes that have it."""
        return [value[..., k * lanes : (k + 1) * lanes] if commutative else value[..., k::RUN] for value in values]

    folded: Values = []
    for k in range(0, RUN, 4):
        a, b, c, d = (of_lanes(place) for place in range(k, k + 4))
        four = _fold_some(op, _fold_some(op, a, b), _fold_some(op, c, d))
        folded = _fold_some(op, folded, four) if k else four
    if commutative:
        half = lanes // 2
        while half:
            first, second = [value[..., :half] for value in folded], [value[..., half:] for value in folded]
            folded, half = _fold_some(op, first, second), half // 2
    else:
        folded = _fold_neighbours(op, folded)
    return [value[..., 0] for value in folded]


def _fold_some(op: Fold, lanes: Values, others: Values) -> Values:
    """Fold lanes with others, which the last ones may lack."""
    have = others[0].shape[-1]
    if not have:
        return lanes
    folded = op(*(lane[..., :have] for lane in lanes), *others)
    return [np.concatenate([f, lane[..., have:]], axis=-1) for f, lane in zip(folded, lanes, strict=True)]


def _fold_neighbours(op: Fold, values: Values) -> Values:
    """Fold neighbours along the last axis until one value is left."""
    while values[0].shape[-1] > 1:
        first, second = [value[..., 0::2] for value in values], [value[..., 1::2] for value in values]
        values = _fold_some(op, first, second)
    return values
