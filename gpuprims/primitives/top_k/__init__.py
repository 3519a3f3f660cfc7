"""top_k: the largest or smallest elements, sorted, and their indices."""

from __future__ import annotations

from typing import Any, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from gpuprims.core.device import Device
from gpuprims.core.keywords import keywords_of, named_keywords, refuse_keywords
from gpuprims.core.launch_plan import find_plan
from gpuprims.core.operands import Operands
from gpuprims.core.outputs import Out
from gpuprims.core.plans import planner
from gpuprims.core.primitive import Primitive
from gpuprims.core.variant import Variant
from gpuprims.core.warm_calls import WarmCalls
from gpuprims.errors import ArgumentError, AxisError
from gpuprims.primitives.segments.kept import keeping_offsets
from gpuprims.primitives.segments.offsets import Segments
from gpuprims.primitives.signatures import Array, Element, Host, HostArray, TopKKeywords
from gpuprims.primitives.signatures import Out as Given
from gpuprims.primitives.top_k.plan import TopKRequest, bind, plan_call, sample
from gpuprims.primitives.top_k.variants import VARIANTS

PRIMITIVE = Primitive(
    *("top_k", VARIANTS, plan_call, sample, bind),
    tuning_case=f"{__name__}.tuning_case",
    tuned=False,
    plans={"top_k": keeping_offsets("top_k", __name__, planner("top_k", bind, plan_call))},
)
_WARM = WarmCalls()


@overload
def top_k(x: NDArray[Element], k: int, **keywords: Unpack[TopKKeywords]) -> tuple[NDArray[Element], HostArray]: ...
@overload
def top_k(x: Host, k: int, **keywords: Unpack[TopKKeywords]) -> tuple[HostArray, HostArray]: ...
@overload
def top_k(x: Array, k: int, **keywords: Unpack[TopKKeywords]) -> tuple[Array, Array]: ...
@overload
def top_k(x: Any, k: int, *, out: Given, **keywords: Unpack[TopKKeywords]) -> Given: ...


@named_keywords
def top_k(
    x: Any,
    k: int,
    *,
    axis: int | None = None,
    largest: bool = True,
    segments: Any = None,
    out: Any = None,
    device: str | Device | None = None,
    variant: str | None = None,
    **unknown: Any,
) -> Any:
    """Return the ``k`` largest or smallest elements, sorted, and their indices.

    Parameters
    ----------
    x : array_like
        Real numbers or bools.
    k : int
        The number of elements to return, at most the length of the axis.
    axis : int, optional
        The axis along which to look. By default ``x`` is flattened, in C order.
    largest : bool, default True
        True for the largest elements, in descending order; False for the smallest, in ascending order.
    segments : array_like of int, optional
        Row offsets as in CSR for a one-dimensional array, as in :func:`gpuprims.scan`: return ``k`` elements of each
        segment. Each segment must have at least ``k``.
    out : tuple of two arrays, optional
        Where to write values and indices: arrays with the shapes and dtypes of the results, on the device of ``x``. By
        default new arrays.
    device : str or Device, optional
        Where to compute, for host arrays.
    variant : str, optional
        The kernel to use, instead of the best one.

    Returns
    -------
    values, indices : array
        ``out``, or new arrays of the library of ``x``, of length ``k`` along the axis, or of shape ``(segments, k)``.
        Indices are int64. They count along the axis, in the flattened array, or from the beginning of the segment.

    Raises
    ------
    ArgumentError
        A ``k`` below 0, or larger than a row or a segment.
    AxisError, ShapeError, DtypeError, ArrayError, DeviceMismatchError
        Arguments that do not fit.
    NoVariantError
        No kernel, or not the one asked for, can run the call.

    Notes
    -----
    As in NumPy's sort, NaN is larger than all numbers: it comes first among the largest elements and last among the
    smallest. Of equal elements, those with lower indices come first. -0.0 equals 0.0, and NaN equals NaN.

    Examples
    --------
    >>> import gpuprims, numpy as np
    >>> x = np.float32([3, 1, 4, 1, 5])
    >>> values, indices = gpuprims.top_k(x, 2, device="reference")
    >>> values, indices
    (array([5., 4.], dtype=float32), array([4, 2]))
    >>> gpuprims.top_k(x, 3, largest=False, device="reference")[1]
    array([1, 3, 0])
    >>> gpuprims.top_k(x, 1, segments=[0, 2, 5], device="reference")[0]
    array([[3.],
           [5.]], dtype=float32)
    """
    if unknown:
        refuse_keywords("top_k", keywords_of(top_k), unknown)
    key, given, run = None, (x,), None
    if segments is None and type(k) is int and type(axis) in (int, type(None)) and type(largest) is bool:
        key, given, run = _WARM.find_into((k, axis, largest, variant), (x,), out, device)
        if run is not None:
            return run(given)
    operands, request, result, chosen = bind((x, k), None, axis, largest, out, device, variant)
    if segments is not None:
        if axis is not None:
            raise AxisError("top_k: no axis= with segments=, which lie along the one axis; got both")
        return _of_segments(operands, segments, request, result, chosen)
    plan = find_plan(plan_call, operands, request, result, chosen)
    _WARM.keep(key, plan, operands, None, result)
    return plan.run(operands, result)


def _of_segments(
    operands: Operands, offsets: Any, request: TopKRequest, out: Out | None, variant: str | Variant | None
) -> Any:
    segments = Segments(offsets, operands)
    lengths = segments.lengths()
    if lengths.size and lengths.min() < request.k:
        shortest = int(np.argmin(lengths))
        rule = f"top_k: k= at most the number of elements of each segment; got {request.k}"
        raise ArgumentError(f"{rule}, and {lengths[shortest]} element(s) in segment {shortest}")
    beside = segments.beside(apart=False)
    plan = find_plan(plan_call, beside, request._replace(segments=segments.count), out, variant)
    return plan.run(beside, out)
