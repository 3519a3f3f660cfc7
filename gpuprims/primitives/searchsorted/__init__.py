"""searchsorted: where keys belong in a sorted array."""

from __future__ import annotations

from typing import Any, Unpack, overload

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.keywords import keywords_of, named_keywords, refuse_keywords
from gpuprims.core.launch_plan import find_plan
from gpuprims.core.operands import as_operands
from gpuprims.core.plans import planner
from gpuprims.core.primitive import Primitive
from gpuprims.core.warm_calls import WarmCalls
from gpuprims.errors import ArrayError, DtypeError, IndicesError, ShapeError, quoted
from gpuprims.primitives.searchsorted.edges import bind_digitize, plan_digitize
from gpuprims.primitives.searchsorted.members import bind_isin
from gpuprims.primitives.searchsorted.members import plan_call as plan_members
from gpuprims.primitives.searchsorted.plan import Side, bind, plan_call, sample
from gpuprims.primitives.searchsorted.variants import VARIANTS
from gpuprims.primitives.signatures import Array, Host, HostArray, Out, Where
from gpuprims.primitives.take import take

PRIMITIVE = Primitive(
    *("searchsorted", VARIANTS, plan_call, sample),
    tuning_case=f"{__name__}.tuning_case",
    tuned=False,
    plans={
        "searchsorted": planner(
            *("searchsorted", bind, plan_call),
            taken=2,
            positional=("side",),
            refused={"sorter": "it changes the order of a (make a plan of take for that, and one for its result)"},
        ),
        "isin": planner(
            *("isin", bind_isin, plan_members), taken=2, positional=("assume_unique", "invert"), beside=True
        ),
        "digitize": planner(*("digitize", bind_digitize, plan_digitize), taken=2, positional=("right",), beside=True),
    },
)
_WARM = WarmCalls()


@overload
def searchsorted(
    a: Any, v: Any, side: Side = "left", sorter: Any = None, *, out: Out, **keywords: Unpack[Where]
) -> Out: ...
@overload
def searchsorted(a: Host, v: Host, side: Side = "left", sorter: Any = None, **keywords: Unpack[Where]) -> HostArray: ...
@overload
def searchsorted(
    a: Array, v: Array | complex, side: Side = "left", sorter: Any = None, **keywords: Unpack[Where]
) -> Array: ...


@named_keywords
def searchsorted(
    a: Any,
    v: Any,
    side: Side = "left",
    sorter: Any = None,
    *,
    out: Any = None,
    device: str | Device | None = None,
    variant: str | None = None,
    **unknown: Any,
) -> Any:
    """Find the indices at which to insert keys into a sorted array, as :func:`numpy.searchsorted` does.

    Parameters
    ----------
    a : array_like
        One-dimensional, in ascending order, NaN last. This is not checked; results for other arrays are undefined.
    v : array_like
        The keys, of any shape.
    side : {"left", "right"}, default "left"
        The index of a key that is equal to elements: before or after all of them.
    sorter : array_like of int, optional
        Indices that sort ``a``, as of ``argsort``: the search is in ``take(a, sorter)``.
    out : array, optional
        Where to write: of the result's shape and dtype, on the device of the keys. By default a new array.
    device : str or Device, optional
        Where to compute, for host arrays.
    variant : str, optional
        The kernel to use, instead of the best one.

    Returns
    -------
    array of int64
        ``out``, or a new array: for each key, how many elements come before it; of the shape of ``v``.

    Raises
    ------
    ShapeError
        An ``a`` of other than one dimension, a ``sorter`` of another length.
    ArgumentError, IndicesError
        Another ``side``; indices outside of ``a`` in ``sorter``.
    ArrayError, DeviceMismatchError, DtypeError, NoVariantError
        As :func:`gpuprims.map`.

    Notes
    -----
    Elements and keys are compared in the dtype that :func:`numpy.result_type` gives. All NaN are equal, and -0.0 is
    equal to 0.0. On GPUs, many keys are first sought among words of 32 bits of the elements, or of every few of them,
    in local memory. In longer arrays the search goes down a tree, whose nodes are read at once; its highest level is in
    local memory, and its lowest one is the array.

    Examples
    --------
    >>> import gpuprims, numpy as np
    >>> gpuprims.searchsorted(np.float32([1, 2, 2, 5]), np.float32([0, 2, 9]), device="reference")
    array([0, 1, 4])
    >>> gpuprims.searchsorted(np.float32([1, 2, 2, 5]), np.float32([0, 2, 9]), side="right", device="reference")
    array([0, 3, 4])
    """
    if unknown:
        refuse_keywords("searchsorted", keywords_of(searchsorted), unknown)
    if sorter is not None:
        a = _in_order(a, sorter, device)
    arrays = a, v
    key, given, run = _WARM.find_into((side, variant), arrays, out, device)
    if run is not None:
        return run(given)
    operands, request, result, chosen = bind(arrays, side, out, device, variant)
    plan = find_plan(plan_call, operands, request, result, chosen)
    _WARM.keep(key, plan, operands, out=result)
    return plan.run(operands, result)


def _in_order(a: Any, sorter: Any, device: str | Device | None) -> Any:
    """Return an array in the order of a sorter."""
    as_operands("searchsorted", (a,), device)  # what is wrong after this is the sorter
    try:
        taken = take(a, sorter, device=device)
    except (IndicesError, DtypeError, ArrayError) as error:
        kind = next(one for one in (IndicesError, DtypeError, ArrayError) if isinstance(error, one))
        raise kind(f"searchsorted: sorter= indices of a, as argsort(a) gives; got {quoted(sorter)}") from error
    if taken.shape != np.shape(a):
        raise ShapeError(f"searchsorted: sorter= of the shape of a, {np.shape(a)}; got {taken.shape}")
    return taken
