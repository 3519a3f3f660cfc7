"""The launch plan of diff: a map of views that begin one element later each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.launch_plan import LaunchPlan
from gpuprims.core.layout import Form
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.outputs import Out, as_out
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.variant import Variant
from gpuprims.errors import ArgumentError, AxisError, ShapeError, axis_rule, quoted
from gpuprims.expressions import Expr, trace
from gpuprims.primitives.map.plan import MapRequest
from gpuprims.primitives.map.plan import plan_call as plan_map

# Most orders that one pass computes, from one array more.
MOST = 8


class DiffRequest(NamedTuple):
    """The order of the differences, and their axis."""

    n: int
    axis: int


def check_diff(operands: Operands, n: Any, axis: Any) -> DiffRequest:
    """Check the arguments of a call."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0:
        raise ArgumentError(f"diff: n= an integer from 0 on; got {quoted(n)}")
    ndim = operands.natives[0].ndim
    if not ndim:
        raise ShapeError("diff: an array of at least one dimension; got a number")
    if type(axis) is not int or not -ndim <= axis < ndim:
        raise AxisError(f"diff: axis {axis_rule(ndim)}; got {quoted(axis)}")
    return DiffRequest(int(n), axis % ndim)


def bind_diff(
    arrays: tuple[Any, ...], n: int = 1, axis: int = -1, out: Any = None, device: str | Device | None = None
) -> tuple[Operands, DiffRequest, Out | None, None]:
    """Find the device of a call, and check its arguments."""
    if len(arrays) != 1:
        raise ArgumentError(f"diff: one array; got {len(arrays)}")
    operands = as_operands("diff", arrays, device)
    request = check_diff(operands, n, axis)
    if not 1 <= request.n <= MOST:
        raise ArgumentError(f"plan of diff: n from 1 to {MOST}, which one launch computes; got {n}")
    return operands, request, None if out is None else as_out(operands, out), None


@keeps_calls()
def plan_diff(
    request: DiffRequest,
    forms: tuple[Form, ...],
    written: tuple[Form, ...] | None,
    alignment: int,
    device: Device,
    variant: str | Variant | None,
    generation: int,
) -> LaunchPlan:
    """Decide everything about a call but its memory."""
    (form,), axis = forms, request.axis
    shape = list(form.shape)
    shape[axis] = max(shape[axis] - request.n, 0)
    views = tuple(
        form._replace(shape=tuple(shape), offset=form.offset + k * form.strides[axis]) for k in range(request.n + 1)
    )
    function = MapRequest(differences(request.n, form.dtype.kind == "b"))
    plan = plan_map(function, views, written, alignment, device, variant, generation)
    return replace(plan, inputs=[0] * len(views), by_numpy=None)


@cache
def differences(times: int, of_bools: bool) -> Expr:
    """Return the function from neighbours to a difference of differences."""

    def difference(*elements: Any) -> Any:
        minus: Callable[[Any, Any], Any] = np.not_equal if of_bools else np.subtract
        left: Sequence[Any] = elements
        while len(left) > 1:
            left = [minus(second, first) for first, second in pairwise(left)]
        return left[0]

    return trace(difference, times + 1)
