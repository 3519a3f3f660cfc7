"""reduce: fold elements to one value, over all axes or some, with any associative operator."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Unpack, overload

from gpuprims.core.determinism import Asked, Level, at_level
from gpuprims.core.device import Device
from gpuprims.core.keywords import keywords_of, named_keywords, refuse_keywords
from gpuprims.core.launch_plan import find_plan
from gpuprims.core.lazy import call_by_chunks
from gpuprims.core.plans import planner
from gpuprims.core.primitive import Planner, Primitive
from gpuprims.core.warm_calls import AS_GIVEN, BEGINS, WarmCalls, by_value
from gpuprims.errors import LazyArrayError
from gpuprims.expressions import expression
from gpuprims.operators import Op
from gpuprims.primitives.found import must_find
from gpuprims.primitives.reduce.exact_spread import spread_exactly, spreads_exactly
from gpuprims.primitives.reduce.plan import (
    bind,
    bind_count_nonzero,
    plan_call,
    planned,
    reduce_across,
    reduce_segments,
    refuse_keepdims,
    run_in_slabs,
    sample,
)
from gpuprims.primitives.reduce.variants import VARIANTS
from gpuprims.primitives.segments.along import along_axis
from gpuprims.primitives.segments.checked import WrongOffsetsError
from gpuprims.primitives.segments.kept import keeping_offsets
from gpuprims.primitives.segments.offsets import beside_arrays
from gpuprims.primitives.signatures import Out, ReduceKeywords

_BY = "the keys of each call decide how long its result is (make a plan of group_by)"
PRIMITIVE = Primitive(
    *("reduce", VARIANTS, plan_call, sample, bind),
    tuning_case=f"{__name__}.tuning_case",
    plans={
        "reduce": keeping_offsets("reduce", __name__, Planner(planned, bind, ("segments",), {"by": _BY}), along=True),
        "count_nonzero": planner("count_nonzero", bind_count_nonzero, plan_call, positional=("axis",)),
    },
)
_WARM = WarmCalls()


@overload
def reduce(*arrays: Any, out: Out, **keywords: Unpack[ReduceKeywords]) -> Out: ...
@overload
def reduce(*arrays: Any, out: None = None, **keywords: Unpack[ReduceKeywords]) -> Any: ...


@named_keywords
def reduce(
    *arrays: Any,
    op: str | Op | Callable[..., Any] = "sum",
    map: Any = None,  # noqa: A002 - the fused map, under the primitive's name
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
    dtype: Any = None,
    out: Any = None,
    ddof: float = 0,
    compensated: bool = False,
    where: Any = None,
    initial: Any = None,
    segments: Any = None,
    by: Any = None,
    device: str | Device | None = None,
    variant: str | None = None,
    determinism: Level | None = None,
    **unknown: Any,
) -> Any:
    """Fold elements with an operator.

    Parameters
    ----------
    *arrays : array_like
        One array, or one for each component of the operator; with ``map``, its arguments. They broadcast together.
    op : str, Op or callable
        ``"sum"``, ``"prod"``, ``"min"``, ``"max"``, ``"any"``, ``"all"``, ``"argmin"``, ``"argmax"``, ``"mean"``,
        ``"var"``, ``"std"``, ``"norm"`` (Euclidean), ``"count_nonzero"``, ``"bitwise_and"``, ``"bitwise_or"``,
        ``"bitwise_xor"``, ``"minmax"`` (two results), ``"ptp"``; or ``"nansum"``, ``"nanprod"``, ``"nanmean"``,
        ``"nanvar"``, ``"nanstd"``, ``"nanmin"``, ``"nanmax"``, ``"nanargmin"``, ``"nanargmax"``, which leave NaN out;
        or NumPy's or Python's function for one, such as ``np.add`` or ``max``; or an operator of your own.
    map : callable or str, optional
        A function of elements, as in :func:`gpuprims.map`, applied on the way in and never stored:
        ``reduce(x, y, map="x*y")`` is a dot product that reads each array once.
    axis : int or tuple of int, optional
        The axes to fold; by default all.
    keepdims : bool, default False
        Keep the folded axes in the result, with length 1.
    dtype : dtype, optional
        Convert elements to this dtype before the fold.
    out : array or tuple of arrays, optional
        Write results to these, one for each: of the result's shape and dtype, in any layout, on the arrays' device, and
        without memory in common. With ``by``, an array may be longer, and its beginning is returned. By default new
        arrays.
    ddof : int or float, default 0
        For var, std, nanvar and nanstd: divide by the number of elements minus this, as in NumPy.
    compensated : bool, default False
        For sum and mean of floats: carry the rounding errors along and add them at the end. The sum is then exact to
        its last bit or two, unless terms cancel to almost nothing. Sums of integers and bools are always exact.
    where : array_like of bool, optional
        Fold the elements where this is True. It broadcasts to the arrays' shape, and the same kernel reads it. mean,
        var and std count these elements. As in NumPy, operators without an identity, such as max, need ``initial`` too.
        In a plan, the mask is one more array, after the others.
    initial : number, optional
        The value that the fold begins with, and the result of no elements; for several components a tuple. Only for
        operators whose results are the folded values: not for mean, norm, argmax and the like.
    segments : array_like of int, optional
        Row offsets as in CSR: the first is 0, the last the number of elements, and they never decrease. Arrays have one
        dimension; with ``axis``, arrays of one shape have these segments in each row along it. Offsets may lie on
        the device, where they are checked too. A call waits for this check the first time that it gets an array. If the
        array's values become wrong after that, the results are undefined, and the next such call or
        :meth:`Device.synchronize` raises. The result has an element for each segment between two offsets. A kernel for
        segments runs, or one of :func:`gpuprims.scan`. argmin and argmax count along the whole array, or ``axis``. With
        ``axis`` the call waits for offsets on a device, takes no ``out``, and copies arrays unless the axis is their
        last one.
    by : array_like, optional
        A key for each element, in any order, of the shape of the arrays. The result has one element for each distinct
        key, in ascending order of keys (:func:`gpuprims.unique` returns these). Elements of one key are folded in their
        order, except for sums of floats by integers of a small range, whose bits repeat nevertheless. argmin and argmax
        count along the whole array. A call waits for the number of keys.
    device : str or Device, optional
        Where to compute, for host arrays.
    variant : str, optional
        The kernel to use, instead of the best one.
    determinism : {"none", "run", "device", "order"}, optional
        What the call promises about the bits of floats, as :func:`gpuprims.use_determinism`. ``"device"``: the same
        bits on every device, for functions of ``+ - * /``, roots, comparisons and selections. ``"order"``, for sums,
        mean, norm and dot products: the exact sum of the elements, rounded once.

    Returns
    -------
    scalar, array, or tuple of them
        ``out``, or new ones of the library of the first array that is not NumPy's. Dtypes and values are those of
        NumPy's functions: sums of integers and bools widen to 64 bits, var, std and norm of complex numbers are real,
        NaN propagates through min and max, argmin and argmax give the first place, counted along the folded axes. New
        arrays are contiguous, in Fortran order if all arrays of the whole shape lie in this order on the device, else
        in C order.

    Raises
    ------
    ArgumentError, UnknownOperatorError, AxisError, ShapeError, DtypeError, DeviceMismatchError
        Arguments that do not fit.
    EmptyReductionError
        min, max, argmin, argmax, minmax or ptp of no elements, or nanargmin or nanargmax of host arrays where all
        elements are NaN. For arrays of a device, and in plans, their index is then -1, because to raise would require
        a wait.
    NoVariantError
        No kernel, or not the one asked for, can run the call.

    Examples
    --------
    >>> import gpuprims, numpy as np
    >>> x = np.arange(6, dtype=np.float32).reshape(2, 3)
    >>> gpuprims.reduce(x, op="max", axis=1, device="reference")
    array([2., 5.], dtype=float32)
    >>> float(gpuprims.reduce(x, x, map=lambda a, b: a * b, device="reference"))
    55.0
    >>> gpuprims.reduce(x, op="std", axis=0, ddof=1, device="reference").round(3)
    array([2.121, 2.121, 2.121], dtype=float32)
    >>> float(gpuprims.reduce(np.float32([1e8, 1, -1e8]), compensated=True, device="reference"))
    1.0
    >>> gpuprims.reduce(np.float32([3, 1, 4, 1, 5]), segments=[0, 2, 2, 5], device="reference")
    array([ 4.,  0., 10.], dtype=float32)
    >>> gpuprims.reduce(x, op="max", axis=0, where=x < 4, initial=0, device="reference")
    array([3., 1., 2.], dtype=float32)
    >>> gpuprims.reduce(np.float32([3, 1, 4, 1, 5]), by=[7, 2, 7, 7, 2], device="reference")
    array([6., 8.], dtype=float32)
    >>> gpuprims.reduce(np.float32([[3, 1, 4], [1, 5, 9]]), segments=[0, 2, 3], axis=1, device="reference")
    array([[4., 4.],
           [6., 9.]], dtype=float32)
    """
    if unknown:
        refuse_keywords("reduce", keywords_of(reduce), unknown)
    if determinism is not None:
        call = lambda: reduce(  # noqa: E731 - without a dict, which a call of few elements would notice
            *arrays, op=op,  # type: ignore[arg-type]  # any name, which this call checks
            map=map, axis=axis, keepdims=keepdims, dtype=dtype, out=out, ddof=ddof, where=where,
            compensated=compensated, initial=initial, segments=segments, by=by, device=device, variant=variant
        )  # fmt: skip
        return at_level("reduce", determinism, call)
    if by is not None:
        from gpuprims.primitives.grouping.by_key import reduce_by  # it imports what imports reduce

        how = {"where": where, "initial": initial, "ddof": ddof, "compensated": compensated, "axis": axis}
        how |= {"keepdims": keepdims or None, "segments": segments}
        return reduce_by(reduce, arrays, by, op, map, dtype, out, device, variant, **how)
    if map is not None and type(map) is not str and arrays:
        map = expression(map, len(arrays))  # noqa: A001 - the primitive's name
    if segments is not None and axis is not None and arrays:
        refuse_keepdims(keepdims)
        how = {"op": op, "map": map, "dtype": dtype, "ddof": ddof, "compensated": compensated, "initial": initial}
        across = None if variant else partial(reduce_across, partial(bind, arrays, where=where, device=device, **how))
        along = reduce, "reduce", arrays, segments, axis, device
        return along_axis(*along, out=out, where=where, how=how | {"variant": variant}, across=across)
    if Asked.ever and segments is None and variant is None and spreads_exactly(op, arrays, initial, dtype):
        return spread_exactly(reduce, arrays, op, map, axis, keepdims, dtype, ddof, out, where, device)
    key = None
    decides = type(map) in AS_GIVEN and type(ddof) in AS_GIVEN and (type(axis) in AS_GIVEN or by_value(axis))
    if decides and type(initial) in BEGINS and (segments is None or out is None):
        given = arrays if where is None else (*arrays, where)
        given = given if segments is None else (*given, beside_arrays(segments, arrays))
        begins = None if initial is None else repr(initial)  # 0 is equal to 0.0 and -0.0
        keywords = op, map, axis, keepdims, dtype, ddof, compensated, where is None, begins, segments is None, variant
        key, given, run = _WARM.find_into(keywords, given, out, device)
        if run is not None:
            try:
                return run(given)
            except WrongOffsetsError:  # the rest of the call says what is wrong
                key = None
    try:
        operands, request, result, chosen = bind(
            arrays, op, map, axis, keepdims, dtype, out, ddof, compensated, where, initial, device, variant
        )
    except LazyArrayError as found:
        if segments is not None:
            raise
        how = {"op": op, "map": map, "axis": axis, "keepdims": keepdims, "dtype": dtype, "out": out, "ddof": ddof}
        how |= {"compensated": compensated, "where": where, "initial": initial, "device": device, "variant": variant}
        return call_by_chunks(found, "reduce", *arrays, **how)
    back = must_find("reduce", request.operator, operands)
    if segments is not None:
        refuse_keepdims(keepdims)
        keep = None if key is None else partial(_WARM.keep, key, back=back)
        results = reduce_segments(operands, result, segments, request, chosen, keep)
    elif operands.on_host and operands.exceed_room:
        results = run_in_slabs(request, operands, result, chosen)
    else:
        plan = find_plan(plan_call, operands, request, result, chosen)
        _WARM.keep(key, plan, operands, out=result, back=back)
        results = plan.run(operands, result)
    return results if back is None else back(results)
