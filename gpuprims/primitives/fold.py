"""The launch plans of folds and scans, for every operator."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from gpuprims.core.device import Device
from gpuprims.core.kernel_spec import value_bytes, value_words
from gpuprims.core.launch_plan import LaunchPlan, Sample
from gpuprims.core.layout import VECTOR_BYTES, Form, contiguous, plan_layout, turned
from gpuprims.core.traits import CallTraits
from gpuprims.core.variant import Variant
from gpuprims.expressions import TypedExpr, in_vectors
from gpuprims.operators import Folding
from gpuprims.operators.portable import adds, is_portable, is_portable_function, rounds
from gpuprims.primitives.fold_launch import FoldWork
from gpuprims.primitives.fold_spec import Packed
from gpuprims.primitives.joined import scalar_in_loops
from gpuprims.primitives.levels import at_level, settled_here
from gpuprims.primitives.scan_launch import ScanWork
from gpuprims.primitives.scan_tiles import in_rows, scan_traits
from gpuprims.primitives.strips import neighbouring

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
    finished = count if counted is None else counted
    if device.capabilities.calls_by_element:  # row pocl-functions of maps
        folding = replace(folding, map=in_vectors(folding.map))
    work = FoldWork(device, folding, traits, layout, plan_axes, flat, len(forms), finished, indexed, limbs_left)
    results = [_in_new_memory(form) for form in targets]
    return LaunchPlan(device, "reduce", traits, results, work.launch, asked=asked, inputs=range(len(forms)))


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
    element's; ``packed`` says that indices of the first result rise one by one. ``item_words`` gives the words that a
    work-item holds for each element, by the length of a vector; by default those of the value. ``count`` replaces the
    product of the scanned axes, and ``counted`` the number of elements that ``STORE`` is given for the first result: 1
    if inclusive, else 0. Values are ``grouped`` if the operator only keeps segments apart.
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
        numbers=sum(1 + (dtype.kind == "c") for dtype in folding.values),
        rows=math.prod(by_row.kept) if by_row is not layout else 1,
        rounds=rounds(folding),
        portable=is_portable(folding) and (place is None or is_portable_function(place)),
        grouped=grouped,
        rereads=place is None and folding.rereads,
    )
    last = int(inclusive) if counted is None else counted
    how = inclusive, place, packed, item_words
    work = ScanWork(device, folding, traits, layout, by_row, len(forms), last, *how)
    what = device, primitive, traits, results, work.launch
    return kind(*what, asked=asked, inputs=range(len(forms)), otherwise=otherwise)
