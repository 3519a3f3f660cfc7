"""Partitions, as NumPy's: a selection finds the element of a rank, a scan finds the place of every other one."""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.keywords import keywords_of, named_keywords, refuse_keywords
from gpuprims.core.launch_plan import LaunchPlan, find_plan
from gpuprims.core.layout import Form, contiguous
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.variant import Variant
from gpuprims.core.variant_checks import asked_by_name
from gpuprims.errors import ArgumentError, AxisError, quoted
from gpuprims.expressions import Expr, trace, typed
from gpuprims.operators import Folding
from gpuprims.primitives.axes import as_axis, axes_of
from gpuprims.primitives.fold import plan_scan
from gpuprims.primitives.ordering import check_ordered
from gpuprims.primitives.reduce import reduce
from gpuprims.primitives.selection.plan import select

_INT64 = np.dtype(np.int64)
_ARRAYS = 4  # elements, pivots, and how many elements precede and equal each pivot


def _before(x: Any, pivot: Any, dtype: np.dtype[Any]) -> Any:
    """Return True for an element that NumPy sorts before another."""
    return (x < pivot) | (np.isnan(pivot) & (x == x)) if dtype.kind == "f" else x < pivot


def _same(x: Any, pivot: Any, dtype: np.dtype[Any]) -> Any:
    return (x == pivot) | (np.isnan(pivot) & np.isnan(x)) if dtype.kind == "f" else x == pivot


class PartitionRequest(NamedTuple):
    """The axis of a partition; ``places`` if the elements' places are wanted too."""

    axis: int
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
    """Plan a stable partition of the first array by pivots, which so many elements precede and so many equal.

    With ``places``, a fifth array has places to move along with the elements. Without it these are in their places.
    """
    x, shape = forms[0].dtype, forms[0].shape
    dtypes = tuple(form.dtype for form in forms)
    carried = (x, _INT64)[: 1 + request.places]
    results = [contiguous(dtype, shape, alignment) for dtype in carried]
    folding = Folding(
        values=(_INT64, _INT64),
        outputs=carried,
        map=typed(_counts(x, len(forms)), (*dtypes, _INT64), (_INT64, _INT64)),
        op=typed(trace(lambda a, b, c, d: (a + c, b + d), 4), (_INT64,) * 4, (_INT64, _INT64)),
        finish=typed(_carried(len(forms), places=request.places), (_INT64, _INT64, _INT64, *dtypes), carried),
        identity=(np.int64(0), np.int64(0)),
    )
    place = typed(_place(x, len(forms), len(carried)), (_INT64, _INT64, _INT64, *dtypes), (_INT64,) * len(carried))
    axes = (request.axis,)
    what = device, forms, results, results, folding, shape, axes, variant
    return plan_scan(*what, commutative=True, inclusive=False, place=place, counted=0)


def _counts(dtype: np.dtype[Any], arrays: int) -> Expr:
    def counts(x: Any, pivot: Any, *_: Any) -> Any:
        return np.where(_before(x, pivot, dtype), 1, 0), np.where(_same(x, pivot, dtype), 1, 0)

    return trace(counts, arrays + 1)


def _carried(arrays: int, *, places: bool) -> Expr:
    def carried(less: Any, same: Any, j: Any, x: Any, *others: Any) -> Any:
        return (x, j if arrays == _ARRAYS else others[-1]) if places else x

    return trace(carried, arrays + 3)


def _place(dtype: np.dtype[Any], arrays: int, results: int) -> Expr:
    def place(less: Any, same: Any, j: Any, x: Any, pivot: Any, lesser: Any, equals: Any, *_: Any) -> Any:
        after = lesser + equals + (j - less - same)
        to = np.where(_before(x, pivot, dtype), less, np.where(_same(x, pivot, dtype), lesser + same, after))
        return (to,) * results

    return trace(place, arrays + 3)


