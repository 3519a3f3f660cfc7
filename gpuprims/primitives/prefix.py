"""The launch plan of a scan, for every operator."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gpuprims.core.device import Device
from gpuprims.core.driver import Kernel, Launch
from gpuprims.core.kernel_spec import value_bytes, value_words
from gpuprims.core.launch_plan import LaunchPlan, in_turn, nothing, with_scratch, with_statuses
from gpuprims.core.layout import Form, plan_layout
from gpuprims.core.traits import CallTraits
from gpuprims.core.variant import Variant
from gpuprims.expressions import TypedExpr
from gpuprims.operators import Folding
from gpuprims.primitives.fold_variants import ScanVariant
from gpuprims.primitives.scan_spec import ScanSpec


class ScanPlanner:
    """Decides the launches of one scan.

    Parameters
    ----------
    device : Device
    forms, targets : sequence of Form
        The arrays, and the results as they lie beside them, axis for axis.
    folding : Folding
    commutative : bool
    inclusive : bool
    shape : tuple of int
        The arrays' common shape.
    axes : tuple of int
        The scanned axes; the last varies fastest.
    place : TypedExpr, optional
        The index of each result; by default its element's.
    packed : bool
        Whether indices of the first result rise one by one.
    primitive : str
        The primitive that has the variants.
    item_words : int, optional
        Words that a work-item holds of an element; by default the value's.
    count : int, optional
        Elements of an output; by default the product of the scanned axes.
    counted : int, optional
        Number of elements that ``STORE`` is given for the first result; by default 1 if inclusive, else 0.
    """

    def __init__(
        self,
        device: Device,
        forms: Sequence[Form],
        targets: Sequence[Form],
        folding: Folding,
        shape: tuple[int, ...],
        axes: tuple[int, ...],
        *,
        commutative: bool,
        inclusive: bool,
        place: TypedExpr | None = None,
        packed: bool = False,
        primitive: str = "scan",
        item_words: int | None = None,
        count: int | None = None,
        counted: int | None = None,
    ) -> None:
        self.device = device
        self.folding = folding
        self.commutative = commutative
        self.inclusive = inclusive
        self.place = place
        self.packed = packed
        self.primitive = primitive
        self.inputs = len(forms)
        self.outputs = math.prod(n for k, n in enumerate(shape) if k not in axes)
        self.count = math.prod(shape[k] for k in axes) if count is None else count
        self.layout = plan_layout((*forms, *targets), shape, axes)
        self.words = value_words(folding.values)
        self.item_words = item_words or self.words
        self.counted = int(inclusive) if counted is None else counted

    def plan(
        self,
        asked: str | Variant | None,
        results: Sequence[Form],
        otherwise: LaunchPlan | None = None,
        kind: type[LaunchPlan] = LaunchPlan,
    ) -> LaunchPlan:
        """Return the plan of the scan, by the variant that is asked for or the best one."""
        what = self.device, self.primitive, self._call(), results, self._compiled
        return kind(*what, asked=asked, inputs=range(self.inputs), otherwise=otherwise)

    def _compiled(self, variant: Variant) -> Launch:
        """Fix the launches and their scratch memory."""
        chosen = ScanVariant.of(variant)
        able = self.device.capabilities
        if not self.outputs * self.count:
            return nothing
        # No more items than one output fills, and than fill the device.
        most = min(self.outputs, able.compute_units) * self.count
        fitted = chosen.fitted(self.item_words, most, able)
        kernel = self.device.kernel(fitted, self._spec(fitted))
        if chosen.scratch == "levels":
            return with_scratch(self.device, *self._levels(fitted, kernel))
        layout = self.layout.pack(self.counted)
        if chosen.scratch == "none":
            rows = -(-self.outputs // fitted.outputs_per_group)
            launch = kernel.prepare(fitted.groups(rows, able), layout, self.outputs, self.count)
            return with_scratch(self.device, launch, 4)
        tiles = -(-self.count // fitted.tile)
        groups = fitted.groups(self.outputs * tiles, able)
        if fitted.together:
            groups = min(groups, fitted.block)  # a work-item looks after each of the other groups
        launch = kernel.prepare(groups, layout, self.outputs, self.count, tiles)
        return with_statuses(self.device, launch, 1 + self.outputs * tiles * self.words)

    def _levels(self, variant: Variant, kernel: Kernel) -> tuple[Launch, int]:
        """Return launches over tile aggregates, aggregates of these, and back; and the bytes of all aggregates."""
        able, layout = self.device.capabilities, self.layout.pack(self.counted)
        sizes, starts, end = [self.count], [-1], 0  # of each level its elements an output, and its first value
        while sizes[-1] > variant.tile:
            sizes.append(-(-sizes[-1] // variant.tile))
            starts.append(end)
            end += self.outputs * sizes[-1]
        tiles = [*(self.outputs * size for size in sizes[1:]), self.outputs]
        last = len(sizes) - 1

        def launch(level: int, *, folds: bool) -> Launch:
            above = starts[level + 1] if level < last else -1
            groups = variant.groups(tiles[level], able)
            return kernel.prepare(groups, layout, self.outputs, sizes[level], starts[level], above, int(folds))

        up = [launch(level, folds=True) for level in range(last)]
        down = [launch(level, folds=False) for level in reversed(range(last + 1))]
        return in_turn([*up, *down]), 4 * self.words * max(end, 1)

    def _call(self) -> CallTraits:
        """Describe the call to the variants."""
        places = [step.dtype for step in self.place.steps] if self.place else []
        return CallTraits(
            dtypes=(*self.folding.computed_in, *places),
            size=self.count,
            outputs=self.outputs,
            commutative=self.commutative,
            value_bytes=value_bytes(self.folding.values),
            side_by_side=self.layout.side_by_side(self.inputs),
        )

    def _spec(self, variant: Variant) -> ScanSpec:
        accesses = self.layout.accesses
        return ScanSpec(
            inputs=accesses[: self.inputs],
            outputs=accesses[self.inputs :],
            values=self.folding.values,
            map=self.folding.map,
            finish=self.folding.finish,
            op=self.folding.op,
            identity=self.folding.identity,
            commutative=self.commutative,
            vector=min(self.layout.vector_width(), variant.items) if variant.vectors else 1,
            inclusive=self.inclusive,
            place=self.place,
            packed=self.packed,
        )
