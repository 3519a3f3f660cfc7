"""Folds of segments by kernels that read where segments begin, in place of a scan with marks."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.kernel_spec import value_bytes, value_words
from gpuprims.core.launch_plan import Prepared, Result, result_forms, target_forms
from gpuprims.core.layout import Form, plan_layout
from gpuprims.core.operands import Operands
from gpuprims.core.outputs import Targets
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.registry import REGISTRY
from gpuprims.core.traits import CallTraits
from gpuprims.expressions import TypedExpr, trace, typed
from gpuprims.operators import Folding, Op, as_map, make_folding
from gpuprims.primitives.fold_variants import FoldVariant
from gpuprims.primitives.segments.spec import SegmentSpec

_INT64 = np.dtype(np.int64)


@lru_cache(maxsize=1024)
def choose_runs(
    op: Op,
    mapped: Any,
    dtype: Any,
    variant: str | None,
    arrays: tuple[np.dtype[Any], ...],
    segments: int,
    longest: int,
    device: Device,
    generation: int,
) -> FoldVariant | None:
    """Return the kernel that folds so many segments, the longest of so many elements.

    None where none is able, or another one is asked for.
    """
    folding = _folding(op, mapped, dtype, arrays)
    call = CallTraits(
        dtypes=folding.computed_in,
        size=longest,
        outputs=segments,
        commutative=op.commutative,
        value_bytes=value_bytes(folding.values),
    )
    if variant is None:
        chosen = device.explain("segments", call).chosen
        return None if chosen is None else FoldVariant.of(chosen)
    own = {known.name for known in REGISTRY.variants("segments", device.backend)}
    return FoldVariant.of(device.select("segments", call, variant)) if variant in own else None


def fold_runs(
    operands: Operands, targets: Targets | None, chosen: FoldVariant, op: Op, mapped: Any, dtype: Any, size: int
) -> Any:
    """Fold segments of so many elements, whose offsets are the last array, by a kernel of :func:`choose_runs`."""
    where = target_forms(operands, targets), operands.fresh_alignment, operands.device
    return _prepare(chosen, op, mapped, dtype, operands.forms, size, *where).run(operands, targets)


@keeps_calls()
def _prepare(
    chosen: FoldVariant,
    op: Op,
    mapped: Any,
    dtype: Any,
    forms: tuple[Form, ...],
    size: int,
    written: tuple[Form, ...] | None,
    alignment: int,
    device: Device,
) -> Prepared:
    last, count = len(forms) - 1, forms[-1].shape[0] - 1
    arrays = tuple(form.dtype for form in forms[:-1])
    folding = _folding(op, mapped, dtype, arrays)
    results = tuple(Result((count,), output) for output in folding.outputs)
    # Where there are no elements, arrays have no memory: offsets stand in for it, and are not read as elements.
    places = tuple(k if size else last for k in range(last + 1)), tuple(range(len(results)))
    single = len(results) == 1
    if not count:
        return Prepared(chosen, results, single, None, *places)
    # Elements lie along one axis, of segments there is one offset, and one result, each; an axis of one has no step.
    shape = max(count, 2), max(size, 2)
    inputs = [form._replace(shape=shape[1:]) if form.shape else form for form in forms[:-1]]
    each = [_down(form, shape[0]) for form in (forms[-1], *result_forms("reduce", results, written, alignment))]
    layout = plan_layout((*inputs, *each), shape, (1,))
    accesses = layout.accesses
    spec = SegmentSpec(
        inputs=accesses[: last + 1],
        outputs=accesses[last + 1 :],
        values=folding.values,
        map=_beside_offsets(folding, arrays),
        finish=folding.finish,
        op=folding.op,
        identity=folding.identity,
        commutative=op.commutative,
    )
    parts = chosen.groups(-(-(size + count) // chosen.tile), device.capabilities)
    launch = device.kernel(chosen, spec).prepare(parts, layout.pack(0), count, size, parts)
    # Of each part what it has of its first segment and of its last, where parts share segments.
    left = 2 * parts * 4 * value_words(folding.values) if chosen.shares_outputs else 0
    return Prepared(chosen, results, single, launch, *places, tickets=1, scratch=left)


def _folding(op: Op, mapped: Any, dtype: Any, arrays: tuple[np.dtype[Any], ...]) -> Folding:
    return make_folding(op, as_map("reduce", mapped, len(arrays)), arrays, dtype)


def _down(form: Form, count: int) -> Form:
    """See an array as a column of so many elements."""
    return form._replace(shape=(count, 1), strides=(*form.strides, 0))


def _beside_offsets(folding: Folding, arrays: tuple[np.dtype[Any], ...]) -> TypedExpr:
    """Return the map of a folding that is given an offset after the elements, and has no use for it."""
    n = len(arrays)
    return typed(trace(lambda *given: folding.map(*given[:n], given[-1]), n + 2), (*arrays, _INT64, _INT64))
