"""partition and argpartition: a selection finds the pivots, and a scan finds the place of each element."""

from __future__ import annotations

import math
from operator import index
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.host_values import host_values
from gpuprims.core.keywords import keywords_of, named_keywords, refuse_keywords
from gpuprims.core.launch_plan import LaunchPlan, find_plan
from gpuprims.core.layout import Form, contiguous
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.outputs import Out, as_out, result_forms
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.taking import with_the_same
from gpuprims.core.variant import Variant
from gpuprims.core.variant_checks import asked_by_name
from gpuprims.core.warm_calls import AS_GIVEN, WarmCalls, by_value
from gpuprims.errors import ArgumentError, AxisError, quoted
from gpuprims.expressions import Expr, trace
from gpuprims.primitives.axes import as_axis, axes_of
from gpuprims.primitives.chain import Chain, Operand
from gpuprims.primitives.map.plan import MapRequest
from gpuprims.primitives.map.plan import plan_call as plan_map
from gpuprims.primitives.ordering import check_ordered
from gpuprims.primitives.reduce.plan import plan_call as plan_reduce
from gpuprims.primitives.selection.by_numpy import parts_by_numpy
from gpuprims.primitives.selection.moves import MoveRequest, plan_moves, requests_of_counts
from gpuprims.primitives.selection.plan import SelectionRequest, beside_arrays
from gpuprims.primitives.selection.plan import plan_call as plan_selection

_INT64 = np.dtype(np.int64)
_WARM = WarmCalls()


class PartitionRequest(NamedTuple):
    """The axis of a partition, or None for all elements in C order, and the ``number`` of ranks in the second array.

    With ``places``, the result has indices, not elements.
    """

    axis: int | None
    number: int
    places: bool


@keeps_calls()
def plan_call(
    request: PartitionRequest,
    forms: tuple[Form, ...],
    written: tuple[Form, ...] | None,
    alignment: int,
    device: Device,
    variant: str | Variant | None,
    generation: int,
) -> LaunchPlan:
    """Plan a partition by one rank after the other."""
    chain = Chain(device, forms, generation)
    x, ranks = chain.given
    if request.axis is None:
        x = chain.flat(x)
    dtype, axis, selected = x.form.dtype, request.axis or 0, int(x.memory != 0)
    results = (contiguous(_INT64 if request.places else dtype, x.form.shape, alignment),)
    (target,) = result_forms("partition", results, written)
    if not x.form.shape[axis]:
        chain.add(plan_map, MapRequest(_copy_as(results[0].dtype)), x, into=[(0, target)])
        return chain.plan(results, variant, first=selected)
    (pivots,) = chain.add(plan_selection, SelectionRequest((axis,)), x, ranks, variant=variant)
    shape = tuple(1 if one == axis else length for one, length in enumerate(x.form.shape))
    found: tuple[Operand, ...] = (x,)
    counting = requests_of_counts(dtype, axis, x.form.shape[axis])
    for number in range(request.number):
        pivot = pivots.part(number, number + 1).reshaped(shape)
        counted = [chain.add(plan_reduce, one, found[0], pivot)[0] for one in counting]
        last = [None, (0, target)][1 - request.places :] if number == request.number - 1 else ()
        found = chain.add(
            plan_moves, MoveRequest(axis, request.places), found[0], pivot, *counted, *found[1:], into=last
        )
    plan = chain.plan(results, variant, first=selected)
    plan.by_numpy = parts_by_numpy(device, forms[0], request.axis, request.number, places=request.places)
    return plan


def _copy_as(dtype: np.dtype[Any]) -> Expr:
    return trace(lambda element: element.astype(dtype), 1)


def _partitioned(label: str, x: Any, kth: Any, axis: Any, *, out: Any, device: Any, variant: Any) -> Any:
    """Return the elements of a partition, or their indices."""
    key, ranks = None, tuple(kth) if type(kth) is list else kth
    if out is None and type(axis) in AS_GIVEN and (type(kth) is int or by_value(ranks)):
        key, given, run = _WARM.find_into((label, ranks, axis, variant), (x,), None, device)
        if run is not None:
            return run(given)
    how = {"axis": axis, "out": out, "device": device, "variant": variant}
    operands, request, result, asked = bind_partition(label, (x, kth), **how)
    plan = find_plan(plan_call, operands, request, result, asked)
    _WARM.keep(key, plan, operands, with_the_same(operands, 1))
    return plan.run(operands, result)


