"""The launch plan of batch gradient descent."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from gpuprims.core.counters import with_scratch
from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.kernel_spec import value_words
from gpuprims.core.launch_plan import LaunchPlan, Sample
from gpuprims.core.layout import Form, contiguous, starts_of
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.traits import CallTraits
from gpuprims.core.variant import Variant
from gpuprims.primitives.logistic.labelled import typed_loss
from gpuprims.primitives.logistic.spec import SamplesSpec
from gpuprims.primitives.logistic.variants import LogisticVariant
from gpuprims.primitives.rows import sample_forms, vector_of

# Work-items of the smallest group, which folds fastest; bytes of a vector of rows on CPUs.
_FEWEST, _CPU_VECTOR = 128, 64


@dataclass(frozen=True, eq=False, kw_only=True)
class DescentSpec(SamplesSpec):
    """Macros for batch gradient descent; ``map`` returns a row's loss and residual, as for the gradient."""

    scratch: bool  # memory for numbers of each row

    scratch_pointers: ClassVar[int] = 0
    own_headers: ClassVar[tuple[Path, ...]] = (Path(__file__).parent / "kernels" / "batch.h",)

    @property
    def columns(self) -> int:
        """Number of weights: one for each feature, and the intercept."""
        return self.features + self.intercept

    @property
    def pointers(self) -> int:
        """Number of pointer arguments, with that to scratch memory."""
        return super().pointers + self.scratch


@keeps_calls()
def plan_call(
    request: int,
    forms: tuple[Form, ...],
    written: tuple[Form, ...] | None,
    alignment: int,
    device: Device,
    variant: str | Variant | None,
    generation: int,
) -> LaunchPlan:
    """Decide everything about ``request`` iterations but their memory; the last array has ``decay`` and ``rate``."""
    dtype, n = forms[0].dtype, forms[0].shape[0]
    result = contiguous(dtype, forms[2].shape, alignment)

    def compiling(variant: Variant) -> Launch:
        chosen = LogisticVariant.of(variant)
        layout = starts_of((*forms, result))
        has = {"scratch": chosen.scratch != "none", "vector": vector_of(forms[0]) if chosen.vectors else 1}
        fitted, spec = _held(chosen, DescentSpec.of(layout, len(forms), typed_loss(dtype), others=1, **has), n)
        launch = device.kernel(fitted, spec).prepare(1, layout.pack(0), n, request)
        copied = spec.columns + spec.weighted if spec.vector_rows > 1 else 1  # numbers of a row
        rows = -(-n // spec.vector_rows) * spec.vector_rows
        return with_scratch(device, launch, rows * copied * dtype.itemsize) if spec.scratch else launch

    traits = CallTraits((dtype,), n, result.shape[0], value_bytes=dtype.itemsize)
    return LaunchPlan(device, "descent", traits, (result,), compiling, asked=variant, inputs=range(len(forms)))


def sample(call: Sample) -> LaunchPlan:
    """Return the plan of an iteration by the samples of :func:`sample_forms`."""
    forms = (*sample_forms(call), contiguous(call.dtype, (2,), 16))
    return plan_call(1, forms, None, 16, call.device, None, 0)


def _held(variant: LogisticVariant, spec: DescentSpec, n: int) -> tuple[LogisticVariant, DescentSpec]:
    """Return the variant and the spec with the rows of a work-item, or of a vector in kernels for CPUs."""
    if variant.scratch == "columns":
        return variant, replace(spec, vector_rows=_CPU_VECTOR // spec.values[0].itemsize)
    if not variant.word_items:
        return variant, spec
    block = min(_FEWEST, variant.block)
    while -(-n // block) * spec.columns * value_words(spec.values) > variant.items:
        block *= 2
    return variant.resized(block=block), replace(spec, rows=-(-n // block))
