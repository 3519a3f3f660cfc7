"""take: the elements that indices name."""

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
        Of any shape and integer dtype; negative ones count from the end. Beside an array of a device they may lie on
        the host.
    axis : int, optional
        The axis that indices count along; by default all axes of ``x``, in C order.
    out : array, optional
        Where to write: of the result's shape and dtype, on the device of ``x``, and not in the memory of the arrays. By
        default a new array. If an index is outside of ``x``, its contents are undefined.
    mode : {"raise", "wrap", "clip"}, default "raise"
        What indices outside of ``x`` do: they raise, wrap around, or name the first or the last element, negative ones
        the first.
    device : str or Device, optional
        Where to compute, for host arrays.
    variant : str, optional
        The kernel to use, instead of the best one.

    Returns
    -------
    array
        ``out``, or a new array of the dtype of ``x``, in which the axes of ``indices`` take the place of ``axis``.

    Raises
    ------
    IndicesError
        With ``mode="raise"``, an index outside of ``x``; in any mode, indices of an axis without elements. An
        :class:`IndexError`.
    AxisError, DtypeError, ShapeError
        An axis that ``x`` does not have; indices that are not integers; an ``out`` that does not fit.
    ArrayError, DeviceMismatchError, NoVariantError
        As :func:`gpuprims.map`.

    Notes
    -----
    With ``mode="raise"``, a kernel checks the indices when it uses them, and a call waits for its answer. Calls with
    the same array of a device, which was right before, do not wait: if it has become wrong, a later call raises.

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
