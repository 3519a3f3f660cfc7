"""Launches of folds by the fixed tree of :mod:`gpuprims.primitives.fixed_trees`."""

from __future__ import annotations

from dataclasses import dataclass

from gpuprims.core.driver import Launch
from gpuprims.core.geometry import power_of_two
from gpuprims.core.variant import MOST_GROUPS
from gpuprims.primitives.fixed_columns import launch_columns
from gpuprims.primitives.fixed_fold import FixedFold
from gpuprims.primitives.fixed_on_cpus import cpu_spec
from gpuprims.primitives.fixed_parts import FixedSpec, blocks_of, loads_of, shares, with_parts
from gpuprims.primitives.near import groups_near

# Elements that one instruction of a GPU loads at most.
MOST_LOADED = 4

# 32-bit words of the elements of outputs that a lane loads at once, the most of these outputs, and words of an output
# that a lane holds alone if outputs lie side by side.
_IN_FLIGHT, _MOST_ROWS, _ALONE = 16, 4, 32


@dataclass(frozen=True, eq=False, kw_only=True)
class FewSpec(FixedSpec):
    """The macros of a fold by the fixed tree of outputs of few elements; a few lanes share an output."""

    row_lanes: int  # that share an output
    pieces: int  # vectors of a lane
    rows: int  # outputs that a lane takes at once
    lane_loads: int  # elements of a lane of the tree that are loaded at once

    def macros(self) -> dict[str, int | str]:
        """See :class:`KernelSpec`."""
        taken = {"ROW_LANES": self.row_lanes, "PIECES": self.pieces, "ROWS": self.rows}
        return super().macros() | taken | {"LANE_LOADS": self.lane_loads}


def launch_fixed(fold: FixedFold) -> Launch:
    """Return the launch of a fold by the fixed tree."""
    if not fold.chosen.shares_outputs:
        return _launch_few(fold)
    return launch_columns(fold) if fold.chosen.narrows else _launch_parts(fold)


def _launch_parts(fold: FixedFold) -> Launch:
    """Return the launch of groups that fold a part of an output each, or on CPUs several outputs."""
    device, chosen, folding, layout, outputs, count, finished, commutative = fold
    tiles = max(-(-count // (chosen.block * chosen.items)), 1)
    groups = chosen.groups(min(outputs * tiles, MOST_GROUPS), device.capabilities)
    if chosen.by_rows and len(folding.values) == 1:
        read = sum([form.item for form in fold.read]) * outputs * count
        groups = groups_near(groups, read, folding.map, folding.op)
    strips = -(-outputs // chosen.outputs_per_group)
    parts, shift = shares(blocks_of(count, fold.lanes), groups // strips)
    if chosen.by_rows:
        columns = chosen.outputs_per_group > 1
        spec: FixedSpec = cpu_spec(folding, layout, count, side_by_side=columns, commutative=commutative)
    else:
        spec = FixedSpec.of(folding, layout, commutative=commutative, vector=_vector(fold))
    kernel, packed = device.kernel(chosen, spec), layout.pack(finished)
    launch = kernel.prepare(min(groups, outputs * parts), packed, outputs, count, parts, shift)
    return with_parts(device, launch, spec, outputs, outputs * parts if parts > 1 else 0, read=count > 0)


def _vector(fold: FixedFold) -> int:
    """Return how many elements one instruction loads: at most those of a work-item in the tree."""
    if not (fold.chosen.vectors and fold.commutative):
        return 1
    return min(fold.layout.vector_width(), MOST_LOADED, fold.lanes // fold.chosen.block)


def _launch_few(fold: FixedFold) -> Launch:
    """Return the launch of a fold of outputs of few elements: by as many lanes as each has vectors, or by one."""
    device, chosen, folding, layout, outputs, count, finished, _ = fold
    words = fold.words
    alone = layout.side_by_side(len(fold.read)) and count * words <= _ALONE
    vector = 1 if alone else min(layout.vector_width(), MOST_LOADED)
    held = min(count, fold.lanes)  # lanes of the tree that have elements
    if count > held and count % vector:
        vector = 1  # the kernel has no part of a vector there
    vectors = -(-held // vector)
    lanes = 1 if alone else min(power_of_two(vectors), device.capabilities.warp)
    pieces = power_of_two(-(-vectors // lanes))
    rows = min(max(_IN_FLIGHT // (pieces * vector * words), 1), _MOST_ROWS)
    how = {"commutative": True, "vector": vector, "lane_loads": loads_of(count, held)}
    spec = FewSpec.of(folding, layout, row_lanes=lanes, pieces=pieces, rows=rows, **how)
    tiles = -(-outputs * lanes // (spec.rows * chosen.block))
    groups = chosen.groups(min(tiles, MOST_GROUPS), device.capabilities)
    launch = device.kernel(chosen, spec).prepare(groups, layout.pack(finished), outputs, count)
    return with_parts(device, launch, spec, 1, 0, read=True)
