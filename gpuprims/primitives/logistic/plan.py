"""The launch plan of a logistic gradient."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.kernel_spec import value_words
from gpuprims.core.launch_plan import Compiled, LaunchPlan, Sample, in_turn
from gpuprims.core.layout import Form, Layout, contiguous, starts_of
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.outputs import Out, Result
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.traits import CallTraits
from gpuprims.core.variant import Variant
from gpuprims.core.variant_checks import asked_by_name
from gpuprims.errors import ArgumentError
from gpuprims.primitives.logistic.labelled import check_samples, typed_loss
from gpuprims.primitives.logistic.spec import LogisticSpec
from gpuprims.primitives.logistic.variants import LogisticVariant
from gpuprims.primitives.rows import power_of_two, sample_forms, side_by_side, vector_of

# Bytes of the rows that a work-item of a CPU takes at once, how many there are at most and at least, and bytes of the
# scores in one vector. Two cores of an AMD EPYC of family 26, runtime 2026.2, 2026-11-22, ms of
# float32, where a sum, which reads the same once, takes 7.9: 10^6 x 100 by 8, 16, 40, 64, 256 rows 11.0, 11.7, 10.1,
# 9.7, 10.5; 10^5 x 1000 by 4, 16, 64 rows 11.2, 9.9, 10.4; 10^7 x 8 by 16, 64, 256 rows 17.5, 11.6, 13.2.
_CPU_BYTES, _MOST_ROWS, _LEAST_ROWS, _CPU_VECTOR = 65_536, 64, 4, 64
# Rows that a lane of a GPU has a part of at once, at most.
_MOST_HELD_ROWS = 8
# Words of a row that a lane of a GPU holds, from which two groups a multiprocessor have room and not three; and lanes
# to a row from which one group of twice the size is faster. H200, float32, 2026-11-22, TB/s of 4 GB by 256 work-items
# in 3 groups, by 256 in 2, and by 512 in 1, on CUDA and OpenCL: 257 features 4.22, 3.72, 3.82 and 4.17, 3.77, 3.81; 512
# 4.20, 4.42, 4.40 and 4.11, 4.34, 4.41; 1024 3.89, 4.29, 4.32 and 3.76, 4.22, 4.24; 2048 3.53, 4.05, 3.67 and 3.37,
# 3.88, 3.60; 4096 3.51, 4.11, 3.69 and 2.33, 2.44, 3.59; 8192 3.10, 3.77, 4.20 and 1.75, 1.87, 3.79.
_MANY_WORDS, _MANY_LANES = 16, 128


class LogisticRequest(NamedTuple):
    """The loss and its gradient; the arrays say the rest."""


def bind(
    arrays: tuple[Any, ...], device: str | Device | None = None, variant: str | Variant | None = None
) -> tuple[Operands, LogisticRequest, Out | None, str | Variant | None]:
    """Check samples, labels, weights and perhaps sample weights, and find the device of a call."""
    if len(arrays) not in (3, 4):
        raise ArgumentError(f"logistic: X, y, weights, and perhaps sample weights; got {len(arrays)} array(s)")
    operands = as_operands("logistic", arrays, device)
    check_samples("logistic", operands.natives)
    asked = None if variant is None else asked_by_name("logistic", variant)
    return side_by_side(operands), LogisticRequest(), None, asked


@keeps_calls()
def plan_call(
    request: LogisticRequest,
    forms: tuple[Form, ...],
    written: tuple[Form, ...] | None,
    alignment: int,
    device: Device,
    variant: str | Variant | None,
    generation: int,
) -> LaunchPlan:
    """Decide everything about a logistic gradient but its memory; the last of four arrays has sample weights."""
    dtype, (n, k) = forms[0].dtype, forms[0].shape
    results = Result((), dtype), Result(forms[2].shape, dtype)
    traits = CallTraits((dtype,), n, k, value_bytes=dtype.itemsize, side_by_side=True)

    def compiling(variant: Variant) -> Compiled:
        chosen = LogisticVariant.of(variant)
        layout = starts_of((*forms, *(contiguous(result.dtype, result.shape, alignment) for result in results)))
        vector = vector_of(forms[0]) if chosen.vectors else 1
        lanes, rows = _teams(chosen, k, vector, dtype, device)
        fitted = _resident(chosen, lanes, -(-k // lanes) * value_words((dtype,)), device)
        vector_rows = _CPU_VECTOR // dtype.itemsize if _for_cpus(fitted) else 1
        accesses = layout.accesses
        spec = LogisticSpec(
            accesses[: len(forms)],
            accesses[len(forms) :],
            (dtype,),
            typed_loss(dtype),
            vector=vector,
            features=k,
            intercept=forms[2].shape != (k,),
            weighted=len(forms) == 4,
            lanes=lanes,
            rows=rows,
            vector_rows=vector_rows,
        )
        return _launch(fitted, spec, layout, n, device)

    return LaunchPlan(device, "logistic", traits, results, compiling, asked=variant, inputs=range(len(forms)))


def sample(call: Sample) -> LaunchPlan:
    """Return the plan of a gradient by so many samples of so many features."""
    forms = sample_forms(call)
    return plan_call(LogisticRequest(), forms, None, 16, call.device, None, 0)


def _for_cpus(variant: LogisticVariant) -> bool:
    """Return True if work-items are threads that share the rows, and each computes in vectors."""
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
    """Return the variant with as many groups a unit as rows of so many words a lane leave room for."""
    if not variant.word_items or words < _MANY_WORDS:
        return variant
    block = 2 * variant.block
    if lanes >= _MANY_LANES and device.capabilities.group_limit >= block:
        return variant.resized(block=block, groups_per_unit=1)
    return variant.resized(groups_per_unit=2)


def _launch(variant: LogisticVariant, spec: LogisticSpec, layout: Layout, n: int, device: Device) -> Compiled:
    """Fix the launches and their scratch memory."""
    kernel, able, item = device.kernel(variant, spec), device.capabilities, spec.values[0].itemsize
    packed = layout.pack(0)
    if variant.scratch in ("rows in turn", "columns in turn"):
        columns = spec.features * (variant.scratch == "columns in turn")
        groups = variant.groups(-(-max(n, spec.sums) // variant.tile), able)
        launches = [kernel.prepare(groups, packed, n, step) for step in range(3 if columns else 2)]
        return Compiled(in_turn(launches), 1, (2 + columns) * n * item)
    rows = variant.items if spec.vector_rows > 1 else spec.rows * variant.block // spec.lanes
    parts = variant.groups(-(-n // rows), able) if variant.shares_outputs else 1
    numbers = n if variant.scratch == "rows" else parts * spec.sums
    return Compiled(kernel.prepare(parts, packed, n, parts), 1, numbers * item)