def _partitioned(label: str, x: Any, kth: Any, axis: Any, *, places: bool, device: Any, variant: Any) -> Any:
    """Return the elements, or their places, of a partition by one rank after the other."""
    operands = as_operands(label, (x,), device)
    (native,) = operands.natives
    check_ordered(label, native.dtype)
    asked = asked_by_name(label, variant)
    if axis is None:
        x = x.reshape(-1) if hasattr(x, "reshape") else np.asarray(x).reshape(-1)
        return _partitioned(label, x, kth, 0, places=places, device=device, variant=variant)
    along = as_axis(axis)
    if isinstance(along, tuple):
        raise AxisError(f"{label}: axis= one axis, or None for all elements; got {quoted(axis)}")
    axes = axes_of(along, len(native.shape))
    ranks = _ranks(label, kth, native.shape[axes[0]])
    pivots = select(operands, axes, ranks, asked)
    shape = [1 if one == axes[0] else length for one, length in enumerate(native.shape)]
    found = (x,)
    for number in range(len(ranks)):
        pivot = pivots[number : number + 1].reshape(shape)
        arrays = found[0], pivot, *_counted(found[0], pivot, axes[0], operands), *found[1:]
        beside = as_operands(label, arrays, operands.device)
        ready = find_plan(plan_call, beside, PartitionRequest(axes[0], places), None, None).run(beside, None)
        found = ready if isinstance(ready, tuple) else (ready,)
    return found[-1]


def _counted(x: Any, pivot: Any, axis: int, operands: Operands) -> tuple[Any, Any]:
    """Return how many elements of each row precede the pivot, and how many equal it."""
    dtype = operands.natives[0].dtype

    def count(test: Callable[..., Any]) -> Any:
        marks = trace(lambda x, pivot: np.where(test(x, pivot, dtype), 1, 0), 2)
        return reduce(x, pivot, map=marks, op="sum", axis=axis, keepdims=True, device=operands.device)

    return count(_before), count(_same)


def _ranks(label: str, kth: Any, n: int) -> list[int]:
    """Return the ranks of ``kth=``, ascending and none negative."""
    given = kth if isinstance(kth, list | tuple | np.ndarray) else [kth]
    try:
        ranks = [-n - 1 if isinstance(one, bool | np.bool_) else index(one) for one in given]
    except TypeError:
        ranks = []
    if not ranks or not all(-n <= rank < n for rank in ranks):
        rule = f"{label}: kth= integers from {-n} to {n - 1}" if n else f"{label}: an axis with elements"
        raise ArgumentError(f"{rule}; got {quoted(kth)}")
    return sorted({rank % n for rank in ranks})


@named_keywords
def partition(
    x: Any,
    kth: Any,
    axis: int | None = -1,
    *,
    device: str | Device | None = None,
    variant: str | None = None,
    **unknown: Any,
) -> Any:
    """Return the elements with those of some ranks in their sorted places, as :func:`numpy.partition`.

    Parameters
    ----------
    x : array_like
        Real numbers or bools.
    kth : int or sequence of int
        Ranks, from 0 for the smallest element: smaller elements come before, larger ones behind.
    axis : int or None, default -1
        The axis along which to partition; None for all elements, in C order.
    device : str or Device, optional
        Where to compute, for host arrays.
    variant : str, optional
        The kernel of ``selection`` to use, instead of the best one.

    Returns
    -------
    array
        Of the shape of ``x``. Elements before and behind those of the ranks keep their order, which NumPy does not
        promise. NaN comes last.

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
    return _partitioned("partition", x, kth, axis, places=False, device=device, variant=variant)


@named_keywords
def argpartition(
    x: Any,
    kth: Any,
    axis: int | None = -1,
    *,
    device: str | Device | None = None,
    variant: str | None = None,
    **unknown: Any,
) -> Any:
    """Return the places of the elements of :func:`partition`, as :func:`numpy.argpartition`, int64.

    Examples
    --------
    >>> import gpuprims, numpy as np
    >>> gpuprims.argpartition(np.float32([3, 1, 4, 1, 5]), 2, device="reference")
    array([1, 3, 0, 2, 4])
    """
    if unknown:
        refuse_keywords("argpartition", keywords_of(argpartition), unknown)
    return _partitioned("argpartition", x, kth, axis, places=True, device=device, variant=variant)
