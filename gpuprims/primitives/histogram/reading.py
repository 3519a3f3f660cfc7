"""One reading of a histogram's elements: the launch of the kernel, and the fold of its groups' sums."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.driver import Driver, Launch
from gpuprims.core.kernel_spec import Dtype, value_words
from gpuprims.core.launch_plan import in_turn
from gpuprims.core.layout import Form, Layout, contiguous, plan_layout
from gpuprims.core.together import together
from gpuprims.operators import Op, as_map, make_folding
from gpuprims.primitives.fold import plan_fold
from gpuprims.primitives.histogram.elements import MOST_COUNTED, power_of_two, sum_dtype, values_of, weight_dtype
from gpuprims.primitives.histogram.spec import CPU_REPLICAS, Bins, HistogramSpec, Keys, Sums, digits_of, planes_of
from gpuprims.primitives.histogram.traits import BEHIND_RANGE, HistogramTraits
from gpuprims.primitives.histogram.variants import HistogramVariant

_INT64, _FLOAT64, _FLOAT32, _UINT32, _UINT8 = (np.dtype(name) for name in ("i8", "f8", "f4", "u4", "u1"))
ALIGNMENT = 16  # of device memory, in bytes
_LEAST_VECTORS = 8  # of a work-item that counts: fewer groups wait less to add to the totals; rows: shares
# A part has fewer elements, so that digits hold the carries of weights (sums.h).
_MOST_CARRIED = 2**21
# Fewest elements of a part for each digit of a bin: so that adding the parts takes no longer than counting.
_PER_DIGIT = {"exact": 1 / 8, "relative": 1 / 12, "integers": 1 / 4}
# Up to this many totals, the last group stores the results; else each part's sums go to memory, for another launch.
_MOST_MERGED = 2**16
# Local memory of each group that CUDA keeps for itself.
_RESERVED = 1024
# Most replicas in local memory, most bytes of several, and most bins of replicas on a CPU.
_MOST_REPLICAS, _REPLICATED, _SMALL = 32, 96 * 1024, 2048
_FEWEST_REPLICATED = 2**14  # elements on a CPU: with fewer, the sum of replicas takes longer (row cpu_private-short)
# Windows (sums.h): words for each place and column, by digits of a sum, and the bytes of local memory that the kernel
# declares; additions that a word holds, and the fewest columns: lanes that share one wait for each other.
_WINDOWS = {digits_of("exact", _FLOAT32): (2, 1040), digits_of("exact", _FLOAT64): (4, 8208)}
_HELD, _FEWEST_COLUMNS = 4095, 8
# Slots in local memory for the bins that a group meets first, and bytes of a slot's place.
_MOST_SLOTS, _PLACE = 8192, 4
# A guide with 16 bits for each entry distinguishes fewer bins.
_MOST_NEAR, _ENTRY_BYTES = 2**15, 2
# Bytes of a digit in local memory, and of a total.
_DIGIT, _TOTAL = 4, 8
# Fewest work-items of a group that reads a row.
_LEAST_BLOCK = 64
# Results that kernels store; a fold converts to others.
STORED = frozenset(map(np.dtype, ("i4", "i8", "u4", "u8", "f4", "f8")))


class Reading(NamedTuple):
    """A launch that reads the elements, and the fold of its groups' sums.

    The sums take ``nbytes``, by part, output, plane and place. If ``zeroed``, groups add to memory that must be zero
    before. ``fold`` is None if the groups store the result itself; else its result takes ``folded`` bytes. ``behind``
    counts the places that such groups also store behind the bins. ``counters`` are the zeros of a merging launch,
    ``own`` the bytes that two launches share. ``edges`` and ``reports`` say that edges and the last place are stored.
    """

    launch: Launch
    nbytes: int
    planes: int
    zeroed: bool
    fold: Launch | None
    folded: int
    behind: int
    counters: int
    edges: bool = False
    reports: bool = False
    own: int = 0

    def run(
        self,
        driver: Driver,
        memories: Sequence[Any],
        words: Any,
        peaks: Sequence[Any] = (),
        target: Any = None,
        *,
        edges: Any = None,
        report: Any = None,
    ) -> Any:
        """Launch on the memories of a call's arrays, and return the target, by default new memory."""
        left = target
        if self.fold is not None or left is None:
            left = driver.zeros((self.nbytes,), _UINT8) if self.zeroed else driver.scratch(self.nbytes)
        beside = [driver.counters(self.counters)] if self.counters else [driver.scratch(self.own)] if self.own else []
        if self.edges:
            beside.append(edges)
        if report is not None:
            beside.append(report)
        self.launch([*memories, left, words, *peaks, *beside])
        if self.fold is None:
            return left
        if target is None:
            target = driver.scratch(self.folded)
        self.fold([*[left] * self.planes, *peaks, target])
        return target


