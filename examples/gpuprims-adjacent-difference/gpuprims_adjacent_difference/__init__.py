"""adjacent_difference: each element minus the one before it, a primitive that gpuprims finds by an entry point."""

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from gpuprims import CallTraits, Geometry, Primitive, Variant
from gpuprims.core.catalogue import Catalogue
from gpuprims.core.geometry import first_refusal
from gpuprims.core.kernel_spec import KernelSpec, unchanged
from gpuprims.core.launch_plan import LaunchPlan, nothing
from gpuprims.core.layout import contiguous, plan_layout
from gpuprims.core.outputs import result_forms
from gpuprims.core.plans import binder, run
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.refusals import double_precision, group_fits
from gpuprims.core.tuning_case import TuningCase, small_integers
from gpuprims.errors import ShapeError
from gpuprims.expressions import TypedExpr, emit_function, expression, typed
from gpuprims.primitives.reference import Places

NAME = "adjacent_difference"


def adjacent_difference(x, out=None, *, device=None, variant=None):
    """Subtract from each element the one before it; the first stays, as in C++'s std::adjacent_difference."""
    return run(NAME, x, out=out, device=device, variant=variant)


class DifferenceRequest(NamedTuple):
    """The keywords that decide what is computed: none. A field here would be a keyword of gpuprims.plan."""


@dataclass(frozen=True, eq=False, kw_only=True)
class DifferenceSpec(KernelSpec):
    """MAP and STORE, which every kernel has, and gp_minus."""

    minus: TypedExpr

    def text(self):
        head = "DEVICE value_t gp_minus(const value_t a, const value_t b)"
        return [emit_function(head, self.minus, ["a", "b"], "return {};".format)]


@keeps_calls()
def plan_call(request, forms, written, alignment, device, variant, generation):
    """Decide everything about a call but its memory, and compile nothing yet."""
    ((dtype, shape, *_),) = forms
    if len(shape) != 1:
        raise ShapeError(f"{NAME}: an array of one dimension; got shape {shape}")
    minus, same = typed(expression("a - b"), (dtype, dtype)), unchanged((dtype,))  # NumPy's dtypes; bool raises
    results = (contiguous(dtype, shape, alignment),)
    layout = plan_layout((*forms, *result_forms(NAME, results, written)), shape, (0,))

    def compiling(chosen):
        if not shape[0]:
            return nothing
        spec = DifferenceSpec(layout.accesses[:1], layout.accesses[1:], (dtype,), same, same, minus=minus)
        groups = chosen.groups(-(-shape[0] // chosen.tile), device.capabilities)
        return device.kernel(chosen, spec).prepare(groups, layout.pack(1), shape[0])

    return LaunchPlan(device, NAME, CallTraits((dtype,), 1, *shape), results, compiling, asked=variant, inputs=(0,))


def sample(call):
    """Return the plan of the call that gpuprims.explain describes."""
    return plan_call(DifferenceRequest(), (contiguous(call.dtype, (call.size,), 16),), None, 16, call.device, None, 0)


def difference_numpy(spec, memories, layout, n):
    """Subtract with NumPy."""
    places = Places(spec, memories, layout)
    (x,) = places.elements(1, n)
    places.store([np.concatenate([x[:, :1], spec.minus(x[:, 1:], x[:, :-1])[0]], axis=1)], 1, kept=False)


KERNELS = Catalogue(Variant, NAME, Path(__file__).parent)
TILES = {"geometry": Geometry(256, 4), "refuse": lambda at: first_refusal(double_precision, group_fits(at.block))}
VARIANTS = (*KERNELS.gpu("tiles", rank=10, **TILES), KERNELS.numpy(difference_numpy))
PRIMITIVE = Primitive(NAME, VARIANTS, plan_call, sample, binder(NAME, DifferenceRequest), tuning_case=__name__)
CASE = TuningCase(
    NAME, small_integers, adjacent_difference, lambda x: (x,), lambda x: np.diff(x, prepend=x.dtype.type(0)), into=True
)
