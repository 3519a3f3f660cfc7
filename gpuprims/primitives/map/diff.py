"""diff: differences of neighbours along an axis."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, overload

import numpy as np

from gpuprims.core.arrays import NUMBERS
from gpuprims.core.by_numpy import Compute, Few, alone_or, noticed
from gpuprims.core.c_modules import CModule
from gpuprims.core.call_keys import Key
from gpuprims.core.device import Device
from gpuprims.core.keywords import keywords_of, named_keywords, refuse_keywords
from gpuprims.core.launch_plan import find_plan
from gpuprims.core.layout import is_contiguous
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.taking import Step
from gpuprims.core.warm_calls import WarmCalls, computing, reads_as_given
from gpuprims.errors import ShapeError
from gpuprims.expressions import Expr, trace, typed
from gpuprims.expressions.exact import is_exact
from gpuprims.primitives.floats_by_numpy import has_nan
from gpuprims.primitives.map import map as map_arrays
from gpuprims.primitives.map.diff_plan import MOST, check_diff, differences
from gpuprims.primitives.map.orders import axes_in_memory
from gpuprims.primitives.map.plan import bind, plan_call
from gpuprims.primitives.signatures import Array, Host, HostArray, Out

_WARM = WarmCalls()
_SAME = trace(lambda element: element, 1)
# Views along other axes than the first do not lie together, so that a map leaves them to kernels.
_FEW = Few(near=0, woken=2**15)  # rows: by_numpy-diff
DIFFERENCES = CModule(Path(__file__).with_name("differences.c"))
_IN_C = frozenset(map(np.dtype, ("b", "B", "h", "H", "i", "I", "l", "L", "q", "Q", "f", "d")))
_FEW_BYTES_IN_C = 2**24  # rows: differences-in-c


@overload
def diff(
    a: Any,
    n: int = 1,
    axis: int = -1,
    prepend: Any = None,
    append: Any = None,
    *,
    out: Out,
    device: str | Device | None = None,
) -> Out: ...
@overload
def diff(
    a: Host, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None, *, device: str | Device | None = None
) -> HostArray: ...
@overload
def diff(
    a: Array, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None, *, device: str | Device | None = None
) -> Array: ...


@named_keywords
def diff(
    a: Any,
    n: int = 1,
    axis: int = -1,
    prepend: Any = None,
    append: Any = None,
    *,
    out: Any = None,
    device: str | Device | None = None,
    **unknown: Any,
) -> Any:
    """Return the differences of neighbours along an axis, as :func:`numpy.diff` does.

    Parameters
    ----------
    a : array_like
        An array of at least one dimension. For bools, the result is True where neighbours differ.
    n : int, default 1
        The order. One pass computes orders up to 8.
    axis : int, default -1
        The axis of the neighbours.
    prepend, append : array_like, optional
        Values to put before and after the elements: a number, or an array of the shape of ``a`` along other axes.
    out : array, optional
        Where to write: of the result's shape and dtype, on the device of ``a``. By default a new array.
    device : str or Device, optional
        Where to compute, for host arrays.

    Returns
    -------
    array
        ``out``, or a new array: the differences. The axis is shorter by ``n``, or empty.

    Raises
    ------
    ArgumentError, AxisError, ShapeError
        An ``n`` below 0, an axis that ``a`` does not have, arrays that do not go before or after the elements.
    ArrayError, DeviceMismatchError, DtypeError
        As :func:`gpuprims.map`.

    Examples
    --------
    >>> import gpuprims, numpy as np
    >>> gpuprims.diff(np.float32([1, 4, 9, 16]), device="reference")
    array([3., 5., 7.], dtype=float32)
    >>> gpuprims.diff(np.array([1, 4, 9, 16]), 2, prepend=0, device="reference")
    array([2, 2, 2])
    """
    if unknown:
        refuse_keywords("diff", keywords_of(diff), unknown)
    key = None
    if prepend is append is out is None and type(n) is type(axis) is int:
        key = _WARM.key_of((n, axis), (a,), device)
        if (run := _WARM.find(key)) is not None:
            return run((a,))
    ends = [np.asarray(one) if isinstance(one, NUMBERS) else one for one in (prepend, append) if one is not None]
    operands = as_operands("diff", (a, *ends), device)
    left, along = check_diff(operands, n, axis)
    if key is not None and 0 < n <= MOST and reads_as_given(key, operands):
        if (compute := _computes_few(operands, n, along)) is not None:
            return _by_numpy(key, operands, n, along, compute)
        _keep(key, operands, n, along)
    own, *given = operands.natives
    if not left:
        return a if out is None else map_arrays(_SAME, own, out=out, device=operands.device)
    if given:
        before = given[:1] if prepend is not None else []
        own = _joined(operands, [*before, own, *given[len(before) :]], own, along)
    left = min(left, max(own.shape[along], 1))  # of no neighbours there are no differences to take again
    while left:
        once = min(left, MOST)
        left -= once
        own = _differences(operands, own, once, along, None if left else out)
    return operands.to_caller(own) if out is None else out


def _computes_few(operands: Operands, times: int, axis: int) -> Compute | None:
    """Return what computes a call on few elements in C, or by NumPy, with the bits of the kernels but for NaN.

    Along the first axis of several a map does, whose views lie together.
    """
    (array,) = operands.natives
    if not operands.in_place or not array.flags.c_contiguous or array.shape[axis] <= times or not array.size:
        return None
    if times == 1 and axis == array.ndim - 1 and array.dtype in _IN_C:
        calls, few = DIFFERENCES.serves(operands.driver), alone_or(_FEW_BYTES_IN_C // array.dtype.itemsize)
        if calls is not None and array.size <= few.most(operands.driver):
            in_c: Compute = calls.last_axis
            return in_c
    if axis == 0 or array.size > _FEW.most(operands.driver):
        return None
    exact = is_exact(typed(differences(times, array.dtype.kind == "b"), (array.dtype,) * (times + 1)))
    return partial(_computed, times, axis) if exact else None


def _by_numpy(key: Key, operands: Operands, times: int, axis: int, compute: Compute) -> Any:
    """Compute a call on the host, and those like it; a kernel computes those that have NaN."""

    def otherwise(arrays: Sequence[Any]) -> Any:
        return _differences(as_operands("diff", tuple(arrays), operands.device), arrays[0], times, axis, None)

    run = computing(operands.device, noticed(operands.driver, "map", compute), otherwise)
    _WARM.keep_run(key, run)
    return operands.as_caller_wants(run(operands.natives))


def _computed(times: int, axis: int, array: np.ndarray) -> Any:
    with np.errstate(all="ignore"):
        found = np.diff(array, times, axis)
    return NotImplemented if array.dtype.kind == "f" and has_nan(found) else found


def _differences(operands: Operands, array: Any, times: int, axis: int, out: Any) -> Any:
    """Return differences of differences, from views of an array that begin one element later each."""
    length = max(array.shape[axis] - times, 0)
    if not length:
        shape = (*array.shape[:axis], 0, *array.shape[axis + 1 :])
        if out is None:
            return operands.empty(shape, array.dtype)
        none = np.empty(shape, array.dtype) if operands.on_host else operands.empty(shape, array.dtype)
        return map_arrays(_SAME, none, out=out, device=operands.device)
    views = [array[one] for one in _places(array.shape, times, axis)]
    return map_arrays(differences(times, array.dtype.kind == "b"), *views, out=out, device=operands.device)


def _places(shape: tuple[int, ...], times: int, axis: int) -> list[tuple[slice, ...]]:
    """Return where the views of an array lie, which begin one element later each."""
    length = shape[axis] - times
    return [(slice(None),) * axis + (slice(k, k + length),) for k in range(times + 1)]


def _keep(key: Key, operands: Operands, times: int, axis: int) -> None:
    """Keep the plan of a call of one launch, for further calls on such arrays."""
    (array,) = operands.natives
    if operands.gain_by_slabs or array.shape[axis] <= times or not array.size:
        return
    places, length, cut = _places(array.shape, times, axis), array.shape[0] - times, operands.driver.cut
    function = differences(times, array.dtype.kind == "b")
    own, request, _, _ = bind((function, *[array[one] for one in places]), device=operands.device)
    if axes_in_memory(own, request) is None:
        plan = find_plan(plan_call, own, request, None, None)
        step: Step = lambda arrays: [arrays[0][one] for one in places]  # noqa: E731
        if array.ndim == 1 and not operands.on_host and is_contiguous(operands.form(array)):  # views cost less so
            step = lambda arrays: [cut(arrays[0], k, (length,)) for k in range(times + 1)]  # noqa: E731
        _WARM.keep(key, plan, own, step)


def _joined(operands: Operands, parts: Sequence[Any], own: Any, axis: int) -> Any:
    """Return arrays one after the other along an axis; those without axes have the shape of one element of ``own``."""
    beside = (*own.shape[:axis], 1, *own.shape[axis + 1 :])
    whole = [np.broadcast_to(operands.to_host(part), beside) if not part.ndim else part for part in parts]
    for part in whole:
        if part.ndim != own.ndim or (*part.shape[:axis], 1, *part.shape[axis + 1 :]) != beside:
            rule = "prepend and append numbers, or arrays of the shape of a along other axes"
            raise ShapeError(f"diff: {rule}; got shape {tuple(part.shape)} beside {tuple(own.shape)}")
    dtype = np.result_type(*[part.dtype for part in whole])
    if operands.on_host:
        return np.concatenate(whole, axis, dtype=dtype)
    result = operands.empty((*own.shape[:axis], sum(part.shape[axis] for part in whole), *own.shape[axis + 1 :]), dtype)
    first = 0
    for part in whole:
        there = operands.device.asarray(np.ascontiguousarray(part)) if isinstance(part, np.ndarray) else part
        last = first + part.shape[axis]
        if part.size:
            place = result[(slice(None),) * axis + (slice(first, last),)]
            map_arrays(_converted(dtype), there, out=place, device=operands.device)
        first = last
    return result


@cache
def _converted(dtype: np.dtype[Any]) -> Expr:
    return trace(lambda element: element.astype(dtype), 1)
