"""The launches of a scan: which kernel, how many of them, what scratch memory. Written once, for every operator."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gpuprims.core.device import Device
from gpuprims.core.driver import Kernel, Launch
from gpuprims.core.kernel_spec import value_bytes, value_words
from gpuprims.core.launch_plan import Prepared, Result, in_turn
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
        Those that are walked, the last the fastest.
    place : TypedExpr, optional
        Where each result goes, if it does not stay where its element is.
    packed : bool
        Whether places of the first result rise one by one.
    primitive : str
        Whose variants are asked.
    item_words : int, optional
        Words of what a work-item holds of an element, where it is not the value.
    count : int, optional
        Elements of an output, where results go further than those.
    counted : int, optional
        How many elements the first result is said to be of; by default as many as it is.
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

    def prepare(self, variant: str | None, results: tuple[Result, ...]) -> Prepared:
        """Choose the variant, and fix its launches and its scratch memory."""
        able = self.device.capabilities
        chosen = ScanVariant.of(self.device.select(self.primitive, self.call(), variant))
        places = tuple(range(self.inputs)), tuple(range(len(results)))
        single = len(results) == 1
        if not self.outputs * self.count:
            return Prepared(chosen, results, single, None, *places)
        # No more items than one output fills, and than fill the device.
        most = min(self.outputs, able.compute_units) * self.count
        fitted = chosen.fitted(self.item_words, most, able)
        kernel = self.device.kernel(fitted, self._spec(fitted))
        if chosen.scratch == "levels":
            launch, scratch = self._levels(fitted, kernel)
            return Prepared(chosen, results, single, launch, *places, scratch=scratch)
        layout = self.layout.pack(self.counted)
        if chosen.scratch == "none":
            rows = -(-self.outputs // fitted.outputs_per_group)
            launch = kernel.prepare(fitted.groups(rows, able), layout, self.outputs, self.count)
            return Prepared(chosen, results, single, launch, *places, scratch=4)
        tiles = -(-self.count // fitted.tile)
        groups = fitted.groups(self.outputs * tiles, able)
        if fitted.together:
            groups = min(groups, fitted.block)  # a work-item looks after each of the other groups
        launch = kernel.prepare(groups, layout, self.outputs, self.count, tiles)
        return Prepared(chosen, results, single, launch, *places, board=1 + self.outputs * tiles * self.words)

    def _levels(self, variant: Variant, kernel: Kernel) -> tuple[Launch, int]:
        """Return launches over folds of tiles, folds of tiles of those, and back; and the bytes of all folds."""
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

    def call(self) -> CallTraits:
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
