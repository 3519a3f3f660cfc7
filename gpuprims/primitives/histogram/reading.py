"""One reading of a histogram's elements: the kernel's launch, and the fold of its groups' sums."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.driver import Driver, Launch
from gpuprims.core.kernel_spec import Dtype
from gpuprims.core.layout import Form, contiguous, plan_layout
from gpuprims.core.operands import Operands
from gpuprims.expressions import TypedExpr, trace, typed
from gpuprims.operators import Op, as_map, make_folding
from gpuprims.primitives.fold import plan_fold
from gpuprims.primitives.histogram.binning import key_dtype
from gpuprims.primitives.histogram.division import MOST_COUNTED, parts_of, room_of
from gpuprims.primitives.histogram.spec import HistogramSpec, Sums
from gpuprims.primitives.histogram.traits import HistogramTraits
from gpuprims.primitives.histogram.variants import HistogramVariant

_INT64, _FLOAT64, _UINT32, _UINT8 = (np.dtype(name) for name in ("i8", "f8", "u4", "u1"))
# Alignment of device memory, in bytes.
ALIGNMENT = 16
# Up to this many sums, groups add to one histogram instead of storing one each.
_MOST_MERGED = 2**18


class Reading(NamedTuple):
    """A launch that reads the elements, and the fold of its groups' sums.

    The sums take ``nbytes``, by part, output, plane and place. If ``zeroed``, groups add to memory that is zero before.
    ``fold`` is None if the groups store the result itself; else its result takes ``folded`` bytes.
    """

    launch: Launch
    nbytes: int
    planes: int
    zeroed: bool
    fold: Launch | None
    folded: int

    def run(self, operands: Operands, words: Any, peaks: Sequence[Any], target: Any) -> None:
        """Launch on the memory of a call; without a fold the target must come from :meth:`room`."""
        left = target
        if self.fold is not None:
            left = self.room(operands.driver) if self.zeroed else operands.driver.scratch(self.nbytes)
        _, memories = operands.placed or operands.place()
        self.launch([*memories, left, words, *peaks])
        if self.fold is not None:
            self.fold([*[left] * self.planes, *peaks, target])

    def room(self, driver: Driver) -> Any:
        """Allocate memory for the groups' sums."""
        return driver.zeros((self.nbytes,), _UINT8) if self.zeroed else driver.scratch(self.nbytes)


class Reader(NamedTuple):
    """Makes the readings of one call with one variant."""

    device: Device
    chosen: HistogramVariant
    forms: tuple[Form, ...]
    axes: tuple[int, ...]
    call: HistogramTraits
    kind: Literal["direct", "even", "edges"]
    guide: int

    def read(self, sums: Sums, op: Op, target: Form, *beside: Form, alone: bool) -> Reading:
        """Return a reading into ``target``, which has the sums by output and place.

        ``op`` folds the parts of each plane, and the arrays of ``beside``, which all parts share. With ``alone``, the
        target may have more places behind it, so groups can write to it directly.
        """
        device, chosen, call = self.device, self.chosen, self.call
        able, outputs, size, width = device.capabilities, call.outputs, call.size, call.bins + 2
        layout = plan_layout(self.forms, self.forms[0].shape, self.axes)
        dtype = _sum_dtype(sums, chosen, outputs * size)
        planes, private = 3 if sums == "limbs" else 1, chosen.histograms == "private"
        room = room_of(chosen, able, size, width * planes, planes, dtype, self.guide)
        ranges = -(-width // room.copies) if chosen.histograms == "split" else 1
        parts = parts_of(chosen, able, outputs * ranges, size, width * planes, room.local)
        rows = parts * (room.copies if private else 1)
        mergeable = chosen.merges and able.int64_atomics and sums != "floats" and outputs == 1
        merged = mergeable and parts > 1 and parts * width <= _MOST_MERGED
        whole = chosen.shares_histograms or merged
        widened = sums == "counts" and (merged or (outputs == rows == 1 and not whole))
        total = _INT64 if widened else dtype
        values, map_ = _values(tuple(form.dtype for form in self.forms), sums)
        vector = min(layout.vector_width(), chosen.items) if chosen.vectors else 1
        spec = HistogramSpec(
            layout.accesses,
            (),
            values,
            map_,
            vector=vector,
            kind=self.kind,
            sums=sums,
            group_dtype=total if private else dtype,
            dtype=total,
            local_guide=room.near,
            fused=not private,
            merged=merged,
        )
        copies = [room.copies] if chosen.histograms in ("replicas", "private", "cached", "split") else []
        kernel, groups = device.kernel(chosen, spec), chosen.groups(outputs * parts * ranges, able)
        launch = kernel.prepare(groups, layout.pack(0), outputs, size, call.bins, parts, *copies, local=room.local)
        left = contiguous(total, (1 if whole else rows, outputs, planes, width), ALIGNMENT)
        is_target = alone and total == target.dtype and left.shape[:3] == (1, 1, 1)
        fold = None if is_target else self._fold(left, op, target, beside)
        nbytes, folded = (math.prod(form.shape) * form.item for form in (left, target))
        return Reading(launch, nbytes, planes, whole, fold, folded)

    def _fold(self, left: Form, op: Op, target: Form, beside: tuple[Form, ...]) -> Launch:
        """Return the launch that folds parts in order."""
        rows, _, planes, _ = left.shape
        shape, strides = (rows, *target.shape), (*left.strides[:2], left.strides[3])
        parts = [Form(left.dtype, shape, strides, k * left.strides[2], left.alignment) for k in range(planes)]
        forms = [*parts, *(form._replace(shape=(1, *target.shape), strides=(0, *form.strides)) for form in beside)]
        folding = make_folding(op, as_map("reduce", None, len(forms)), tuple(form.dtype for form in forms), None)
        return plan_fold(self.device, forms, [target], folding, shape, (0,), commutative=True).compiled()


def _sum_dtype(sums: Sums, chosen: HistogramVariant, total: int) -> Dtype:
    """Return the dtype of a group's sum: 32 bits for counts that fit."""
    if sums == "floats":
        return _FLOAT64
    small = sums == "peaks" or (sums == "counts" and (not chosen.shares_histograms or total <= MOST_COUNTED))
    return _UINT32 if small else _INT64


def _values(dtypes: tuple[Dtype, ...], sums: Sums) -> tuple[tuple[Dtype, ...], TypedExpr]:
    """Return the dtypes of a key and perhaps a weight, and the function from elements to these."""
    key = key_dtype(dtypes[0])
    if sums == "counts":
        return (key,), typed(trace(lambda x, j: x, 2), (*dtypes, _INT64), (key,))
    weight = dtypes[1]
    if sums == "integers":
        weight = _INT64
    elif weight.kind != "f":
        weight = _FLOAT64
    elif weight.itemsize == 2:
        weight = np.dtype(np.float32)
    return (key, weight), typed(trace(lambda x, w, j: (x, w), 3), (*dtypes, _INT64), (key, weight))
