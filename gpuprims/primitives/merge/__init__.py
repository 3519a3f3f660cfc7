"""merge: two sorted arrays merged into one."""

from __future__ import annotations

from typing import Any, Unpack, overload

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.keywords import check_flags, keywords_of, named_keywords, refuse_keywords
from gpuprims.core.launch_plan import find_plan
from gpuprims.core.operands import Operands
from gpuprims.core.plans import planner
from gpuprims.core.primitive import Primitive
from gpuprims.core.warm_calls import WarmCalls
from gpuprims.errors import ArgumentError
from gpuprims.primitives.merge.plan import bind, plan_call, sample
from gpuprims.primitives.merge.variants import VARIANTS
from gpuprims.primitives.order import precedes
from gpuprims.primitives.reduce import reduce
from gpuprims.primitives.signatures import Array, Host, HostArray, MergeKeywords, Out

PRIMITIVE = Primitive(
    *("merge", VARIANTS, plan_call, sample, bind),
    tuning_case=f"{__name__}.tuning_case",
    tuned=False,
    plans={"merge": planner("merge", bind, plan_call, refused={"check": "a check waits for its result in each call"})},
)
_WARM = WarmCalls()


@overload
def merge(a: Host, b: Host, *, out: None = None, **keywords: Unpack[MergeKeywords]) -> HostArray: ...
@overload
def merge(a: Array, b: Array, *, out: None = None, **keywords: Unpack[MergeKeywords]) -> Array: ...
@overload
def merge(a: Any, b: Any, *, out: Out, **keywords: Unpack[MergeKeywords]) -> Out: ...


@named_keywords
def merge(
    a: Any,
    b: Any,
    *,
    descending: bool = False,
    check: bool = False,
    out: Any = None,
    device: str | Device | None = None,
    variant: str | None = None,
    **unknown: Any,
) -> Any:
    """Merge two sorted arrays into one.

    Parameters
    ----------
    a, b : array_like
        Sorted one-dimensional arrays. NaN is last, or first with ``descending``. Complex numbers are ordered by their
        real parts, then by their imaginary parts.
    descending : bool, default False
        True if the arrays, and thus the result, are in descending order.
    check : bool, default False
        True to raise if an array is not sorted, which takes a reduction of each array and waits for it. Without the
        check, the result for unsorted arrays may lack some elements and repeat others.
    out : array, optional
        Where to write: an array with the shape and dtype of the result, on the device of the arrays, that shares no
        memory with them. By default a new array.
    device : str or Device, optional
        Where to compute, for host arrays.
    variant : str, optional
        The kernel to use, instead of the best one.

    Returns
    -------
    array
        ``out``, or a new array with the dtype of :func:`numpy.concatenate`. The merge is stable: of equal elements,
        those of ``a`` come first, and elements of one array keep their order.

    Raises
    ------
    ArgumentError
        With ``check``, an array that is not sorted.
    ShapeError
        An array that does not have one dimension.
    ArrayError, DeviceMismatchError, DtypeError, NoVariantError
        As :func:`gpuprims.map`.

    Notes
    -----
    Work-groups merge tiles of the result independently. A binary search finds where each tile begins in both arrays
    (Odeh, Green et al., Merge path - parallel merging made simple, 2012).

    Examples
    --------
    >>> import gpuprims, numpy as np
    >>> gpuprims.merge(np.int32([1, 4, 4]), np.int32([2, 4, 9]), device="reference")
    array([1, 2, 4, 4, 4, 9], dtype=int32)
    >>> gpuprims.merge(np.float32([3, 1]), np.float32([2.5]), descending=True, device="reference")
    array([3. , 2.5, 1. ], dtype=float32)
    """
    if unknown:
        refuse_keywords("merge", keywords_of(merge), unknown)
    key, given, run = _WARM.find_into((descending, variant), (a, b), out, device)
    if run is not None and check is False:
        return run(given)
    check_flags("merge", check=check)
    operands, request, result, chosen = bind((a, b), descending, out, device, variant)
    if check:
        for name, array in zip("ab", operands.natives, strict=True):
            check_sorted(operands, name, array, descending=request.descending)
    plan = find_plan(plan_call, operands, request, result, chosen)
    _WARM.keep(key, plan, operands, out=result)
    return plan.run(operands, result)


def check_sorted(operands: Operands, name: str, array: Any, *, descending: bool) -> None:
    """Raise if an array is not sorted, and name the first pair that is out of order."""
    if array.shape[0] < 2:
        return

    def out_of_order(element: Any, behind: Any) -> Any:
        first, second = (element, behind) if descending else (behind, element)
        return np.where(precedes(first, second, array.dtype), 1, 0)

    def pair(k: int) -> tuple[Any, Any]:
        both = array[k : k + 2]
        values = both if isinstance(both, np.ndarray) else operands.driver.to_host(both.copy())
        return values[0], values[1]

    place = reduce(array[:-1], array[1:], op="argmax", map=out_of_order, device=operands.device)
    k = int(place if isinstance(place, np.generic) else operands.driver.to_host(place))
    before, behind = pair(k)
    first, second = (before, behind) if descending else (behind, before)
    if precedes(first, second, array.dtype):
        order = "descending" if descending else "ascending"
        rule = f"{operands.label}: {name} in {order} order"
        raise ArgumentError(f"{rule}; got {before} before {behind} at index {k} (sort it first)")
