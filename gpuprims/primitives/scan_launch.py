"""The launches of a scan: what each group takes, and the scratch memory through which groups pass values on."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from gpuprims.core.counters import with_scratch
from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.kernel_spec import value_words
from gpuprims.core.launch_plan import nothing, with_statuses
from gpuprims.core.layout import Layout
from gpuprims.core.variant import MOST_GROUPS, Variant
from gpuprims.expressions import TypedExpr
from gpuprims.operators import Folding
from gpuprims.primitives.fixed_outputs import FixedColumns, FixedColumnsSpec, FixedRows, FixedRowsSpec
from gpuprims.primitives.fixed_scans import FixedScanSpec, FixedTilesSpec
from gpuprims.primitives.fold_spec import GatheringSpec, Packed, ScanSpec
from gpuprims.primitives.fold_variants import ScanVariant
from gpuprims.primitives.lane_rows import LaneRows, LaneRowsSpec
from gpuprims.primitives.queue_spec import FixedQueueSpec, QueueSpec, plan_queue
from gpuprims.primitives.scan_tiles import FAR, ScanTraits, prepare_levels
from gpuprims.primitives.strips import RunSpec, StripSpec, runs_of, strips_of

# Vectors load a row that begins anywhere if its elements times the square of a vector's are at least so many, and more
# than a few: wider ones save more than the ends of a row cost.
_LEAST_PEELED, _SHORTEST = 4096, 64  # rows: rows-peeled
# Work-items that fill a compute unit.
_RESIDENT = 1024
# Elements that a work-item loads at once for an output of its own; half as many if outputs are short, if values have
# many words, or if those of one word lie far apart.
_MOST_ALONE, _SHORT, _FEW_WORDS = 32, 32, 3  # rows: columns-each
# Scratch of variants whose groups take neighbouring outputs.
_ACROSS = "strip statuses", "part statuses"


def items_alone(call: ScanTraits) -> int:
    """Return how many elements of an output a work-item that scans it alone loads at once."""
    far = call.words == 1 and call.neighbours >= FAR
    if call.size > _SHORT and call.words <= _FEW_WORDS and not far:
        return _MOST_ALONE
    return min(_MOST_ALONE // 2, 1 << (call.size - 1).bit_length())


class ScanWork(NamedTuple):
    """A scan, without the variant that does it.

    ``layout`` has the axes merged, and ``by_row`` the rows of a scan of all elements as outputs, if it has such.
    ``read`` counts the arrays, and ``last`` is the number of elements that ``STORE`` is given for the first result. See
    :func:`gpuprims.primitives.fold.plan_scan` for the others.
    """

    device: Device
    folding: Folding
    traits: ScanTraits
    layout: Layout
    by_row: Layout
    read: int
    last: int
    inclusive: bool
    place: TypedExpr | None
    packed: Packed
    item_words: Callable[[int], float] | None

    @property
    def outputs(self) -> int:
        """The number of scans."""
        return self.traits.outputs

    @property
    def size(self) -> int:
        """Elements of each scan."""
        return self.traits.size

    def launch(self, variant: Variant) -> Launch:
        """Return the launch by a variant."""
        chosen = ScanVariant.of(variant)
        if not self.outputs * self.size:
            return nothing
        if chosen.queued:
            commutative = self.traits.commutative
            queued = FixedQueueSpec if chosen.in_fixed_order else QueueSpec
            spec_of = partial(queued.of, self.folding, self.by_row, commutative=commutative, inclusive=self.inclusive)
            return plan_queue(self.device, chosen, self.traits, self.by_row, self.last, spec_of)
        paired = self.layout.width_of_pairs(self.read) if chosen.pairs else 0
        fitted = self._fitted(chosen, paired)
        if fitted.scratch == "strip statuses":
            return self._launch_strips(fitted, paired)
        if fitted.scratch == "part statuses":
            return self._launch_runs(fitted, paired)
        return self._launch_tiles(fitted, paired)

    def _fitted(self, chosen: ScanVariant, paired: int) -> ScanVariant:
        """Return the variant with no more items than registers hold, than outputs have, or than fill the device."""
        able = self.device.capabilities
        if chosen.ahead:
            return chosen.resized(items=items_alone(self.traits))
        at_once = self.outputs if chosen.scratch in _ACROSS else min(self.outputs, able.compute_units)
        held: float = value_words(self.folding.values)
        if self.item_words is not None:
            held = self.item_words(max(self.traits.vector, paired))
        return chosen.taking(self.size).fitted(held, at_once * self.size, able)

    def _how(self, fitted: ScanVariant, paired: int) -> dict[str, Any]:
        """Return the keywords of a kernel spec."""
        vector = min(paired or self.layout.vector_width(), fitted.items) if fitted.vectors else 1
        laws = {"commutative": self.traits.commutative, "inclusive": self.inclusive, "place": self.place}
        return {**laws, "vector": vector, "paired": paired > 0}

    def _launch_runs(self, fitted: ScanVariant, paired: int) -> Launch:
        """Return the launch of groups that take a part of a strip each."""
        runs, how = runs_of(fitted, self.device.capabilities, self.traits), self._how(fitted, paired)
        how |= {"rows": runs.rows, "folded": runs.folded, "groups": runs.resident}
        kernel = self.device.kernel(runs.variant, RunSpec.of(self.folding, self.layout, **how))
        groups, layout = min(runs.groups, MOST_GROUPS), self.layout.pack(self.last)
        return self._with_statuses(
            kernel.prepare(groups, layout, self.outputs, self.size, *runs.numbers), runs.statuses
        )

    def _launch_strips(self, fitted: ScanVariant, paired: int) -> Launch:
        """Return the launch of groups that take the tiles of strips in turn."""
        strips = strips_of(fitted, self.device.capabilities, self.traits)
        how = self._how(strips.variant, paired)
        spec = StripSpec.of(self.folding, self.layout, rows=strips.rows, prefetches=strips.prefetches, **how)
        numbers = self.outputs, self.size, strips.width, strips.across, strips.parts
        launch = self.device.kernel(strips.variant, spec).prepare(strips.groups, self.layout.pack(self.last), *numbers)
        return self._with_statuses(launch, strips.statuses)

    def _launch_tiles(self, fitted: ScanVariant, paired: int) -> Launch:
        """Return the launch of groups that take tiles of an output, or whole outputs."""
        able, how = self.device.capabilities, self._how(fitted, paired)
        if fitted.few_lanes:
            return self._launch_rows(fitted, how)
        if fitted.across:
            return self._launch_columns(fitted, how)
        kernel, layout = self.device.kernel(fitted, self._spec(fitted, how)), self.layout.pack(self.last)
        if fitted.scratch == "levels":
            return self._with_levels(prepare_levels(kernel, fitted, able, layout, self.outputs, self.size))
        if fitted.scratch == "none":
            groups = fitted.groups(-(-self.outputs // fitted.outputs_per_group), able)
            return with_scratch(self.device, kernel.prepare(groups, layout, self.outputs, self.size), 4)
        tiles = -(-self.size // fitted.tile)
        groups = fitted.groups(self.outputs * tiles, able)
        if fitted.together:
            groups = min(groups, fitted.most_groups)  # work-items read the aggregates of all other groups
        launch = kernel.prepare(groups, layout, self.outputs, self.size, tiles)
        return self._with_statuses(launch, self.outputs * tiles * fitted.told)

    def _spec(self, fitted: ScanVariant, how: dict[str, Any]) -> ScanSpec:
        """Return the kernel spec of groups that take tiles."""
        if fitted.in_stretches:
            how = how | {"run": fitted.run, "runs": fitted.tile_runs, "lookups": fitted.looks}
            return FixedTilesSpec.of(self.folding, self.layout, packed=self.packed, **how)
        if fitted.gathers:
            return GatheringSpec.of(self.folding, self.layout, packed=self.packed, lookups=fitted.looks, **how)
        kind = FixedScanSpec if fitted.in_fixed_order else ScanSpec
        return kind.of(self.folding, self.layout, packed=self.packed, **how)

    def _launch_rows(self, fitted: ScanVariant, how: dict[str, Any]) -> Launch:
        """Return the launch of groups that give each row a few lanes."""
        able = self.device.capabilities
        if fitted.in_fixed_order:
            fixed = FixedRows.of(fitted, self.size, how["vector"], able)
            spec: ScanSpec = FixedRowsSpec.of(self.folding, self.layout, run=fitted.run, taken=fixed, **how)
            at_once = fixed.outputs(fitted)
        else:
            if peels := self._peels():
                how |= {"peeled": True, "vector": self.traits.peeled}
            filling = -(-able.compute_units * _RESIDENT // self.outputs) if peels else None
            lanes = LaneRows.of(self.size, how["vector"], able.warp, filling)
            spec = LaneRowsSpec.of(self.folding, self.layout, taken=lanes, **how)
            at_once = lanes.outputs(fitted.block)
        groups = fitted.groups(-(-self.outputs // at_once), able)
        launch = self.device.kernel(fitted, spec).prepare(groups, self.layout.pack(self.last), self.outputs, self.size)
        return with_scratch(self.device, launch, 4)

    def _peels(self) -> bool:
        """Return True if rows that begin anywhere are long enough for vectors."""
        vector = self.traits.peeled
        return vector > 0 and self.size >= max(_LEAST_PEELED // vector**2, _SHORTEST)

    def _launch_columns(self, fitted: ScanVariant, how: dict[str, Any]) -> Launch:
        """Return the launches of groups that take tiles of columns in the fixed order."""
        able, widest = self.device.capabilities, max(form.item for form in self.layout.forms)
        taken = FixedColumns.of(fitted, self.outputs, self.size, widest, able)
        kernel = self.device.kernel(fitted, FixedColumnsSpec.of(self.folding, self.layout, taken=taken, **how))
        layout, across = self.layout.pack(self.last), taken.outputs(fitted)
        return self._with_levels(prepare_levels(kernel, fitted, able, layout, self.outputs, self.size, across))

    def _with_levels(self, launches: tuple[Launch, int]) -> Launch:
        """Return launches over levels with memory for their aggregates."""
        launch, values = launches
        return with_scratch(self.device, launch, 4 * value_words(self.folding.values) * values)

    def _with_statuses(self, launch: Launch, values: int) -> Launch:
        """Return the launch with memory for the statuses of ``values`` values."""
        return with_statuses(self.device, launch, 1 + values * value_words(self.folding.values))
