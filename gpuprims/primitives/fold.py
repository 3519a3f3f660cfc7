"""The launch plans of folds and scans, for every operator."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

from gpuprims.core.counters import with_counters, with_scratch
from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.kernel_spec import value_bytes, value_words
from gpuprims.core.launch_plan import LaunchPlan, Sample, nothing, with_statuses
from gpuprims.core.layout import VECTOR_BYTES, Form, contiguous, plan_layout, turned
from gpuprims.core.traits import CallTraits
from gpuprims.core.variant import MOST_GROUPS, Variant
from gpuprims.expressions import TypedExpr
from gpuprims.operators import Folding
from gpuprims.operators.portable import adds, is_portable, is_portable_function, rounds
from gpuprims.primitives.by_rows import FEWEST_FOLDED, by_rows
from gpuprims.primitives.exact_sums import launch_exact
from gpuprims.primitives.fixed_scans import FixedScanSpec
from gpuprims.primitives.fixed_trees import launch_fixed
from gpuprims.primitives.fold_spec import FoldSpec, Packed, ScanSpec, peeled_width
from gpuprims.primitives.fold_variants import FoldVariant, ScanVariant
from gpuprims.primitives.joined import lanes_joined, large_apart, scalar_in_loops
from gpuprims.primitives.lane_rows import LaneRows, LaneRowsSpec
from gpuprims.primitives.levels import at_level, settled_here
from gpuprims.primitives.near import groups_near
from gpuprims.primitives.queue_spec import QueueSpec, plan_queue
from gpuprims.primitives.scan_tiles import in_rows, prepare_levels, scan_traits
from gpuprims.primitives.strips import RunSpec, StripSpec, neighbouring, runs_of, strips_of

# A work-item takes several outputs if they have at most so many elements, and takes at most so many (row each-across).
# Of narrow elements it takes a word of outputs, however many elements they have (row each-narrow-elements).
_SHORT, _MOST_ACROSS, _WORD = 64, 4, 4
# More words of values at once take too many registers (row each-narrow-elements).
_MOST_LOADED = 32
# A work-item that is joined with others has at least one of the lanes by which a kernel folds.
_MOST_JOINED = 16
# Joined work-items fold outputs of so few elements side by side: FEW of reduce_cpu_chunks.cl.
_FEW = 128
# Fewer numbers than kernels compare at once are quicker to fold.
_LEAST_SEARCHED = 32
# Fewer bools are folded sooner than found (rows: cpu_best-bools).
_LEAST_DECIDED = 256


def sample_rows(call: Sample) -> tuple[Form, int]:
    """Return the array of a sample call, and the axis to fold or scan."""
    if call.side_by_side:
        return contiguous(call.dtype, (call.size, call.outputs), 16), 0
    pitch = max(call.size, 2)  # outputs of one element lie apart too
    rows = contiguous(call.dtype, (call.outputs, pitch), 16)
    return rows._replace(shape=(call.outputs, call.size)), 1


def plan_fold(
    device: Device,
    forms: Sequence[Form],
    targets: Sequence[Form],
    folding: Folding,
    shape: tuple[int, ...],
    axes: tuple[int, ...],
    asked: str | Variant | None = None,
    *,
    commutative: bool,
    counted: int | None = None,
    limbs_left: bool = False,
) -> LaunchPlan:
    """Return the launch plan of a fold of arrays that broadcast to ``shape``, along ascending ``axes``.

    ``targets`` are the results, with or without the folded axes. ``counted`` is the number of elements that a result is
    made from, if the arrays are results of earlier folds. With ``limbs_left``, exact sums are not rounded.
    """
    outputs = math.prod(n for k, n in enumerate(shape) if k not in axes)
    count = math.prod(shape[k] for k in axes)
    read, indexed = range(len(forms)), folding.map.takes(len(forms))
    folding = settled_here(folding if adds(folding) else at_level(folding))
    placed = (*forms, *(_with_axes(form, shape, axes) for form in targets))
    plan_axes = partial(plan_layout, placed, shape, axes, kept_by=read, indexed=indexed)
    layout = plan_axes(reduced_by=read if commutative else ())
    nbytes = value_bytes(folding.values)
    flat = layout.flattened(len(forms), indexed=indexed)
    traits = CallTraits(
        dtypes=folding.computed_in,
        size=count,
        outputs=outputs,
        commutative=commutative,
        value_bytes=nbytes,
        side_by_side=layout.side_by_side(len(forms)),
        picks=_searched(folding, count),
        flat=flat is not None,
        begins_whole=layout.vector_width() * max(form.item for form in forms) >= VECTOR_BYTES,
        rounds=rounds(folding),
        portable=is_portable(folding),
        adds=adds(folding),
    )

    def compiling(variant: Variant) -> Launch:
        chosen, able = FoldVariant.of(variant), device.capabilities
        if not outputs:
            return nothing
        finished = count if counted is None else counted
        if chosen.folds == "fixed tree":
            in_order = plan_axes()
            return launch_fixed(device, chosen, folding, in_order, outputs, count, finished, commutative=commutative)
        if chosen.folds == "exactly":
            given = device, chosen, folding, layout, outputs, count, finished
            return launch_exact(*given, limbs_left=limbs_left)
        neighbours = layout.kept[-1] if traits.side_by_side else 0
        item = max(form.item for form in forms)
        most = _MOST_ACROSS if count <= _SHORT else max(_WORD // item, 1)
        across = min(layout.width_across(len(forms)), most) if chosen.narrows and neighbours else 1
        width = chosen.width(outputs, neighbours, across, count, item, able)
        rows = -(-outputs // width)  # groups that compute all outputs once
        read_by = flat if chosen.stages and flat else layout
        if chosen.by_rows and commutative and not indexed and chosen.outputs_per_group == 1:
            read_by = by_rows(layout, FEWEST_FOLDED)
        aligned = read_by.vector_width() if chosen.vectors else 1
        peels = commutative and 0 < chosen.peels <= count
        vector = max(aligned, peeled_width(read_by, len(forms)) if peels else 0)
        chosen, parts = chosen.narrowed(vector, value_words(folding.values)), 1
        if chosen.shares_outputs:  # enough groups to fill the device, each with a tile of its own
            tiles = max(-(-count * width // (chosen.block * chosen.items)), 1)
            parts = max(1, min(tiles, chosen.groups(rows * tiles, able) // rows))
        groups = min(rows * parts, MOST_GROUPS)
        if not chosen.shares_outputs or chosen.block == 1:  # a group of one is a thread: no more than there are to run
            groups = chosen.groups(groups, able)
        if chosen.by_rows and len(folding.values) == 1:
            read = sum([form.item for form in forms]) * outputs * count
            groups = groups_near(groups, read, folding.map, folding.op)
        apart = large_apart(read_by, len(forms)) if chosen.joins else None
        loads = {"vector": vector, "vector_across": across, "peeled": vector > aligned, "apart": apart}
        loads["narrow"] = 0 < able.vector_lanes < _MOST_JOINED if chosen.block == 1 else None  # kernels of CPUs
        spec = FoldSpec.of(folding, read_by, better=folding.better, commutative=commutative, **loads)
        packed = read_by.pack(finished)
        side_by_side = count <= _FEW and len(folding.values) > 1  # rows: cpu_chunks-few
        joins = side_by_side or scalar_in_loops(folding.map, folding.op)
        if chosen.joins and commutative and joins:
            chosen = chosen.resized(block=min(lanes_joined(able), _MOST_JOINED))
        numbers = (outputs, count, parts, width) if chosen.narrows else (outputs, count, parts)
        words = max(across * min(item, _WORD) // _WORD, 1)  # that a work-item loads of each row
        fitted = chosen
        if across > 1:
            fitted = chosen.resized(items=max(min(chosen.items // words, 4 * _MOST_LOADED // (across * nbytes)), 1))
        elif chosen.narrows and vector == 1 and 0 < count < chosen.items and 2 * width > chosen.block:
            fitted = chosen.resized(items=count)  # all elements of an output at once (rows: each-few)
        launch = device.kernel(fitted, spec).prepare(groups, packed, *numbers)
        counters, scratch = outputs, outputs * parts * nbytes
        if parts == 1:  # unshared outputs need no counters, and there may be millions
            counters, scratch = 1, 0
        elif chosen.accumulates:
            counters, scratch = (outputs + 1) // 2 * 2 + outputs * nbytes // 4, 0
        return with_counters(device, launch, counters, scratch, unread=0 if count else len(forms), one_kernel=True)

    results = [_in_new_memory(form) for form in targets]
    return LaunchPlan(device, "reduce", traits, results, compiling, asked=asked, inputs=range(len(forms)))


def _in_new_memory(form: Form) -> Form:
    """Return a result in new memory: in Fortran order if ``form`` is, else in C order."""
    plain = contiguous(form.dtype, form.shape, form.divides_address)
    return turned(plain) if form.strides == turned(plain).strides else plain


def _searched(folding: Folding, count: int) -> bool:
    """Return True if kernels may search for the value that a fold picks, and gain by it (rows: cpu_best-alone)."""
    if folding.better is None or len(folding.values) > 1:
        return folding.better is not None
    least = _LEAST_DECIDED if folding.values[0].kind == "b" else _LEAST_SEARCHED
    return folding.values[0].kind in "fcb" and count >= least and not scalar_in_loops(folding.map)


def _with_axes(form: Form, shape: tuple[int, ...], axes: tuple[int, ...]) -> Form:
    """Insert the folded axes, of length 1, into a result that lacks them."""
    if len(form.shape) == len(shape):
        return form
    lengths, strides = list(form.shape), list(form.strides)
    for axis in axes:
        lengths.insert(axis, 1)
        strides.insert(axis, 0)
    return form._replace(shape=tuple(lengths), strides=tuple(strides))


def plan_scan(
    device: Device,
    forms: Sequence[Form],
    targets: Sequence[Form],
    results: Sequence[Form],
    folding: Folding,
    shape: tuple[int, ...],
    axes: tuple[int, ...],
    asked: str | Variant | None,
    *,
    commutative: bool,
    inclusive: bool,
    place: TypedExpr | None = None,
    packed: Packed = False,
    primitive: str = "scan",
    item_words: Callable[[int], float] | None = None,
    count: int | None = None,
    counted: int | None = None,
    otherwise: LaunchPlan | None = None,
    kind: Callable[..., LaunchPlan] = LaunchPlan,
    grouped: bool = False,
) -> LaunchPlan:
    """Return the launch plan of a scan of arrays that broadcast to ``shape``, along ``axes``, the last one fastest.

    ``targets`` are the results with the axes of the arrays. ``place`` gives the index of each result, by default its
    element's; ``packed`` says that indices of the first result rise one by one. A work-item holds ``item_words`` words
    for each element in vectors of so many, by default the value's. ``count`` replaces the product of the scanned axes,
    and ``counted`` the number of elements that ``STORE`` is given for the first result: 1 if inclusive, else 0. Values
    are ``grouped`` in segments if the operator only leaves them apart.
    """
    outputs = math.prod(n for k, n in enumerate(shape) if k not in axes)
    size = math.prod(shape[k] for k in axes) if count is None else count
    folding = settled_here(folding)
    layout = plan_layout((*forms, *targets), shape, axes, kept_by=range(len(forms)))
    words = value_words(folding.values)
    placed = place is not None or folding.map.takes(len(forms)) or folding.finish.takes(len(folding.values))
    by_row = layout if placed else in_rows(layout, shape, axes)
    traits = scan_traits(
        by_row,
        len(forms),
        placed=place is not None,
        dtypes=(*folding.computed_in, *(place.computed_in if place else ())),
        size=size,
        outputs=outputs,
        commutative=commutative,
        value_bytes=value_bytes(folding.values),
        side_by_side=neighbouring(layout, len(forms)),
        words=words,
        rows=math.prod(by_row.kept) if by_row is not layout else 1,
        rounds=rounds(folding),
        portable=is_portable(folding) and (place is None or is_portable_function(place)),
        grouped=grouped,
    )

    def compiling(variant: Variant) -> Launch:
        chosen, able = ScanVariant.of(variant), device.capabilities
        if not outputs * size:
            return nothing
        last = int(inclusive) if counted is None else counted
        if chosen.queued:
            spec_of = partial(QueueSpec.of, folding, by_row, commutative=commutative, inclusive=inclusive)
            return plan_queue(device, chosen, traits, by_row, last, spec_of)
        by_strips, by_runs = chosen.scratch == "strip statuses", chosen.scratch == "part statuses"
        # No more items than one output has, or all that a strip takes, and no more than fill the device.
        at_once = outputs if by_strips or by_runs else min(outputs, able.compute_units)
        paired = layout.width_of_pairs(len(forms)) if chosen.pairs else 0
        held = item_words(max(traits.vector, paired)) if item_words else words
        fitted = chosen.taking(size).fitted(held, at_once * size, able)
        strips = strips_of(fitted, able, traits)
        fitted = strips.variant if by_strips else fitted
        vector = min(paired or layout.vector_width(), fitted.items) if fitted.vectors else 1
        how = {"commutative": commutative, "inclusive": inclusive, "place": place, "vector": vector}
        how["paired"] = paired > 0
        lane_rows = LaneRows.of(size, vector, able.warp) if fitted.few_lanes else None
        spec: ScanSpec
        if by_runs:
            runs = runs_of(fitted, able, traits)
            spec = RunSpec.of(folding, layout, rows=runs.rows, folded=runs.folded, groups=runs.resident, **how)
            launch = device.kernel(runs.variant, spec).prepare(
                min(runs.groups, MOST_GROUPS), layout.pack(last), outputs, size, *runs.numbers
            )
            return with_statuses(device, launch, 1 + runs.statuses * words)
        if by_strips:
            spec = StripSpec.of(folding, layout, rows=strips.rows, prefetches=strips.prefetches, **how)
        elif lane_rows:
            spec = LaneRowsSpec.of(folding, layout, taken=lane_rows, **how)
        else:
            kind_of_spec = FixedScanSpec if chosen.in_fixed_order else ScanSpec
            spec = kind_of_spec.of(folding, layout, packed=packed, **how)
        kernel, numbers = device.kernel(fitted, spec), layout.pack(last)
        if chosen.scratch == "levels":
            launch, values = prepare_levels(kernel, fitted, able, numbers, outputs, size)
            return with_scratch(device, launch, 4 * words * values)
        if chosen.scratch == "none":
            at_once = lane_rows.outputs(fitted.block) if lane_rows else fitted.outputs_per_group
            groups = fitted.groups(-(-outputs // at_once), able)
            return with_scratch(device, kernel.prepare(groups, numbers, outputs, size), 4)
        if by_strips:
            launch = kernel.prepare(strips.groups, numbers, outputs, size, strips.width, strips.across, strips.parts)
            return with_statuses(device, launch, 1 + strips.statuses * words)
        tiles = -(-size // fitted.tile)
        groups = fitted.groups(outputs * tiles, able)
        if fitted.together:
            groups = min(groups, fitted.looks * fitted.block)  # work-items read the aggregates of all other groups
        launch = kernel.prepare(groups, numbers, outputs, size, tiles)
        return with_statuses(device, launch, 1 + outputs * tiles * words)

    what = device, primitive, traits, results, compiling
    return kind(*what, asked=asked, inputs=range(len(forms)), otherwise=otherwise)
