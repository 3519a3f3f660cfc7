"""Launches of folds by the fixed tree of outputs that lie side by side."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.geometry import power_of_two
from gpuprims.primitives.fixed_fold import FixedFold
from gpuprims.primitives.fixed_parts import FixedSpec, blocks_of, loads_of, shares, with_parts
from gpuprims.primitives.fold_variants import FoldVariant

# The fewest bytes of neighbouring outputs of a group, and the fewest elements of an output that one work-item folds
# (rows: fixed_columns). The largest fraction of a group's work-items without an output (rows: fixed_columns-few).
_LINE, _FEWEST, _IDLE = 128, 32, 1 / 16
# Lanes of the tree that a work-item folds at once, if a lane has one element, two, or more; by the most words of a
# value. With more words than _FEW_WORDS, a group has half the work-items, with more registers each (rows:
# fixed_columns).
_FEW_WORDS, _BATCHES = 2, ((2, {1: 16, 2: 8, 4: 4}), (6, {1: 16, 2: 4, 4: 2}), (math.inf, {1: 4, 2: 2, 4: 2}))


@dataclass(frozen=True, eq=False, kw_only=True)
class ColumnsSpec(FixedSpec):
    """The macros of a fold by the fixed tree of outputs side by side."""

    width: int  # outputs of a group
    batch: int  # lanes of the tree that a work-item folds at once
    lane_loads: int  # elements of such a lane that it loads at once
    levels: int  # of the binary counter of a work-item's batches

    def macros(self) -> dict[str, int | str]:
        """See :class:`KernelSpec`."""
        batch = {"BATCH": self.batch, "BATCH_BITS": self.batch.bit_length() - 1, "BATCH_LEVELS": self.levels}
        return super().macros() | batch | {"STRIP_WIDTH": self.width, "LANE_LOADS": self.lane_loads}


def launch_columns(fold: FixedFold) -> Launch:
    """Return the launch of a fold of outputs side by side; groups take fewer if that occupies more of the device."""
    if fold.words > _FEW_WORDS:
        fold = fold._replace(chosen=fold.chosen.resized(block=fold.chosen.block // 2))
    device, _, folding, layout, outputs, count, finished, commutative = fold
    words, lanes, width = fold.words, fold.lanes, _width(fold)
    chosen, sharers = _sized(fold.chosen, width)
    lane_loads = loads_of(count, lanes) if commutative else 4
    batch = next(taken[lane_loads] for held, taken in _BATCHES if words <= held)
    levels = max((lanes // (sharers * batch)).bit_length() - 1, 1)
    how = {"commutative": commutative, "batch": batch, "lane_loads": lane_loads, "levels": levels}
    spec = ColumnsSpec.of(folding, layout, width=width, **how)
    most, strips, split = _groups(chosen, device), -(-outputs // width), 0
    parts, shift = shares(blocks_of(count, lanes), most // strips)
    taken = sharers * batch  # lanes that a group takes at once
    while commutative and not shift and strips * parts << split + 1 <= most and taken << split + 1 <= min(count, lanes):
        split += 1
    each, packed = parts << split, layout.pack(finished)
    groups = chosen.groups(strips * each, device.capabilities)
    launch = device.kernel(chosen, spec).prepare(groups, packed, outputs, count, parts, shift, split)
    return with_parts(device, launch, spec, strips, outputs * each if each > 1 else 0, read=count > 0)


def _sized(chosen: FoldVariant, width: int) -> tuple[FoldVariant, int]:
    """Return the variant with groups of a power of two of sharers for each output, and how many these are."""
    block, units = chosen.block, chosen.groups_per_unit or 1
    most = 1 << (block // width).bit_length() - 1
    sharers = max((most, max(most // 2, 1)), key=lambda several: units * block // (several * width) * several)
    own = sharers * width
    return chosen.resized(block=own, groups_per_unit=units * block // own), sharers


def _groups(chosen: FoldVariant, device: Device) -> int:
    """Return how many groups fill the device."""
    return (chosen.groups_per_unit or 1) * device.capabilities.compute_units


def _width(fold: FixedFold) -> int:
    """Return how many outputs a group takes: all of few neighbours, or a power of two."""
    chosen, outputs, count = fold.chosen, fold.outputs, fold.size
    line, neighbours = max(_LINE // max(form.item for form in fold.read), 1), fold.layout.kept[-1]
    if neighbours == outputs and outputs < 2 * line and power_of_two(outputs) * (1 - _IDLE) > outputs:
        return outputs
    width, least = min(chosen.block, power_of_two(outputs)), min(line, power_of_two(neighbours))
    blocks, most = blocks_of(count, fold.lanes), _groups(chosen, fold.device)

    def narrows() -> bool:
        fit = -(-outputs // (width // 2)) * blocks <= most
        return fit or -(-outputs // width) * width * (1 - _IDLE) > outputs

    while width > least and narrows() and count * width >= _FEWEST * chosen.block:
        width //= 2
    return width
