"""The launch plan of a logistic gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuprims.core.counters import with_counters
from gpuprims.core.determinism import asks_for_device
from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.geometry import power_of_two
from gpuprims.core.kernel_spec import value_words
from gpuprims.core.launch_plan import LaunchPlan, Sample, in_turn
from gpuprims.core.layout import Form, Layout, contiguous, starts_of
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.registry import REGISTRY
from gpuprims.core.variant import Variant
from gpuprims.core.variant_checks import asked_by_name
from gpuprims.errors import ArgumentError, ShapeError
from gpuprims.primitives.logistic.fixed import launch_fixed
from gpuprims.primitives.logistic.labelled import check_samples, typed_loss
from gpuprims.primitives.logistic.refusals import LogisticTraits
from gpuprims.primitives.logistic.spec import LogisticSpec
from gpuprims.primitives.logistic.variants import LogisticVariant
from gpuprims.primitives.rows import sample_forms, side_by_side, vector_of

# Bytes of the rows that a work-item of a CPU takes at once, most and fewest rows, and bytes of a vector of scores.
_CPU_BYTES, _MOST_ROWS, _LEAST_ROWS, _CPU_VECTOR = 65_536, 64, 4, 64  # rows: cpu_fused-rows
# Most rows that a lane of a GPU holds a part of at once.
_MOST_HELD_ROWS = 8
# From this many words of a row in each lane on, a multiprocessor has room for two groups and not three. From this many
# lanes for each row on, one group of twice the size is faster.
_MANY_WORDS, _MANY_LANES = 16, 128  # rows: fused-groups


def bind(
    arrays: tuple[Any, ...], device: str | Device | None = None, variant: str | Variant | None = None
) -> tuple[Operands, bool, None, str | Variant | None]:
    """Check samples, labels, weights, any sample weights and transposed samples, and find the device of a call.

    The request is True if the last array, of two dimensions, has the samples by columns.
    """
    if not 3 <= len(arrays) <= 5:
        rule = "X, y, weights, and perhaps sample weights and X.T"
        raise ArgumentError(f"logistic: {rule}; got {len(arrays)} array(s)")
    operands = as_operands("logistic", arrays, device)
    samples, *others = operands.natives
    by_columns = len(others) == 4 or (len(others) == 3 and len(others[-1].shape) == 2)
    check_samples("logistic", (samples, *others[: len(others) - by_columns]), integers=True)
    if by_columns and (others[-1].dtype != samples.dtype or tuple(others[-1].shape) != tuple(samples.shape)[::-1]):
        rule = f"transposed samples of shape {tuple(samples.shape)[::-1]} and dtype {samples.dtype}"
        raise ShapeError(f"logistic: {rule}; got {tuple(others[-1].shape)} and {others[-1].dtype}")
    return side_by_side(operands), by_columns, None, asked_by_name("logistic", variant)


def columns_for(X: Any, variant: str | None, device: Device) -> tuple[Any, ...]:
    """Return samples by columns on their device, for a variant that reads them so, else nothing."""
    known = {one.name: LogisticVariant.of(one).scratch for one in REGISTRY.variants("logistic", device.backend)}
    if variant is None or known.get(variant) != "columns in turn":
        return ()
    return (side_by_side(as_operands("logistic", (X.T,), device)).natives[0],)


@keeps_calls()
def plan_call(
    request: bool,
    forms: tuple[Form, ...],
    written: tuple[Form, ...] | None,
    alignment: int,
    device: Device,
    variant: str | Variant | None,
    generation: int,
) -> LaunchPlan:
    """Decide everything about a logistic gradient but its memory."""
    stored, dtype, (n, k) = forms[0].dtype, forms[1].dtype, forms[0].shape
    results = [contiguous(dtype, shape, alignment) for shape in ((), forms[2].shape)]
    traits = LogisticTraits(
        (dtype, stored),
        n,
        k,
        value_bytes=dtype.itemsize,
        side_by_side=True,
        portable=asks_for_device(),
        weighted=len(forms) - request > 3,
    )

    def compiling(variant: Variant) -> Launch:
        chosen = LogisticVariant.of(variant)
        layout = starts_of((*forms, *results))
        if chosen.fixed:
            return launch_fixed(chosen, layout, len(forms), device, by_columns=request)
        vector = whole = _vector(chosen, forms, by_columns=request)
        vector = max(vector, chosen.packs)
        lanes, rows = _teams(chosen, k, vector, dtype, device)
        fitted = _resident(chosen, lanes, -(-k // lanes) * value_words((dtype,)), device)
        vector_rows = _CPU_VECTOR // dtype.itemsize if _for_cpus(fitted) else 1
        shared = {"vector": vector, "lanes": lanes, "rows": rows, "vector_rows": vector_rows}
        shared |= {"by_columns": request, "others": int(request), "holds": chosen.word_items, "whole": whole == vector}
        shared["runs"] = _for_cpus(fitted)
        spec = LogisticSpec.of(layout, len(forms), typed_loss(dtype), **shared)
        return _launch(fitted, spec, layout, n, device)

    return LaunchPlan(device, "logistic", traits, results, compiling, asked=variant, inputs=range(len(forms)))


def sample(call: Sample) -> LaunchPlan:
    """Return the plan of the gradient for the samples of :func:`sample_forms`."""
    return plan_call(False, sample_forms(call), None, 16, call.device, None, 0)


def _vector(variant: LogisticVariant, forms: tuple[Form, ...], *, by_columns: bool) -> int:
    """Return how many neighbours a load takes: of rows, and in kernels that read columns of columns too."""
    reads = variant.scratch == "columns in turn"
    if by_columns and not reads and variant.backend != "reference":
        rule = "transposed samples for kernels that read samples by columns"
        raise ArgumentError(f"logistic: {rule}; got logistic/{variant.name} (choose another by variant=)")
    vector = vector_of(forms[0]) if variant.vectors else 1
    if not reads:
        return vector
    whole = vector_of(forms[-1]) == vector if by_columns else forms[0].shape[0] % vector == 0
    return vector if whole else 1


def _for_cpus(variant: LogisticVariant) -> bool:
    """Return True for a kernel whose work-items are CPU threads that compute in vectors."""
    return variant.block == 1 and variant.shares_outputs


def _teams(
    variant: LogisticVariant, features: int, vector: int, dtype: np.dtype[Any], device: Device
) -> tuple[int, int]:
    """Return how many work-items share a row, and how many rows are held at once."""
    if _for_cpus(variant):
        return 1, max(_LEAST_ROWS, min(_MOST_ROWS, _CPU_BYTES // (features * dtype.itemsize)))
    if not variant.word_items:
        return 1, 1
    most = variant.items // value_words((dtype,))  # numbers that a work-item holds
    vectors = -(-features // vector)
    lanes = min(power_of_two(vectors), device.capabilities.warp or 32, variant.block)
    while -(-vectors // lanes) * vector > most and lanes < variant.block:
        lanes *= 2
    held = -(-vectors // lanes) * vector
    return lanes, min(_MOST_HELD_ROWS, max(power_of_two(most // held + 1) // 2, 1))


def _resident(variant: LogisticVariant, lanes: int, words: int, device: Device) -> LogisticVariant:
    """Return the variant in the geometry that suits ``words`` of a row in each of ``lanes`` lanes."""
    if not variant.word_items or words < _MANY_WORDS:
        return variant
    block = 2 * variant.block
    if lanes >= _MANY_LANES and device.capabilities.group_limit >= block:
        return variant.resized(block=block, groups_per_unit=1)
    return variant.resized(groups_per_unit=2)


def _launch(variant: LogisticVariant, spec: LogisticSpec, layout: Layout, n: int, device: Device) -> Launch:
    """Return the launches and their scratch memory."""
    kernel, able, item = device.kernel(variant, spec), device.capabilities, spec.values[0].itemsize
    packed = layout.pack(0)
    if variant.scratch in ("rows in turn", "columns in turn"):
        columns = spec.features * (variant.scratch == "columns in turn")
        groups = variant.groups(-(-max(n, spec.sums) // variant.tile), able)
        steps = range(int(spec.by_columns), 3) if columns else range(2)
        columns = 0 if spec.by_columns else columns
        launches = [kernel.prepare(groups, packed, n, step) for step in steps]
        return with_counters(device, in_turn(launches), 1, (2 + columns) * n * item)
    rows = variant.items if spec.vector_rows > 1 else spec.rows * variant.block // spec.lanes
    parts = variant.groups(-(-n // rows), able) if variant.shares_outputs else 1
    return with_counters(device, kernel.prepare(parts, packed, n, parts), 1, parts * spec.sums * item)
