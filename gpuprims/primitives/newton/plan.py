"""The launch plan of a batch of logistic regressions."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.geometry import power_of_two
from gpuprims.core.launch_plan import LaunchPlan, Sample, nothing
from gpuprims.core.layout import Form, Layout, contiguous, starts_of
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.traits import CallTraits
from gpuprims.core.variant import Variant
from gpuprims.primitives.logistic.labelled import typed_loss
from gpuprims.primitives.newton.spec import NewtonSpec
from gpuprims.primitives.newton.variants import CPU_VECTOR, NewtonVariant, wide_item
from gpuprims.primitives.rows import vector_of

# Rows for each work-item of a group, and fewest work-items.
_ROWS_EACH, _FEWEST = 16, 32  # rows: registers


class NewtonRequest(NamedTuple):
    """The problems of a batch, the most iterations, and which arrays there are."""

    problems: int
    most: int
    intercept: bool
    weighted: bool
    ragged: bool


@keeps_calls()
def plan_call(
    request: NewtonRequest,
    forms: tuple[Form, ...],
    written: tuple[Form, ...] | None,
    alignment: int,
    device: Device,
    variant: str | Variant | None,
    generation: int,
) -> LaunchPlan:
    """Decide everything about a batch but its memory.

    The arrays are samples, labels, the tolerance and penalties, any sample weights, any offsets.
    """
    dtype, problems = forms[0].dtype, request.problems
    n, columns = forms[0].shape[-2], forms[0].shape[-1] + request.intercept
    rows = -(-n // max(problems, 1)) if request.ragged else n
    wide = np.dtype(np.float64 if wide_item(device.capabilities) == 8 else np.float32)
    shapes = (wide, (problems, 2, columns)), (wide, (problems,)), (np.dtype(np.int32), (problems, 2))
    results = tuple(contiguous(kind, shape, alignment) for kind, shape in shapes)

    def compiling(variant: Variant) -> Launch:
        if not problems:
            return nothing
        chosen = NewtonVariant.of(variant)
        layout = starts_of((*forms, *results))
        block = max(_FEWEST, min(chosen.block, power_of_two(-(-rows // _ROWS_EACH))))
        fitted = chosen.resized(block=block) if chosen.fits_rows else chosen
        groups = fitted.groups(problems, device.capabilities)
        kernel = device.kernel(fitted, _spec(request, forms, layout, chosen))
        return kernel.prepare(groups, layout.pack(0), problems, n, *_distances(request, forms), request.most)

    traits = CallTraits((dtype,), rows, columns, value_bytes=dtype.itemsize)
    return LaunchPlan(device, "newton", traits, results, compiling, asked=variant, inputs=range(len(forms)))


def _spec(request: NewtonRequest, forms: tuple[Form, ...], layout: Layout, chosen: NewtonVariant) -> NewtonSpec:
    """Return the kernel spec of a variant."""
    dtype = forms[0].dtype
    return NewtonSpec(
        layout.accesses[: len(forms)],
        layout.accesses[len(forms) :],
        (dtype,),
        typed_loss(dtype),
        vector=_vector(forms[0]) if chosen.vectors else 1,
        features=forms[0].shape[-1],
        intercept=request.intercept,
        weighted=request.weighted,
        ragged=request.ragged,
        rows=max(chosen.tile_rows * 4 // dtype.itemsize, 1),
        vector_rows=CPU_VECTOR // dtype.itemsize if chosen.block == 1 and chosen.backend != "reference" else 1,
    )


def sample(call: Sample) -> LaunchPlan:
    """Return the plan of problems of ``call.size`` rows with one feature for each of ``call.outputs``."""
    n, k = call.size, call.outputs
    forms = tuple(contiguous(call.dtype, shape, 16) for shape in ((1, n, k), (1, n), (2,)))
    request = NewtonRequest(1, 100, intercept=True, weighted=False, ragged=False)
    return plan_call(request, forms, None, 16, call.device, None, 0)


def _vector(form: Form) -> int:
    """Return how many neighbours of a row a kernel may load at once."""
    return vector_of(form._replace(shape=(0, form.shape[-1])))


def _distances(request: NewtonRequest, forms: tuple[Form, ...]) -> tuple[int, int, int, int]:
    """Return the elements from one problem to the next: of samples, labels, sample weights and penalties."""
    samples, labels, settings, *others = (form.shape for form in forms)
    weights: Any = others[0] if request.weighted else ()
    apart = (
        samples[1] * samples[2] if len(samples) == 3 else 0,
        labels[1] if len(labels) == 2 else 0,
        weights[1] if len(weights) == 2 else 0,
        int(settings[0] > 2 or request.problems == 1),
    )
    return (0, 0, 0, apart[3]) if request.ragged else apart
