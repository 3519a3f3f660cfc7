"""take: elements by index."""

from __future__ import annotations

from typing import Any, Unpack, overload

from numpy.typing import NDArray

from gpuprims.core.device import Device
from gpuprims.core.keywords import keywords_of, named_keywords, refuse_keywords
from gpuprims.core.launch_plan import find_plan
from gpuprims.core.plans import planner
from gpuprims.core.primitive import Primitive
from gpuprims.core.warm_calls import WarmCalls
from gpuprims.primitives.signatures import Array, Element, Host, HostArray, Out, Where
from gpuprims.primitives.take.plan import Mode, OutsideError, bind, plan_call, raise_outside, sample
from gpuprims.primitives.take.variants import VARIANTS

PRIMITIVE = Primitive(
    *("take", VARIANTS, plan_call, sample, bind),
    tuning_case=f"{__name__}.tuning_case",
    tuned=False,
    plans={"take": planner("take", bind, plan_call, taken=2, positional=("axis", "out", "mode"))},
)
_WARM = WarmCalls()


@overload
def take(
    x: NDArray[Element],
    indices: Any,
    axis: int | None = None,
    out: None = None,
    mode: Mode = "raise",
    **keywords: Unpack[Where],
) -> NDArray[Element]: ...
@overload
def take(
    x: Host, indices: Any, axis: int | None = None, out: None = None, mode: Mode = "raise", **keywords: Unpack[Where]
) -> HostArray: ...
@overload
def take(
    x: Array, indices: Any, axis: int | None = None, out: None = None, mode: Mode = "raise", **keywords: Unpack[Where]
) -> Array: ...
@overload
def take(x: Any, indices: Any, axis: int | None, out: Out, mode: Mode = "raise", **keywords: Unpack[Where]) -> Out: ...
@overload
def take(
    x: Any, indices: Any, axis: int | None = None, *, out: Out, mode: Mode = "raise", **keywords: Unpack[Where]
) -> Out: ...


@named_keywords
def take(
    x: Any,
    indices: Any,
    axis: int | None = None,
    out: Any = None,
    mode: Mode = "raise",
    *,
    device: str | Device | None = None,
    variant: str | None = None,
    **unknown: Any,
) -> Any:
    """Take elements by index, as :func:`numpy.take` does.

    Parameters
    ----------
    x : array_like
        The elements.
    indices : array_like of int
        Indices of any shape and integer dtype; negative ones count from the end. They may be on the host even if ``x``
        is on a device.
    axis : int, optional
        The axis to index. By default ``x`` is flattened, in C order.
    out : array, optional
        Where to write: an array with the shape and dtype of the result, on the device of ``x``, that shares no memory
        with the inputs. By default a new array. If an index is out of bounds, its contents are undefined.
    mode : {"raise", "wrap", "clip"}, default "raise"
        How to handle indices that are out of bounds: raise, wrap around, or clip to the first or last element.
        Clipping takes the first element for each negative index.
    device : str or Device, optional
        Where to compute, for host arrays.
    variant : str, optional
        The kernel to use, instead of the best one.

    Returns
    -------
    array
        ``out``, or a new array with the dtype of ``x``, in which the axes of ``indices`` replace ``axis``.

    Raises
    ------
    IndicesError
        With ``mode="raise"``, an index that is out of bounds; in any mode, indices into an axis without elements. It is
        an :class:`IndexError`.
    AxisError, DtypeError, ShapeError
        An axis that ``x`` does not have; indices that are not integers; an ``out`` that does not fit.
    ArrayError, DeviceMismatchError, NoVariantError
        As :func:`gpuprims.map`.

    Notes
    -----
    With ``mode="raise"``, the kernel checks the indices as it uses them, and the call waits for the outcome. A call
    with a device array of indices that an earlier call found valid does not wait. If the array has since changed and is
    invalid, a later call raises.

    Examples
    --------
    >>> import gpuprims, numpy as np
    >>> x = np.float32([[1, 2, 3], [4, 5, 6]])
    >>> gpuprims.take(x, [0, -1], axis=1, device="reference")
    array([[1., 3.],
           [4., 6.]], dtype=float32)
    >>> gpuprims.take(x, [[5, 9]], mode="clip", device="reference")
    array([[6., 6.]], dtype=float32)
    """
    if unknown:
        refuse_keywords("take", keywords_of(take), unknown)
    key, given, run = _WARM.find_into((axis, mode, variant), (x, indices), out, device)
    try:
        if run is not None:
            return run(given)
        operands, request, result, chosen = bind((x, indices), axis, out, mode, device, variant)
        plan = find_plan(plan_call, operands, request, result, chosen)
        _WARM.keep(key, plan, operands, out=result)
        return plan.run(operands, result)
    except OutsideError:
        operands, request, _, _ = bind((x, indices), axis, None, mode, device)
        raise_outside(operands, request)
        raise
