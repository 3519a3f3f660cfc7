"""One reading of a histogram's elements: the launch of the kernel, and the fold of its groups' sums."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.driver import Driver, Kernel, Launch
from gpuprims.core.kernel_spec import Dtype
from gpuprims.core.launch_plan import in_turn
from gpuprims.core.layout import Form, Layout, contiguous, plan_layout
from gpuprims.core.together import together
from gpuprims.expressions import TypedExpr
from gpuprims.operators import Op, as_map, make_folding
from gpuprims.primitives.fold import plan_fold
from gpuprims.primitives.histogram.elements import MOST_COUNTED, sum_dtype, values_of, weight_dtype
from gpuprims.primitives.histogram.groups import ENTRY_BYTES, TOTAL, Group, Room
from gpuprims.primitives.histogram.spec import FULL, MOST_PACKED, Bins, HistogramSpec, Keys, Sums, digits_of, planes_of
from gpuprims.primitives.histogram.traits import HistogramTraits
from gpuprims.primitives.histogram.variants import HistogramVariant

_INT64, _FLOAT64, _FLOAT32, _UINT32, _UINT8 = (np.dtype(name) for name in ("i8", "f8", "f4", "u4", "u1"))
ALIGNMENT = 16  # of device memory, in bytes
_LEAST_VECTORS = 8  # of a work-item that counts: fewer groups wait less to add to the totals; rows: shares
# A part has fewer elements, so that digits hold the carries of weights (sums.h).
_MOST_CARRIED = 2**21
# Fewest elements of a part for each digit of a bin: so that adding the parts takes no longer than counting.
_PER_DIGIT = {"exact": 1 / 8, "relative": 1 / 12, "integers": 1 / 4}
# Up to this many totals, the last group stores the results; else each part's sums go to memory, for another launch. It
# passes many counts slowly, all alone (rows: merged).
_MOST_MERGED, _MOST_MERGED_COUNTS = 2**16, 2**14
# CPUs add up to so many float weights of bincount one after the other, as NumPy does (row by_numpy-weights-in-turn).
MOST_IN_TURN = 2**16
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


def fits_exactly(
    device: Device, weights: Dtype, result: Dtype, outputs: int, bins: int, guide: int
) -> tuple[bool, bool]:
    """Return if a group has room for all bits of float sums, on CPUs in any memory, and if it has in local memory."""
    sums, able = (bins + 2) * digits_of("exact", weight_dtype(weights)), device.capabilities
    fits = result in STORED and able.int64_atomics and outputs * sums <= _MOST_MERGED
    here = fits and sums * TOTAL + guide * ENTRY_BYTES <= able.asked_local_memory
    return here or (fits and able.kind == "cpu"), here


class _Work(NamedTuple):
    """What the groups of one reading do.

    They add up ``places``: outputs, planes and bins. ``rows`` counts the histograms that they leave for each output,
    and ``here`` is True if work-items are threads of a CPU.
    """

    chosen: HistogramVariant
    layout: Layout
    values: tuple[Dtype, ...]
    map: TypedExpr
    sums: Sums
    vector: int
    dtype: Dtype
    digits: int
    places: tuple[int, int, int]
    room: Room
    ranges: int
    parts: int
    rows: int
    here: bool

    @property
    def planes(self) -> int:
        """Sums of each bin."""
        return self.places[1]


class _Ends(NamedTuple):
    """What the groups leave: totals of a dtype, which are ``final`` results, ``merged`` by the last group, or sums."""

    total: Dtype
    final: bool
    merged: bool
    is_target: bool
    edges: bool
    reports: bool


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
        device, chosen = self.device, self.chosen
        work = self._work(sums)
        ends = self._ends(work, target, alone=alone, edges=edges, reports=reports)
        spec = self._spec(work, ends)
        left = contiguous(ends.total, (work.rows, *work.places), ALIGNMENT)
        fold, kernel = together(
            device,
            lambda: None if ends.is_target else self.fold(left, op, target, beside),
            lambda: device.kernel(work.chosen, spec),
        )
        launch = self._launch(kernel, work, ends, target)
        folded = math.prod(target.shape) * target.item
        if ends.final:
            counters, own = self._shared(work, ends, spec.merged)
            return Reading(launch, folded, work.planes, False, None, folded, 0, counters, ends.edges, spec.reports, own)
        nbytes = math.prod(left.shape) * left.item
        zeroed, behind = chosen.shares_histograms, 2 * ends.is_target
        return Reading(launch, nbytes, work.planes, zeroed, fold, folded, behind, 0, ends.edges)

    def _work(self, sums: Sums) -> _Work:
        """Divide the elements among groups, and choose the numbers that they add up."""
        histograms, outputs, size, width = self.chosen.histograms, self.call.outputs, self.call.size, self.call.bins + 2
        layout = plan_layout(self.forms, self.forms[0].shape, self.axes)
        values, map_ = values_of(tuple(form.dtype for form in self.forms), sums, self.keys)
        group = Group(self.device.capabilities, self.call, self.chosen).fitted(values)
        chosen = group.chosen
        vector = min(layout.vector_width(), chosen.items) if chosen.vectors else 1
        weight = values[-1] if len(values) > self.keys.arrays else None
        dtype = sum_dtype(sums, outputs * size if chosen.shares_histograms else 0)
        digits = digits_of(sums, weight) if histograms in ("cached", "local", "split", "digits") else 1
        in_turn = (histograms, sums, self.kind, outputs) == ("private", "floats", "direct", 1) and size <= MOST_IN_TURN
        room = Room(1) if in_turn else group.room(digits, dtype, self.guide)
        ranges = -(-width // room.copies) if histograms in ("split", "packed") else 1
        here = histograms in ("private", "digits")  # work-items are threads
        least = chosen.tile if here else chosen.block * vector * (_LEAST_VECTORS if sums == "counts" else 1)
        if not chosen.shares_histograms or histograms == "packed":  # whose groups pass all places
            least = max(least, int(digits * width * _PER_DIGIT.get(sums, 1)))
        parts = 1 if in_turn else group.parts(outputs * ranges, least, room.local)
        most = _MOST_CARRIED if sums == "relative" else MOST_COUNTED
        if histograms == "packed":
            most = min(MOST_PACKED, chosen.block * FULL // 2)
        parts = max(parts, -(-size // most))
        rows = 1 if chosen.shares_histograms else parts * (room.copies if histograms == "private" else 1)
        places = outputs, planes_of(sums, weight), width
        return _Work(chosen, layout, values, map_, sums, vector, dtype, digits, places, room, ranges, parts, rows, here)

    def _ends(self, work: _Work, target: Form, *, alone: bool, edges: bool, reports: bool) -> _Ends:
        """Decide whether the groups store results or sums, and by what dtype."""
        chosen, (outputs, planes, _), totals = self.chosen, work.places, math.prod(work.places)
        able, words, sums = self.device.capabilities, chosen.histograms == "digits", work.sums
        stores = chosen.histograms in ("local", "bytes", "digits") and target.dtype in STORED
        final, reports = stores and sums not in ("floats", "relative"), reports and outputs == 1 and not words
        most = _MOST_MERGED_COUNTS if sums == "counts" else _MOST_MERGED
        merged = final and (work.parts > 1 or reports or words) and able.int64_atomics and totals <= most
        if merged and planes > 1 and not words:
            merged = totals // outputs * TOTAL <= able.asked_local_memory
        final = final and (merged or work.parts == 1)
        widened = sums == "counts" and outputs == work.rows == 1 and not chosen.shares_histograms
        left = _INT64 if widened or (work.digits > 1 and work.dtype != _FLOAT64) else work.dtype
        total = target.dtype if final else left
        is_target = final or (alone and total == target.dtype and (work.rows, outputs, planes) == (1, 1, 1))
        return _Ends(total, final, merged, is_target, edges and chosen.seeks, reports and merged)

    def _spec(self, work: _Work, ends: _Ends) -> HistogramSpec:
        """Return the kernel spec."""
        private, narrow = self.chosen.histograms == "private", work.digits > 1 or work.sums == "counts"
        return HistogramSpec(
            work.layout.accesses,
            (),
            work.values,
            work.map,
            vector=work.vector,
            kind=self.kind,
            sums=work.sums,
            group_dtype=ends.total if private else _UINT32 if narrow else work.dtype,
            dtype=ends.total,
            local_guide=work.room.near,
            fused=not work.here,
            digits=work.digits if work.digits > 1 else 0,
            final=ends.final,
            merged=HistogramSpec.rows_of_totals(math.prod(work.places), work.parts) if ends.merged else 0,
            edges=ends.edges,
            reports=ends.reports,
            windowed=work.room.windowed,
            keys=self.keys,
        )

    def _launch(self, kernel: Kernel, work: _Work, ends: _Ends, target: Form) -> Launch:
        """Return the launch of the kernel, or of both its steps."""
        histograms, (outputs, _, width) = self.chosen.histograms, work.places
        result = target.shape[1], target.strides[0] // target.item
        stored = result if histograms in ("local", "bytes", "digits") else ()
        copies = [work.room.copies] if histograms in ("local", "private", "cached", "split", "packed") else []
        numbers = outputs, self.call.size, width - 2, work.parts, *stored, *copies
        groups = work.chosen.groups(outputs * work.parts * work.ranges, self.device.capabilities)
        steps, local = ([(0,), (1,)] if histograms == "digits" else [()]), work.room.local
        if ends.merged and work.planes > 1 and histograms != "digits":
            local = max(local, work.planes * width * TOTAL)
        return in_turn([kernel.prepare(groups, work.layout.pack(0), *numbers, *step, local=local) for step in steps])

    def _shared(self, work: _Work, ends: _Ends, merged: int) -> tuple[int, int]:
        """Return the counters of groups that merge totals, and the bytes that two launches share."""
        outputs, totals = self.call.outputs, math.prod(work.places)
        if self.chosen.histograms == "digits":
            return 0, work.parts * (totals + outputs) * TOTAL
        if not ends.merged:
            return 0, 0
        return (outputs + 1) // 2 * 2 + 2 * totals * merged + 2 * outputs * (work.planes > 1), 0

    def fold(self, left: Form, op: Op, target: Form, beside: tuple[Form, ...]) -> Launch:
        """Return the launch that folds parts in order."""
        rows, _, planes, _ = left.shape
        shape, strides = (rows, *target.shape), (*left.strides[:2], left.strides[3])
        parts = [Form(left.dtype, shape, strides, k * left.strides[2], left.alignment) for k in range(planes)]
        forms = [*parts, *(form._replace(shape=(1, *target.shape), strides=(0, *form.strides)) for form in beside)]
        folding = make_folding(op, as_map("reduce", None, len(forms)), tuple(form.dtype for form in forms), None)
        return plan_fold(self.device, forms, [target], folding, shape, (0,), commutative=True).compiled()
