"""One reading of a histogram's elements: the launch of the kernel, and the fold of its groups' sums."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.kernel_spec import Dtype
from gpuprims.core.layout import Form, contiguous, plan_layout
from gpuprims.core.operands import Operands
from gpuprims.expressions import TypedExpr, trace, typed
from gpuprims.operators import Op, as_map, make_folding
from gpuprims.primitives.fold import plan_fold
from gpuprims.primitives.histogram.binning import key_dtype
from gpuprims.primitives.histogram.spec import CPU_REPLICAS, Bins, HistogramSpec, Sums
from gpuprims.primitives.histogram.traits import BEHIND_RANGE, HistogramTraits
from gpuprims.primitives.histogram.variants import HistogramVariant

_INT64, _FLOAT64, _UINT32, _UINT8 = (np.dtype(name) for name in ("i8", "f8", "u4", "u1"))
# Alignment of device memory, in bytes.
ALIGNMENT = 16
# A part has fewer elements, so that 32 bits hold its counts.
_MOST_COUNTED = 2**31
# Up to this many sums, groups add to one histogram instead of storing one each.
_MOST_MERGED = 2**18
# Local memory of each group that CUDA keeps for itself.
_RESERVED = 1024
# Most replicas in local memory, and most bins of replicas on a CPU.
_MOST_REPLICAS, _SMALL = 32, 2048
# Slots in local memory, each a count and a place, for the bins that a group meets first.
_MOST_SLOTS, _SLOT_BYTES = 8192, 8
# A guide with 16 bits for each entry distinguishes fewer bins.
_MOST_NEAR, _ENTRY_BYTES = 2**15, 2


class Reading(NamedTuple):
    """A launch that reads the elements, and the fold of its groups' sums.

    The sums take ``nbytes``, by part, output, plane and place. If ``zeroed``, groups add to memory that must be zero
    before. ``fold`` is None if the groups store the result itself; else its result takes ``folded`` bytes.
    """

    launch: Launch
    nbytes: int
    planes: int
    zeroed: bool
    fold: Launch | None
    folded: int

    def run(self, operands: Operands, words: Any, peaks: Sequence[Any] = (), target: Any = None) -> Any:
        """Launch on the memory of a call, and return the target, by default new memory."""
        driver, left = operands.driver, target
        if self.fold is not None or left is None:
            left = driver.zeros((self.nbytes,), _UINT8) if self.zeroed else driver.scratch(self.nbytes)
        _, memories = operands.placed or operands.place()
        self.launch([*memories, left, words, *peaks])
        if self.fold is None:
            return left
        if target is None:
            target = driver.scratch(self.folded)
        self.fold([*[left] * self.planes, *peaks, target])
        return target


class _Room(NamedTuple):
    """A group's memory: ``copies`` histograms, slots or places of a range, and ``local`` bytes of local memory.

    ``near`` is True if the guide is in local memory.
    """

    copies: int
    near: bool = False
    local: int = 0


class Reader(NamedTuple):
    """Makes the readings of one call with one variant."""

    device: Device
    chosen: HistogramVariant
    forms: tuple[Form, ...]
    axes: tuple[int, ...]
    call: HistogramTraits
    kind: Bins
    guide: int

    def read(self, sums: Sums, op: Op, target: Form, *beside: Form, alone: bool) -> Reading:
        """Return a reading into ``target``, which has the sums by output and place.

        ``op`` folds the parts of each plane, and the arrays of ``beside``, which all parts share. With ``alone``, the
        target may have more places behind it, so groups can write to it directly.
        """
        device, chosen, histograms = self.device, self.chosen, self.chosen.histograms
        able, outputs, size, width = device.capabilities, self.call.outputs, self.call.size, self.call.bins + 2
        layout = plan_layout(self.forms, self.forms[0].shape, self.axes)
        dtype = _sum_dtype(sums, chosen, outputs * size)
        planes, private = 3 if sums == "limbs" else 1, histograms == "private"
        room = self._room(width * planes, planes, dtype)
        ranges = -(-width // room.copies) if histograms == "split" else 1
        parts = self._parts(outputs * ranges, width * planes, room.local)
        rows = parts * (room.copies if private else 1)
        mergeable = histograms in ("local", "replicas", "bytes") and able.int64_atomics
        merged = mergeable and sums != "floats" and outputs == 1 and parts > 1 and parts * width <= _MOST_MERGED
        whole = chosen.shares_histograms or merged
        widened = sums == "counts" and (merged or (outputs == rows == 1 and not whole))
        total = _INT64 if widened else dtype
        values, map_ = _values(tuple(form.dtype for form in self.forms), sums)
        spec = HistogramSpec(
            layout.accesses,
            (),
            values,
            map_,
            vector=min(layout.vector_width(), chosen.items) if chosen.vectors else 1,
            kind=self.kind,
            sums=sums,
            group_dtype=total if private else dtype,
            dtype=total,
            local_guide=room.near,
            fused=not private,
            merged=merged,
        )
        copies = [room.copies] if histograms in ("replicas", "private", "cached", "split") else []
        kernel, groups = device.kernel(chosen, spec), chosen.groups(outputs * parts * ranges, able)
        launch = kernel.prepare(groups, layout.pack(0), outputs, size, width - 2, parts, *copies, local=room.local)
        left = contiguous(total, (1 if whole else rows, outputs, planes, width), ALIGNMENT)
        is_target = alone and total == target.dtype and left.shape[:3] == (1, 1, 1)
        fold = None if is_target else self._fold(left, op, target, beside)
        nbytes, folded = (math.prod(form.shape) * form.item for form in (left, target))
        return Reading(launch, nbytes, planes, whole, fold, folded)

    def _room(self, sums: int, planes: int, dtype: Dtype) -> _Room:
        """Return the memory of a group for ``sums`` sums in all planes."""
        histograms, most = self.chosen.histograms, self.device.capabilities.asked_local_memory
        if histograms == "private":
            return _Room(CPU_REPLICAS if sums <= _SMALL and self.call.size >= 16 * sums else 1)
        if histograms in ("shared", "bytes"):
            return _Room(1)
        if histograms == "cached":
            slots = _power_of_two(min(_MOST_SLOTS, most // _SLOT_BYTES))
            return _Room(slots, local=slots * _SLOT_BYTES)
        copies, nbytes = 1, sums * dtype.itemsize
        if histograms == "split":
            ranges = max(2, -(-nbytes // (most - BEHIND_RANGE)))
            copies = -(-(sums // planes) // ranges)
            nbytes = planes * (copies + 1) * dtype.itemsize
        beside = self.guide * _ENTRY_BYTES
        near = self.guide > 0 and sums < _MOST_NEAR and nbytes + beside <= most
        beside *= near
        if histograms == "replicas":
            copies = _power_of_two(max(min(_MOST_REPLICAS, (most - beside) // nbytes), 1))
            nbytes *= copies
        return _Room(copies, near, nbytes + beside)

    def _parts(self, outputs: int, sums: int, local: int) -> int:
        """Return the number of parts of an output, a group each; a range of a split histogram counts as an output."""
        chosen, able = self.chosen, self.device.capabilities
        groups = chosen.groups_per_unit or 1
        if able.unit_local_memory is not None:  # no more than fit at the same time
            groups = max(1, min(groups, able.unit_local_memory // (local + _RESERVED)))
        # A part has at least a tile, and at least as many elements as its histogram has sums.
        tiles = -(-self.call.size // max(chosen.tile, 1 if chosen.shares_histograms else sums))
        parts = max(1, min(tiles, groups * able.compute_units // outputs))
        return max(parts, -(-self.call.size // _MOST_COUNTED))

    def _fold(self, left: Form, op: Op, target: Form, beside: tuple[Form, ...]) -> Launch:
        """Return the launch that folds parts in order."""
        rows, _, planes, _ = left.shape
        shape, strides = (rows, *target.shape), (*left.strides[:2], left.strides[3])
        parts = [Form(left.dtype, shape, strides, k * left.strides[2], left.alignment) for k in range(planes)]
        forms = [*parts, *(form._replace(shape=(1, *target.shape), strides=(0, *form.strides)) for form in beside)]
        folding = make_folding(op, as_map("reduce", None, len(forms)), tuple(form.dtype for form in forms), None)
        return plan_fold(self.device, forms, [target], folding, shape, (0,), commutative=True).compiled()


def _power_of_two(most: int) -> int:
    """Return the greatest power of two that is at most a number."""
    return 1 << most.bit_length() - 1


def _sum_dtype(sums: Sums, chosen: HistogramVariant, total: int) -> Dtype:
    """Return the dtype of a group's sum: 32 bits for counts that fit."""
    if sums == "floats":
        return _FLOAT64
    small = sums == "peaks" or (sums == "counts" and (not chosen.shares_histograms or total <= _MOST_COUNTED))
    return _UINT32 if small else _INT64


def _values(dtypes: tuple[Dtype, ...], sums: Sums) -> tuple[tuple[Dtype, ...], TypedExpr]:
    """Return the dtypes of a key and any weight, and the function from elements to these."""
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
