"""stencil: compute each element from its neighbours, by weights or by a function."""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial
from typing import Any, Unpack, overload

import numpy as np

from gpuprims.core.determinism import Level, at_level
from gpuprims.core.device import Device
from gpuprims.core.keywords import keywords_of, named_keywords, refuse_keywords
from gpuprims.core.lazy import call_by_chunks
from gpuprims.core.plans import planner
from gpuprims.core.primitive import Primitive
from gpuprims.core.warm_calls import AS_GIVEN, WarmCalls
from gpuprims.errors import LazyArrayError
from gpuprims.expressions.masks import DEEPEST
from gpuprims.primitives.signatures import Array, Host, HostArray, Out, StencilKeywords
from gpuprims.primitives.stencil.blur import bind_blur
from gpuprims.primitives.stencil.calls import bind, run
from gpuprims.primitives.stencil.neighbours import trace_neighbours
from gpuprims.primitives.stencil.plan import plan_call, sample
from gpuprims.primitives.stencil.spec import Mode
from gpuprims.primitives.stencil.variants import VARIANTS

PRIMITIVE = Primitive(
    *("stencil", VARIANTS, plan_call, sample, bind),
    tuning_case=f"{__name__}.tuning_case",
    plans={"blur": planner("blur", bind_blur, plan_call), "convolve": f"{__name__}.convolve"},
)
_WARM = WarmCalls()
# Up to this many weights are compared by their bytes in each call.
_FEW = 4096


@overload
def stencil(x: Host, weights: Any, *, out: None = None, **keywords: Unpack[StencilKeywords]) -> HostArray: ...
@overload
def stencil(x: Array, weights: Any, *, out: None = None, **keywords: Unpack[StencilKeywords]) -> Array: ...
@overload
def stencil(x: Any, weights: Any, *, out: Out, **keywords: Unpack[StencilKeywords]) -> Out: ...


@named_keywords
def stencil(
    x: Any,
    weights: Any,
    *,
    mode: Mode = "nearest",
    cval: Any = 0,
    channel_axis: int | None = None,
    iterations: int = 1,
    dtype: Any = None,
    out: Any = None,
    device: str | Device | None = None,
    variant: str | None = None,
    determinism: Level | None = None,
    **unknown: Any,
) -> Any:
    """Compute each element from its neighbours, as :func:`scipy.ndimage.correlate`.

    Parameters
    ----------
    x : array_like
        Real numbers.
    weights : array_like or callable
        Weights of one to three axes, each of odd length: the result is the sum of each neighbour times its weight. Or a
        function of a neighbourhood ``n``: ``n[dy, dx]`` is the element ``dy`` rows below and ``dx`` columns to the
        right, both from -15 to 15. It may use the operators and NumPy functions of :func:`gpuprims.map`.
    mode : {"nearest", "reflect", "mirror", "wrap", "constant"}, default "nearest"
        How the array continues beyond its borders: with the element at the border, ``d c b a | a b c d | d c b a``,
        ``d c b | a b c d | c b a``, the opposite end, or ``cval``. SciPy's default is "reflect".
    cval : scalar, default 0
        The element beyond the borders in mode "constant".
    channel_axis : int, optional
        The axis of channels, which are computed separately. Neighbourhoods lie along the last of the other axes; the
        axes before these are batches.
    iterations : int, default 1
        How many times to apply the stencil.
    dtype : dtype, optional
        Dtype of the result. By default the dtype of ``x``, as in SciPy, or the dtype that a function returns.
    out : array, optional
        Where to write; it must not overlap ``x``.
    device : str or Device, optional
        Where to compute, for host arrays.
    variant : str, optional
        The kernel to use, instead of the best one.
    determinism : {"none", "run", "device", "order"}, optional
        The level of determinism; see :func:`gpuprims.use_determinism`.

    Returns
    -------
    array
        An array of the shape of ``x``. Floats are summed in float32, or in float64 if ``x`` or the result is float64.
        Integers times integer weights have exact sums. With other weights they are summed in float64, which keeps 53
        bits, or, for 8 and 16 bits on a device without float64, in float32.

    Raises
    ------
    ArgumentError, ShapeError, AxisError, DtypeError, ExpressionError
        Weights of even length or that are not finite, an unknown mode, or a function that cannot be traced.
    ArrayError, DeviceMismatchError, NoVariantError
        As :func:`gpuprims.map`.

    Notes
    -----
    Integer results are truncated towards zero, as in SciPy. Out of range, 8 and 16 bits keep the low bits of the sum,
    and unsigned integers keep the low bits of a negative sum, as in SciPy. Other sums of 32 and 64 bits saturate;
    SciPy's results differ between platforms there. NaN becomes the smallest number. All devices return the same.

    Examples
    --------
    >>> import gpuprims, numpy as np
    >>> x = np.float32([0, 0, 4, 0, 8, 8])
    >>> gpuprims.stencil(x, [0.25, 0.5, 0.25], device="reference")
    array([0., 1., 2., 3., 6., 8.], dtype=float32)
    >>> gpuprims.stencil(x, lambda n: np.maximum(n[-1], n[1]), mode="constant", device="reference")
    array([0., 4., 0., 8., 8., 8.], dtype=float32)
    """
    if unknown:
        refuse_keywords("stencil", keywords_of(stencil), unknown)
    if determinism is not None:
        how = {"mode": mode, "cval": cval, "channel_axis": channel_axis, "iterations": iterations, "dtype": dtype}
        return at_level("stencil", determinism, stencil, x, weights, out=out, device=device, variant=variant, **how)
    key = None
    decides = type(cval) is int or (type(cval) is float and cval)  # 0.0 is equal to -0.0
    decides = decides and type(iterations) is int and type(channel_axis) in AS_GIVEN
    if decides and (own := _told(weights)) is not None:
        keywords = own, mode, cval, type(cval), channel_axis, iterations, dtype, variant
        key, given, run_again = _WARM.find_into(keywords, (x,), out, device)
        if run_again is not None:
            return run_again(given)
    try:
        bound = bind((x, weights), None, mode, cval, channel_axis, iterations, dtype, out, device, variant)
    except LazyArrayError as found:
        how = {"mode": mode, "cval": cval, "channel_axis": channel_axis, "iterations": iterations, "dtype": dtype}
        return call_by_chunks(found, "stencil", x, weights, out=out, device=device, variant=variant, **how)
    return run(*bound, partial(_WARM.keep, key))


def _told(weights: Any, axes: int = DEEPEST) -> Hashable:
    """Return a key that distinguishes weights of at most so many axes; None if there is none."""
    if type(weights) is np.ndarray:
        return (weights.dtype, weights.shape, weights.tobytes()) if weights.size <= _FEW else None
    if type(weights) in (list, tuple):
        if not axes:
            return None
        parts = [_told(one, axes - 1) if type(one) in (list, tuple) else (type(one), one) for one in weights]
        return None if None in parts else tuple(parts)
    return trace_neighbours(weights) if callable(weights) else None
