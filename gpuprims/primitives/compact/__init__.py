"""compact: the elements that a mask keeps, in their order."""

from __future__ import annotations

from typing import Any, Unpack, overload

from numpy.typing import NDArray

from gpuprims.core.device import Device
from gpuprims.core.keywords import keywords_of, named_keywords, refuse_keywords
from gpuprims.core.launch_plan import find_plan
from gpuprims.core.lazy import call_by_chunks
from gpuprims.core.plans import OUT_OF_CALLS, planner
from gpuprims.core.primitive import Primitive
from gpuprims.core.warm_calls import WarmCalls
from gpuprims.errors import LazyArrayError
from gpuprims.expressions import Expr, expression
from gpuprims.primitives.compact.plan import bind, plan_call, run_in_slabs, sample
from gpuprims.primitives.compact.rows import compact_along
from gpuprims.primitives.compact.variants import VARIANTS
from gpuprims.primitives.copies import in_index_order
from gpuprims.primitives.signatures import Array, CompactKeywords, Element, Host, HostArray

_GROUPING = "gpuprims.primitives.grouping.plans"
_ROWS = "a call finds indices and takes these (make a plan of take)"
PRIMITIVE = Primitive(
    *("compact", VARIANTS, plan_call, sample, bind),
    tuning_case=f"{__name__}.tuning_case",
    tuned=False,
    plans={
        "compact": planner("compact", bind, plan_call, taken=2, refused={"axis": _ROWS, "out": OUT_OF_CALLS}),
        **dict.fromkeys(("nonzero", "argwhere"), f"{__name__}.nonzero"),
        **dict.fromkeys(("unique_consecutive", "run_length_encode", "run_length_decode"), _GROUPING),
    },
)
_WARM = WarmCalls()


@overload
def compact(x: NDArray[Element], mask: Any, **keywords: Unpack[CompactKeywords]) -> NDArray[Element]: ...
@overload
def compact(x: Host, mask: Any, **keywords: Unpack[CompactKeywords]) -> HostArray: ...
@overload
def compact(x: Array, mask: Any, **keywords: Unpack[CompactKeywords]) -> Array: ...


@named_keywords
def compact(
    x: Any,
    mask: Any,
    *,
    axis: int | None = None,
    out: Any = None,
    device: str | Device | None = None,
    variant: str | None = None,
    **unknown: Any,
) -> Any:
    """Return the elements that a mask selects, in order, as ``x[mask]`` does.

    Parameters
    ----------
    x : array_like
        Of any shape; its elements are taken in C order.
    mask : array_like of bool, callable or str
        The elements to keep: an array of the shape of ``x``, or a function of an element as in :func:`gpuprims.map`,
        such as ``"x > 0"``. The results of a function are not stored. With ``axis``, a bool for each place along it;
        beside an array of a device, also on the host.
    axis : int, optional
        Keep whole rows, columns or planes, as :func:`numpy.compress` does with a condition as long as the axis. By
        default elements are kept.
    out : array, optional
        Where to write, on the device of ``x``: of its dtype, and at least as long as the result, which is its
        beginning. An array as long as ``x`` is long enough for any mask. By default a new array.
    device : str or Device, optional
        Where to compute, for host arrays.
    variant : str, optional
        The kernel to use, one of compact's or of :func:`gpuprims.scan`'s, instead of the best one.

    Returns
    -------
    array
        The kept elements along one axis, or with ``axis`` the kept part of ``x``, in an array of the same library as
        the first array that is not NumPy's; with ``out``, a view of its beginning. On a device a new result is the
        beginning of an array as long as ``x``, unless ``axis`` is given.

    Raises
    ------
    ShapeError, DtypeError, AxisError, ArgumentError
        A mask of another shape than ``x``, or than ``axis``; one not of bools; an axis that ``x`` does not have; with
        ``axis``, a function or a variant; an ``out`` that is too short, found when the number of elements is known.
    ArrayError, DeviceMismatchError, ExpressionError, NoVariantError
        As :func:`gpuprims.scan`.

    Notes
    -----
    An exclusive scan of the mask, 1 where an element is kept, counts the kept elements before each element. This is
    its place in the result (Blelloch, Prefix sums and their applications, CMU-CS-90-190, 1990). Kernels write each
    kept element to its place and do not store the scan. The call waits for the number of kept elements. With ``axis``,
    it finds the indices of the kept places, and takes these. Kernels write to a contiguous ``out`` as long as ``x``;
    the result is copied to others.

    Examples
    --------
    >>> import gpuprims, numpy as np
    >>> x = np.float32([3, -1, 4, -1, 5])
    >>> gpuprims.compact(x, "x > 0", device="reference")
    array([3., 4., 5.], dtype=float32)
    >>> gpuprims.compact(x, np.array([True, True, False, False, True]), device="reference")
    array([ 3., -1.,  5.], dtype=float32)
    >>> gpuprims.compact(np.float32([[1, 2, 3], [4, 5, 6]]), [True, False, True], axis=1, device="reference")
    array([[1., 3.],
           [4., 6.]], dtype=float32)
    >>> room = np.zeros(5, np.float32)
    >>> gpuprims.compact(x, "x > 0", out=room, device="reference"), room
    (array([3., 4., 5.], dtype=float32), array([3., 4., 5., 0., 0.], dtype=float32))
    """
    if unknown:
        refuse_keywords("compact", keywords_of(compact), unknown)
    if axis is not None:
        return compact_along(compact, x, mask, axis, out, device, variant)
    if type(mask) is not str and callable(mask):
        mask = expression(mask, 1)
    applied = type(mask) in (str, Expr)
    arrays = (x,) if applied else (x, mask)
    key, given, run = _WARM.find_into((mask if applied else None, variant), arrays, out, device)
    if run is not None:
        return run(given)
    try:
        operands, request, written, chosen = bind((x, mask), device, variant, out=out)
    except LazyArrayError as found:
        return call_by_chunks(found, "compact", x, mask, out=out, device=device, variant=variant)
    if operands.gain_by_slabs:
        return run_in_slabs(request, operands, written, chosen)
    read, step = (operands, None) if chosen is not None else in_index_order(operands)
    plan = find_plan(plan_call, read, request, None, chosen)
    if written is None:
        _WARM.keep(key, plan, read, step)
    elif step is None and (run := plan.writer_of(read, written)) is not None:
        _WARM.keep_run(key, run)
    return plan.run(read, written)
