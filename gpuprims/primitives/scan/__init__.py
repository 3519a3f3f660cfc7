"""scan: the fold of all elements up to each one, with any associative operator."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Unpack, overload

from numpy.typing import DTypeLike

from gpuprims.core.determinism import Level, at_level
from gpuprims.core.device import Device
from gpuprims.core.keywords import keywords_of, named_keywords, refuse_keywords
from gpuprims.core.launch_plan import find_plan
from gpuprims.core.lazy import call_by_chunks
from gpuprims.core.plans import planner
from gpuprims.core.primitive import Planner, Primitive
from gpuprims.core.warm_calls import AS_GIVEN, BEGINS, WarmCalls
from gpuprims.errors import LazyArrayError
from gpuprims.expressions import expression
from gpuprims.operators import Op
from gpuprims.primitives.copies import in_index_order
from gpuprims.primitives.scan.in_slabs import run_in_slabs
from gpuprims.primitives.scan.plan import (
    bind,
    bind_cumulative,
    plan_call,
    planned,
    refuse_reverse,
    sample,
    scan_across,
    scan_segments,
)
from gpuprims.primitives.scan.variants import VARIANTS
from gpuprims.primitives.segments.along import along_axis
from gpuprims.primitives.segments.checked import WrongOffsetsError
from gpuprims.primitives.segments.kept import BY_KEYS, keeping_offsets
from gpuprims.primitives.segments.offsets import beside_arrays
from gpuprims.primitives.signatures import Array, Host, HostArray, Out, ScanKeywords, Where

_CUMULATIVE: dict[str, Any] = {"positional": ("axis", "dtype", "out"), "in_place": True}
PRIMITIVE = Primitive(
    *("scan", VARIANTS, plan_call, sample, bind),
    in_place=True,
    tuning_case=f"{__name__}.tuning_case",
    plans={
        "scan": keeping_offsets("scan", __name__, Planner(planned, bind, ("segments",), {"by": BY_KEYS}), along=True),
        "cumsum": planner("cumsum", partial(bind_cumulative, "sum"), plan_call, **_CUMULATIVE),
        "cumprod": planner("cumprod", partial(bind_cumulative, "prod"), plan_call, **_CUMULATIVE),
    },
)
_WARM = WarmCalls()


@overload
def scan(*arrays: Host, out: None = None, **keywords: Unpack[ScanKeywords]) -> HostArray: ...
@overload
def scan(*arrays: Array, out: None = None, **keywords: Unpack[ScanKeywords]) -> Array: ...
@overload
def scan(*arrays: Any, out: Out, **keywords: Unpack[ScanKeywords]) -> Out: ...
@overload
def scan(*arrays: Any, out: None = None, **keywords: Unpack[ScanKeywords]) -> Any: ...


@named_keywords
def scan(
    *arrays: Any,
    op: str | Op | Callable[..., Any] = "sum",
    map: Any = None,  # noqa: A002 - the fused map, under the primitive's name
    inclusive: bool = True,
    axis: int | None = None,
    dtype: Any = None,
    out: Any = None,
    where: Any = None,
    initial: Any = None,
    reverse: bool = False,
    segments: Any = None,
    by: Any = None,
    device: str | Device | None = None,
    variant: str | None = None,
    determinism: Level | None = None,
    **unknown: Any,
) -> Any:
    """Compute a prefix sum, or another running fold, of the elements.

    Parameters
    ----------
    *arrays : array_like
        One array, or one for each component of the operator; with ``map``, its arguments. They broadcast together.
    op : str, Op or callable
        ``"sum"``, ``"prod"``, ``"max"``, any other that :func:`gpuprims.reduce` takes, or an operator of your own.
    map : callable or str, optional
        A function of elements, as in :func:`gpuprims.map`, applied on the way in.
    inclusive : bool, default True
        True if a result includes the element at its own place. Otherwise the first result is the operator's identity: 0
        for a sum, the lowest value of the dtype for a max.
    axis : int, optional
        The axis to scan along. By default the elements are scanned in C order, and the result is flat.
    dtype : dtype, optional
        Convert elements to this dtype before the scan.
    out : array or tuple of arrays, optional
        Write results to these, one for each: of the result's shape and dtype, in any layout, on the arrays' device.
        Each is one of the arrays, or has no memory in common with them. By default new arrays.
    where : array_like of bool, optional
        Fold the elements where this is True; other places have the result of the elements before them. It broadcasts to
        the arrays' shape. Operators without an identity, such as max, need ``initial`` too.
    initial : number, optional
        What the scan of the array, or of each row, segment or key, begins with; for several components a tuple. It is
        the first result of an exclusive scan. Only for operators whose results are the folded values: sum, not mean.
    reverse : bool, default False
        Fold, for each element, all elements from the last one back to it: ``scan(x[::-1])[::-1]`` along the axis.
        argmin and argmax give places in ``x``. Not with ``segments`` and ``by``.
    segments : array_like of int, optional
        Row offsets as in CSR, for arrays of one dimension, or along ``axis`` of arrays of one shape: the first is 0,
        the last the number of elements, and they never decrease. They may lie on the device, where they are checked as
        :func:`gpuprims.reduce` says. Each segment between two offsets is scanned by itself.
    by : array_like, optional
        Keys, in any order, of the shape of the arrays: a result folds the elements with the same key up to its own. A
        call waits for the number of keys.
    device : str or Device, optional
        Where to compute, for host arrays.
    variant : str, optional
        The kernel to use, instead of the best one.
    determinism : {"none", "run", "device", "order"}, optional
        What the call promises about the bits of floats, as :func:`gpuprims.use_determinism`.

    Returns
    -------
    array or tuple of arrays
        ``out``, or new ones of the first library that is not NumPy, with the dtypes of :func:`gpuprims.reduce`. New
        arrays are contiguous, in Fortran order with ``axis`` if all arrays of their shape are, else in C order.

    Raises
    ------
    ArgumentError, UnknownOperatorError, AxisError, ShapeError, DtypeError, DeviceMismatchError, NoVariantError
        Arguments that do not fit; no kernel, or not the one asked for, can run the call.

    Notes
    -----
    Floats are added or multiplied within tiles first, so sums round less than one running sum does. The product of a
    tile may overflow after a zero in an earlier tile, which gives NaN, except at ``determinism="order"``.

    Examples
    --------
    >>> import gpuprims, numpy as np
    >>> x = np.float32([3, 1, 4, 1, 5])
    >>> gpuprims.scan(x, device="reference")
    array([ 3.,  4.,  8.,  9., 14.], dtype=float32)
    >>> gpuprims.scan(x, inclusive=False, initial=10, device="reference")
    array([10., 13., 14., 18., 19.], dtype=float32)
    >>> gpuprims.scan(x, reverse=True, device="reference")
    array([14., 11., 10.,  6.,  5.], dtype=float32)
    >>> gpuprims.scan(x, where=x < 4, device="reference")
    array([3., 4., 4., 5., 5.], dtype=float32)
    >>> gpuprims.scan(x, op="max", device="reference")
    array([3., 3., 4., 4., 5.], dtype=float32)
    >>> gpuprims.scan(x, segments=[0, 2, 2, 5], device="reference")
    array([ 3.,  4.,  4.,  5., 10.], dtype=float32)
    >>> gpuprims.scan(x, by=[7, 2, 7, 7, 2], device="reference")
    array([3., 1., 7., 8., 6.], dtype=float32)
    """
    if unknown:
        refuse_keywords("scan", keywords_of(scan), unknown)
    if determinism is not None:
        call = lambda: scan(  # noqa: E731 - without a dict, which a call of few elements would notice
            *arrays, op=op,  # type: ignore[arg-type]  # any name, which this call checks
            map=map, inclusive=inclusive, axis=axis, dtype=dtype, out=out, where=where, initial=initial,
            reverse=reverse, segments=segments, by=by, device=device, variant=variant
        )  # fmt: skip
        return at_level("scan", determinism, call)
    if by is not None:
        from gpuprims.primitives.grouping.by_key import scan_by  # it imports what imports scan

        how = {"where": where, "initial": initial, "axis": axis, "segments": segments, "reverse": reverse or None}
        return scan_by(scan, arrays, by, op, map, inclusive, dtype, out, device, variant, **how)
    if map is not None and type(map) is not str and arrays:
        map = expression(map, len(arrays))  # noqa: A001 - the primitive's name
    if segments is not None and axis is not None and arrays:
        refuse_reverse(reverse)
        how = {"op": op, "map": map, "inclusive": inclusive, "dtype": dtype, "initial": initial}
        across = None if variant else partial(scan_across, partial(bind, arrays, where=where, device=device, **how))
        along = scan, "scan", arrays, segments, axis, device
        return along_axis(*along, out=out, where=where, how=how | {"variant": variant}, across=across)
    key = None
    flags = type(inclusive), type(reverse)
    decides = flags == (bool, bool) and type(map) in AS_GIVEN and type(axis) in AS_GIVEN and type(initial) in BEGINS
    if decides and (segments is None or out is None):
        given = arrays if where is None else (*arrays, where)
        given = given if segments is None else (*given, beside_arrays(segments, arrays))
        begins = None if initial is None else repr(initial)  # 0 is equal to 0.0 and -0.0
        keywords = op, map, inclusive, axis, dtype, where is None, begins, reverse, segments is None, variant
        key, given, run = _WARM.find_into(keywords, given, out, device)
        if run is not None:
            try:
                return run(given)
            except WrongOffsetsError:  # the rest of the call says what is wrong
                key = None
    try:
        operands, request, result, chosen = bind(
            arrays, op, map, inclusive, axis, dtype, out, where, initial, reverse, device, variant
        )
    except LazyArrayError as found:
        if segments is not None:
            raise
        how = {"op": op, "map": map, "inclusive": inclusive, "axis": axis, "dtype": dtype, "out": out}
        how |= {"where": where, "initial": initial, "reverse": reverse, "device": device, "variant": variant}
        return call_by_chunks(found, "scan", *arrays, **how)
    if segments is not None:
        refuse_reverse(reverse)
        keep = None if key is None else partial(_WARM.keep, key)
        return scan_segments(operands, result, segments, request, chosen, keep)
    if operands.gain_by_slabs:
        return run_in_slabs(request, operands, result, chosen)
    read, step = operands, None
    if axis is None and out is None and chosen is None:
        read, step = in_index_order(operands)
    plan = find_plan(plan_call, read, request, result, chosen)
    _WARM.keep(key, plan, read, step, result)
    return plan.run(read, result)


@overload
def cumsum(
    x: Host, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None, **keywords: Unpack[Where]
) -> HostArray: ...
@overload
def cumsum(
    x: Array, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None, **keywords: Unpack[Where]
) -> Array: ...
@overload
def cumsum(
    x: Any, axis: int | None = None, dtype: DTypeLike | None = None, *, out: Out, **keywords: Unpack[Where]
) -> Out: ...
@overload
def cumsum(x: Any, axis: int | None, dtype: DTypeLike | None, out: Out, **keywords: Unpack[Where]) -> Out: ...


@named_keywords
def cumsum(
    x: Any,
    axis: int | None = None,
    dtype: Any = None,
    out: Any = None,
    *,
    device: str | Device | None = None,
    variant: str | None = None,
    **unknown: Any,
) -> Any:
    """Return the cumulative sum, as :func:`numpy.cumsum`: :func:`scan` with ``op="sum"``.

    Examples
    --------
    >>> import gpuprims, numpy as np
    >>> gpuprims.cumsum(np.int8([100, 100, 100]), device="reference")
    array([100, 200, 300])
    """
    if unknown:
        refuse_keywords("cumsum", keywords_of(cumsum), unknown)
    return scan(x, op="sum", axis=axis, dtype=dtype, out=out, device=device, variant=variant)


@overload
def cumprod(
    x: Host, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None, **keywords: Unpack[Where]
) -> HostArray: ...
@overload
def cumprod(
    x: Array, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None, **keywords: Unpack[Where]
) -> Array: ...
@overload
def cumprod(
    x: Any, axis: int | None = None, dtype: DTypeLike | None = None, *, out: Out, **keywords: Unpack[Where]
) -> Out: ...
@overload
def cumprod(x: Any, axis: int | None, dtype: DTypeLike | None, out: Out, **keywords: Unpack[Where]) -> Out: ...


@named_keywords
def cumprod(
    x: Any,
    axis: int | None = None,
    dtype: Any = None,
    out: Any = None,
    *,
    device: str | Device | None = None,
    variant: str | None = None,
    **unknown: Any,
) -> Any:
    """Return the cumulative product, as :func:`numpy.cumprod`: :func:`scan` with ``op="prod"``.

    Examples
    --------
    >>> import gpuprims, numpy as np
    >>> gpuprims.cumprod(np.arange(1, 6), device="reference")
    array([  1,   2,   6,  24, 120])
    """
    if unknown:
        refuse_keywords("cumprod", keywords_of(cumprod), unknown)
    return scan(x, op="prod", axis=axis, dtype=dtype, out=out, device=device, variant=variant)