def fits_exactly(device: Device, weights: Dtype, result: Dtype, outputs: int, bins: int, guide: int) -> bool:
    """Return True if a group has room for all bits that sums of float weights can have."""
    sums, able = (bins + 2) * digits_of("exact", weight_dtype(weights)), device.capabilities
    fits = sums * _TOTAL + guide * _ENTRY_BYTES <= able.asked_local_memory and outputs * sums <= _MOST_MERGED
    return result in STORED and able.int64_atomics and fits


class _Room(NamedTuple):
    """A group's memory: ``copies`` histograms, slots or places of a range, and ``local`` bytes of local memory.

    ``near`` is True if the guide is in local memory, and ``windowed`` if copies are columns of a window instead.
    """

    copies: int
    near: bool = False
    local: int = 0
    windowed: bool = False


class Reader(NamedTuple):
    """Makes the readings of one call with one variant."""

    device: Device
    chosen: HistogramVariant
    forms: tuple[Form, ...]
    axes: tuple[int, ...]
    call: HistogramTraits
    kind: Bins
    guide: int
    keys: Keys

    def read(
        self,
        sums: Sums,
        op: Op,
        target: Form,
        *beside: Form,
        alone: bool,
        edges: bool = False,
        reports: bool = False,
    ) -> Reading:
        """Return a reading into ``target``, which has the sums by output and place.

        ``op`` folds the parts of each plane, and the arrays of ``beside``, which all parts share. With ``alone``, the
        target may have more places behind it, so groups can write to it directly. With ``edges``, a launch that stores
        results also copies the edges; with ``reports``, one that merges those of one output reports the last place.
        """
        device, histograms = self.device, self.chosen.histograms
        able, outputs, size, width = device.capabilities, self.call.outputs, self.call.size, self.call.bins + 2
        layout = plan_layout(self.forms, self.forms[0].shape, self.axes)
        values, map_ = values_of(tuple(form.dtype for form in self.forms), sums, self.keys)
        chosen = self._fitted(values, layout)
        vector = min(layout.vector_width(), chosen.items) if chosen.vectors else 1
        weight = values[-1] if len(values) > self.keys.arrays else None
        dtype = sum_dtype(sums, outputs * size if chosen.shares_histograms else 0)
        digits = digits_of(sums, weight) if histograms in ("cached", "local", "split", "digits") else 1
        planes, private, words = planes_of(sums, weight), histograms == "private", histograms == "digits"
        room = self._room(chosen, digits, dtype)
        ranges = -(-width // room.copies) if histograms == "split" else 1
        here = private or words  # work-items are threads
        least = chosen.tile if here else chosen.block * vector * (_LEAST_VECTORS if sums == "counts" else 1)
        if not chosen.shares_histograms:
            least = max(least, int(digits * width * _PER_DIGIT.get(sums, 1)))
        parts = self._parts(chosen, outputs * ranges, least, room.local)
        parts = max(parts, -(-size // (_MOST_CARRIED if sums == "relative" else MOST_COUNTED)))
        rows = parts * (room.copies if private else 1)
        totals = outputs * planes * width
        stores = histograms in ("local", "bytes", "digits") and target.dtype in STORED
        final, reports = stores and sums not in ("floats", "relative"), reports and outputs == 1 and not words
        merged = final and (parts > 1 or reports or words) and able.int64_atomics and totals <= _MOST_MERGED
        if merged and planes > 1:
            merged = totals // outputs * _TOTAL <= able.asked_local_memory
        final = final and (merged or parts == 1)
        edges, whole = edges and chosen.seeks, chosen.shares_histograms
        widened = sums == "counts" and outputs == rows == 1 and not whole
        left_dtype = _INT64 if widened or (digits > 1 and dtype != _FLOAT64) else dtype
        total = target.dtype if final else left_dtype
        local = max(room.local, totals // outputs * _TOTAL) if merged and planes > 1 and not words else room.local
        spec = HistogramSpec(
            layout.accesses,
            (),
            values,
            map_,
            vector=vector,
            kind=self.kind,
            sums=sums,
            group_dtype=total if private else _UINT32 if digits > 1 or sums == "counts" else dtype,
            dtype=total,
            local_guide=room.near,
            fused=not here,
            digits=digits if digits > 1 else 0,
            final=final,
            merged=HistogramSpec.rows_of_totals(totals, parts) if merged else 0,
            edges=edges,
            reports=reports and merged,
            windowed=room.windowed,
            keys=self.keys,
        )
        left = contiguous(total, (1 if whole else rows, outputs, planes, width), ALIGNMENT)
        is_target = final or (alone and total == target.dtype and left.shape[:3] == (1, 1, 1))
        fold, kernel = together(
            device,
            lambda: None if is_target else self.fold(left, op, target, beside),
            lambda: device.kernel(chosen, spec),
        )
        result = target.shape[1], target.strides[0] // target.item
        stored = result if histograms in ("local", "bytes", "digits") else ()
        copies = [room.copies] if histograms in ("local", "private", "cached", "split") else []
        numbers = outputs, size, width - 2, parts, *stored, *copies
        groups = chosen.groups(outputs * parts * ranges, able)
        steps = [(0,), (1,)] if words else [()]
        launch = in_turn([kernel.prepare(groups, layout.pack(0), *numbers, *step, local=local) for step in steps])
        folded = math.prod(target.shape) * target.item
        if final:
            own = parts * (totals + outputs) * _TOTAL if words else 0
            zeros = merged and not words
            counters = (outputs + 1) // 2 * 2 + 2 * totals * spec.merged + 2 * outputs * (planes > 1) if zeros else 0
            return Reading(launch, folded, planes, False, None, folded, 0, counters, edges, spec.reports, own)
        nbytes = math.prod(left.shape) * left.item
        return Reading(launch, nbytes, planes, whole, fold, folded, 2 * is_target, 0, edges)

    def _fitted(self, values: tuple[Dtype, ...], layout: Layout) -> HistogramVariant:
        """Return the variant with fewer items if values are wide, and with smaller groups for short rows."""
        chosen = self.chosen
        if chosen.block == 1:
            return chosen
        words, groups = value_words(values), chosen.groups_per_unit or 1
        items = power_of_two(max(chosen.items // words, 1))
        if words > 1 and chosen.histograms != "bytes":
            groups = max(groups // 2, 1)
        block = chosen.block
        if self.call.outputs >= groups * self.device.capabilities.compute_units and chosen.histograms == "local":
            while block > _LEAST_BLOCK and block // 2 * items >= self.call.size:
                block, groups = block // 2, min(2 * groups, 32)
        return chosen.resized(block=block, items=items, groups_per_unit=groups)

    def _room(self, chosen: HistogramVariant, digits: int, dtype: Dtype) -> _Room:
        """Return the memory of a group for ``digits`` words, or one sum, of each place."""
        width, most = self.call.bins + 2, self.device.capabilities.asked_local_memory
        if chosen.histograms == "private":
            few = width > _SMALL or self.call.size < max(16 * width, _FEWEST_REPLICATED)
            return _Room(1 if few else CPU_REPLICAS)
        if chosen.histograms in ("shared", "bytes", "digits"):
            return _Room(1)
        each = digits * _DIGIT if digits > 1 else dtype.itemsize
        if chosen.histograms == "cached":
            slots = power_of_two(min(_MOST_SLOTS, most // (each + _PLACE)))
            return _Room(slots, local=slots * (each + _PLACE))
        copies, nbytes = 1, width * each
        if chosen.histograms == "split":
            ranges = max(2, -(-nbytes // (most - BEHIND_RANGE)))
            copies = -(-width // ranges)
            nbytes = (copies + 1) * each
        beside = self.guide * _ENTRY_BYTES
        near = self.guide > 0 and width < _MOST_NEAR and nbytes + beside <= most
        beside *= near
        if columns := self._columns(chosen, digits, most - nbytes - beside):
            words = columns * width * _WINDOWS[digits][0]
            return _Room(columns, near, nbytes + words * _DIGIT + beside, windowed=True)
        if chosen.histograms == "local" and digits > 1:
            room = min(_REPLICATED, most - beside, _DIGIT * self.call.size)
            copies = power_of_two(max(min(_MOST_REPLICAS, room // nbytes), 1))
            nbytes *= copies
        return _Room(copies, near, nbytes + beside)

    def _columns(self, chosen: HistogramVariant, digits: int, most: int) -> int:
        """Return how many columns of a window a group has in ``most`` bytes; 0 if it needs none or too few fit."""
        if chosen.histograms != "local" or digits not in _WINDOWS:
            return 0
        each, declared = _WINDOWS[digits]
        width, groups = self.call.bins + 2, chosen.groups_per_unit or 1
        if width * digits * _TOTAL + declared > self.device.capabilities.asked_local_memory:
            return 0  # the last group would have no room for the totals
        words = width * each
        share = self.call.size // max(groups * self.device.capabilities.compute_units // self.call.outputs, 1)
        room = min(_REPLICATED, most - declared) // _DIGIT  # and clearing takes less time than counting
        columns = power_of_two(max(min(_MOST_REPLICAS, room // words, share // (2 * words)), 1))
        return columns if columns >= max(_FEWEST_COLUMNS, chosen.block * chosen.items // _HELD) else 0

    def _parts(self, chosen: HistogramVariant, outputs: int, least: int, local: int) -> int:
        """Return the number of parts of an output, a group each, of ``least`` elements or more.

        A range of a split histogram counts as an output.
        """
        able, groups = self.device.capabilities, chosen.groups_per_unit or 1
        if able.unit_local_memory is not None:  # no more than fit at the same time
            groups = max(1, min(groups, able.unit_local_memory // (local + _RESERVED)))
        return max(1, min(-(-self.call.size // least), groups * able.compute_units // outputs))

    def fold(self, left: Form, op: Op, target: Form, beside: tuple[Form, ...]) -> Launch:
        """Return the launch that folds parts in order."""
        rows, _, planes, _ = left.shape
        shape, strides = (rows, *target.shape), (*left.strides[:2], left.strides[3])
        parts = [Form(left.dtype, shape, strides, k * left.strides[2], left.alignment) for k in range(planes)]
        forms = [*parts, *(form._replace(shape=(1, *target.shape), strides=(0, *form.strides)) for form in beside)]
        folding = make_folding(op, as_map("reduce", None, len(forms)), tuple(form.dtype for form in forms), None)
        return plan_fold(self.device, forms, [target], folding, shape, (0,), commutative=True).compiled()
