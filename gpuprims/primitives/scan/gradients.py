"""Gradients through a scan, in one pass over the elements.

A scan has the states ``h[i] = step(h[i - 1], x[i])``. Let ``g[i]`` be the gradient of a result by ``h[i]`` through all
states. The part ``above[i]`` does not pass through later states, and ``w[i]`` is the part that passes on to
``h[i - 1]``. With the derivatives ``T`` of the step by the state, transposed, and ``E`` by the element:

    g[i] = above[i] + w[i + 1]     w[i] = T[i] g[i] = T[i] w[i + 1] + T[i] above[i]     gradient of x[i] = E[i] g[i]

So ``w`` is a scan of affine maps in the other direction. Its map computes ``T``, and as an exclusive scan it has
``w[i + 1]`` where the elements of ``E[i]`` and ``above[i]`` lie, from which its finish computes the gradient. It reads
the states before each element, the elements and the gradients above, and writes the gradients of the elements.

No state lies before the first element, so the scan takes the others. At the last of those it stores ``g`` in place of
``E g``, and a small map computes the gradients of the first two elements from that.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from gpuprims.core.determinism import asks_for_device
from gpuprims.core.device import Device
from gpuprims.core.launch_plan import LaunchPlan, find_plan
from gpuprims.core.layout import Form, contiguous
from gpuprims.core.operands import as_operands
from gpuprims.core.outputs import result_forms
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.variant import Variant
from gpuprims.core.warm_calls import WarmCalls
from gpuprims.primitives.axes import flipped
from gpuprims.primitives.chain import Chain, Operand
from gpuprims.primitives.fold import plan_scan
from gpuprims.primitives.map.plan import MapRequest
from gpuprims.primitives.map.plan import plan_call as plan_map
from gpuprims.primitives.scan.adjoint import Step, adjoint_folding, first_of, first_two, needed

_WARM = WarmCalls()


class AdjointRequest(NamedTuple):
    """How to compute gradients of elements, along an axis."""

    step: Step
    axis: int
    reverse: bool  # the scan's direction; its gradients go the other way


def scan_gradients(
    step: Step,
    states: Sequence[Any],
    elements: Sequence[Any],
    above: Sequence[Any],
    axis: int,
    *,
    reverse: bool,
    device: str | Device | None = None,
    variant: str | Variant | None = None,
) -> tuple[Any, ...]:
    """Return the gradients of a scan's elements, given those ``above`` of its states.

    All arrays have one shape; there is one for each component.
    """
    arrays = (*states, *elements, *above)
    key, given, run = _WARM.find_into((step, axis, reverse, variant), arrays, None, device)
    if run is None:
        operands = as_operands("scan", arrays, device, stored=True)
        plan = find_plan(plan_gradients, operands, AdjointRequest(step, axis, reverse), None, variant)
        _WARM.keep(key, plan, operands)
        found = plan.run(operands, None)
    else:
        found = run(given)
    return found if isinstance(found, tuple) else (found,)


@keeps_calls()
def plan_gradients(
    request: AdjointRequest,
    forms: tuple[Form, ...],
    written: tuple[Form, ...] | None,
    alignment: int,
    device: Device,
    variant: str | Variant | None,
    generation: int,
) -> LaunchPlan:
    """Decide everything but the memory: the scan of all elements but the first, and the map of the first two."""
    step, axis, shape = request.step, request.axis, forms[0].shape
    n, m, length, chain = step.states, step.elements, shape[axis], Chain(device, forms, generation)
    results = [contiguous(form.dtype, shape, alignment) for form in forms[n : n + m]]
    out = [chain.result(k, form) for k, form in enumerate(result_forms("scan", results, written))]
    states, elements, above = chain.given[:n], chain.given[n : n + m], chain.given[n + m :]

    def part(arrays: Sequence[Operand], begin: int, end: int) -> list[Operand]:
        """Return the elements at places that count in the scan's direction."""
        at = length - end if request.reverse else begin
        return [_part(array, axis, at, end - begin) for array in arrays]

    dtypes = tuple(form.dtype for form in forms)
    if length > 1:
        given = [*part(states, 0, length - 1), *part(elements, 1, length), *part(above, 1, length)]
        chain.add(_plan_later, request, *[given[k] for k in needed(step)], onto=part(out, 1, length), variant=variant)
        ends = *part(states, 0, 1), *part(elements, 0, 1), *part(elements, 1, 2), *part(above, 0, 1)
        found = part(out, 1, 2)
        both = MapRequest(first_two(step, dtypes), in_place=True, portable=asks_for_device())
        chain.add(plan_map, both, *ends, *found[:n], onto=[*part(out, 0, 1), *found])
    else:
        chain.add(plan_map, MapRequest(first_of(step, dtypes), portable=asks_for_device()), *elements, *above, onto=out)
    return chain.plan(results, variant)


def _part(array: Operand, axis: int, begin: int, length: int) -> Operand:
    """Return some elements along an axis."""
    form = array.form
    shape = (*form.shape[:axis], length, *form.shape[axis + 1 :])
    return array._replace(form=form._replace(shape=shape, offset=form.offset + begin * form.strides[axis]))


@keeps_calls()
def _plan_later(
    request: AdjointRequest,
    forms: tuple[Form, ...],
    written: tuple[Form, ...],
    alignment: int,
    device: Device,
    variant: str | Variant | None,
    generation: int,
) -> LaunchPlan:
    """Decide everything but the memory of the scan."""
    axis, shape = request.axis, forms[0].shape
    outputs = tuple(form.dtype for form in written)
    folding = adjoint_folding(request.step, tuple(form.dtype for form in forms), outputs, shape[axis] - 1)
    targets: Sequence[Form] = written
    if not request.reverse:
        turn = partial(flipped, ndim=len(shape), axes=(axis,))
        forms, targets = tuple(map(turn, forms)), tuple(map(turn, written))
    what = device, forms, targets, written, folding, shape, (axis,), variant
    return plan_scan(*what, commutative=False, inclusive=False)