def bind_partition(
    label: str,
    arrays: tuple[Any, ...],
    kth: Any = None,
    axis: int | None = -1,
    out: Any = None,
    device: str | Device | None = None,
    variant: str | Variant | None = None,
) -> tuple[Operands, PartitionRequest, Out | None, str | Variant | None]:
    """Find the device of a call, and add the array of ranks; ``kth`` may be the second of ``arrays``."""
    given = arrays if kth is None else (*arrays, kth)
    if len(given) != 2:
        raise ArgumentError(f"{label}: an array and kth; got {len(given)} argument(s)")
    x, kth = given
    operands = as_operands(label, (x,), device)
    (native,) = operands.natives
    check_ordered(label, native.dtype)
    asked = asked_by_name(label, variant)
    along = as_axis(axis)
    if isinstance(along, tuple):
        raise AxisError(f"{label}: axis= one axis, or None for all elements; got {quoted(axis)}")
    if along is not None:
        of_number = label == "argpartition" and not native.shape and along in (0, -1)  # as NumPy's
        along = None if of_number else axes_of(along, len(native.shape))[0]
    ranks = _ranks(label, kth, math.prod(native.shape) if along is None else native.shape[along])
    request = PartitionRequest(along, len(ranks), places=label == "argpartition")
    result = None if out is None else as_out(operands, out)
    return beside_arrays(operands, np.asarray(ranks, _INT64)), request, result, asked


def _ranks(label: str, kth: Any, n: int) -> list[int]:
    """Return the ranks of ``kth=`` in ascending order, counted from 0."""
    rule = f"kth= integers from {-n} to {n - 1}"
    given = kth if isinstance(kth, list | tuple) else np.atleast_1d(host_values(label, kth, rule))
    try:
        ranks = [-n - 1 if isinstance(one, bool | np.bool_) else index(one) for one in given]
    except TypeError:
        ranks = []
    if ranks and not n:  # as NumPy, which accepts any rank of an empty array
        return [0]
    if not ranks or not all(-n <= rank < n for rank in ranks):
        raise ArgumentError(f"{label}: {rule}; got {quoted(kth)}")
    return sorted({rank % n for rank in ranks})


@named_keywords
def partition(
    x: Any,
    kth: Any,
    axis: int | None = -1,
    *,
    out: Any = None,
    device: str | Device | None = None,
    variant: str | None = None,
    **unknown: Any,
) -> Any:
    """Return a copy partitioned by ranks, as :func:`numpy.partition` does.

    Parameters
    ----------
    x : array_like
        Real numbers or bools.
    kth : int or sequence of int
        The ranks to partition by, from 0 for the smallest element. The element of each rank moves to its sorted place,
        with smaller elements before it and larger ones after.
    axis : int or None, default -1
        The axis along which to partition. None flattens ``x``, in C order.
    out : array, optional
        Where to write: of the result's shape and dtype, on the device of ``x``. By default a new array.
    device : str or Device, optional
        Where to compute, for host arrays.
    variant : str, optional
        The kernel of ``selection`` to use, instead of the best one.

    Returns
    -------
    array
        An array of the shape of ``x``, or flattened without an axis. NaN comes last. Elements before and after those of
        the ranks keep their order, which NumPy does not promise.

    Raises
    ------
    ArgumentError, AxisError, DtypeError, ArrayError, DeviceMismatchError
        Arguments that do not fit.
    NoVariantError
        No kernel, or not the one asked for, can run the call.

    Examples
    --------
    >>> import gpuprims, numpy as np
    >>> gpuprims.partition(np.float32([3, 1, 4, 1, 5]), 2, device="reference")
    array([1., 1., 3., 4., 5.], dtype=float32)
    """
    if unknown:
        refuse_keywords("partition", keywords_of(partition), unknown)
    return _partitioned("partition", x, kth, axis, out=out, device=device, variant=variant)


@named_keywords
def argpartition(
    x: Any,
    kth: Any,
    axis: int | None = -1,
    *,
    out: Any = None,
    device: str | Device | None = None,
    variant: str | None = None,
    **unknown: Any,
) -> Any:
    """Return the int64 indices of the elements of :func:`partition`, as :func:`numpy.argpartition` does.

    Examples
    --------
    >>> import gpuprims, numpy as np
    >>> gpuprims.argpartition(np.float32([3, 1, 4, 1, 5]), 2, device="reference")
    array([1, 3, 0, 2, 4])
    """
    if unknown:
        refuse_keywords("argpartition", keywords_of(argpartition), unknown)
    return _partitioned("argpartition", x, kth, axis, out=out, device=device, variant=variant)
