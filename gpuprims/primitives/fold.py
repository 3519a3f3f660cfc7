"""The launch plan of a fold, for every operator."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.kernel_spec import value_bytes
from gpuprims.core.launch_plan import LaunchPlan, Sample, nothing, with_counters
from gpuprims.core.layout import Form, contiguous, plan_layout
from gpuprims.core.traits import CallTraits
from gpuprims.core.variant import MOST_GROUPS, Variant
from gpuprims.operators import Folding
from gpuprims.primitives.fold_spec import FoldSpec
from gpuprims.primitives.fold_variants import FoldVariant


def with_axes(form: Form, axes: tuple[int, ...], keepdims: bool) -> Form:
    """Give a result the folded axes, of length 1, so that it lies beside the arrays axis for axis."""
    if keepdims:
        return form
    shape, strides = list(form.shape), list(form.strides)
    for axis in axes:
        shape.insert(axis, 1)
        strides.insert(axis, 0)
    return form._replace(shape=tuple(shape), strides=tuple(strides))


def sample_rows(call: Sample) -> tuple[Form, int]:
    """Return an array of so many outputs for ``explain``, and the axis to fold."""
    if call.side_by_side:
        return contiguous(call.dtype, (call.size, call.outputs), 16), 0
    pitch = max(call.size, 2)  # outputs of one element lie apart too
    rows = contiguous(call.dtype, (call.outputs, pitch), 16)
    return rows._replace(shape=(call.outputs, call.size)), 1


class FoldPlanner:
    """Decides the launch of one fold.

    Parameters
    ----------
    device : Device
    forms, targets : sequence of Form
        The arrays, and the results with their folded axes, of length 1.
    folding : Folding
    commutative : bool
    shape : tuple of int
        The arrays' common shape.
    axes : tuple of int
        The folded ones, ascending.
    counted : int, optional
        The number of elements that the result is of, where they were folded before.
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
        counted: int | None = None,
    ) -> None:
        self.device = device
        self.folding = folding
        self.commutative = commutative
        self.inputs = len(forms)
        self.outputs = math.prod(n for k, n in enumerate(shape) if k not in axes)
        self.count = math.prod(shape[k] for k in axes)
        self.layout = plan_layout((*forms, *targets), shape, axes)
        self.value_bytes = value_bytes(folding.values)
        self.counted = self.count if counted is None else counted

    def plan(self, asked: str | Variant | None, results: Sequence[Form]) -> LaunchPlan:
        """Return the plan of the fold, by the variant that is asked for or the best one."""
        return LaunchPlan(
            self.device, "reduce", self._call(), results, self._compiled, asked=asked, inputs=range(self.inputs)
        )

    def _compiled(self, variant: Variant) -> Launch:
        """Fix the launch and its scratch memory."""
        chosen = FoldVariant.of(variant)
        if not self.outputs:
            return nothing
        parts = self._parts(chosen)
        kernel = self.device.kernel(chosen, self._spec(vectors=chosen.vectors))
        groups = min(self._rows(chosen) * parts, MOST_GROUPS)
        if not chosen.shares_outputs or chosen.block == 1:  # a group of one is a thread: no more than there are to run
            groups = chosen.groups(groups, self.device.capabilities)
        launch = kernel.prepare(groups, self.layout.pack(self.counted), self.outputs, self.count, parts)
        unread = 0 if self.count else self.inputs
        return with_counters(self.device, launch, *self._scratch(chosen, parts), unread=unread)

    def _scratch(self, variant: FoldVariant, parts: int) -> tuple[int, int]:
        """Return how many zeroed words, and how many bytes of partial values, a launch needs."""
        if parts == 1:
            return 1, 0  # unshared outputs need none, and there may be millions
        if variant.accumulates:
            return (self.outputs + 1) // 2 * 2 + self.outputs * self.value_bytes // 4, 0
        return self.outputs, self.outputs * parts * self.value_bytes

    def _call(self) -> CallTraits:
        """Describe the call to the variants."""
        return CallTraits(
            dtypes=self.folding.computed_in,
            size=self.count,
            outputs=self.outputs,
            commutative=self.commutative,
            value_bytes=self.value_bytes,
            side_by_side=self.layout.side_by_side(self.inputs),
            picks=self.folding.better is not None,
        )

    def _parts(self, variant: FoldVariant) -> int:
        """Return how many groups share one output: enough to fill the device, and each with a tile of its own."""
        if not variant.shares_outputs:
            return 1
        tiles = max(-(-self.count // variant.tile), 1)
        rows = self._rows(variant)
        groups = variant.groups(rows * tiles, self.device.capabilities)
        return max(1, min(tiles, groups // rows))

    def _rows(self, variant: FoldVariant) -> int:
        """Return how many groups compute all outputs once."""
        return -(-self.outputs // variant.outputs_per_group)

    def _spec(self, *, vectors: bool) -> FoldSpec:
        accesses = self.layout.accesses
        return FoldSpec(
            inputs=accesses[: self.inputs],
            outputs=accesses[self.inputs :],
            values=self.folding.values,
            map=self.folding.map,
            finish=self.folding.finish,
            op=self.folding.op,
            identity=self.folding.identity,
            better=self.folding.better,
            commutative=self.commutative,
            # Where order matters, a work-item's run of elements may start anywhere, not at a whole vector.
            vector=self.layout.vector_width() if vectors and self.commutative else 1,
        )
