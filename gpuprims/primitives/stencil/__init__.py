"""stencil: every element from its neighbours, by weights or by a function of one's own."""

from __future__ import annotations

from typing import Any

from gpuprims.core.device import Device
from gpuprims.core.primitive import Primitive
from gpuprims.primitives.stencil.calls import bind, run_stencil
from gpuprims.primitives.stencil.plan import plan_call, sample
from gpuprims.primitives.stencil.spec import Mode
from gpuprims.primitives.stencil.variants import VARIANTS

PRIMITIVE = Primitive("stencil", VARIANTS, plan_call, sample, bind, tuning_case=f"{__name__}.tuning_case")


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
) -> Any:
    """Compute each element from those around it, as :func:`scipy.ndimage.correlate`.

    Parameters
    ----------
    x : array_like
        Of real numbers.
    weights : array_like or callable
        Of one to three axes of odd length, up to 31: each neighbour times its weight, added up. Or a function of a
        neighbourhood ``n``, whose element ``n[dy, dx]`` is so many rows and columns from the one that is computed, made
        of operators and NumPy functions as those of :func:`gpuprims.map`.
    mode : {"nearest", "reflect", "mirror", "wrap", "constant"}, default "nearest"
        What lies beyond the borders: the element at the border, ``d c b a | a b c d | d c b a``, ``d c b | a b c d | c
        b a``, the other end, or ``cval``. SciPy's default is "reflect".
    cval : scalar, default 0
    channel_axis : int, optional
        The axis of channels, which are not neighbours of each other. Of the other axes, neighbourhoods lie along the
        last; along those before, arrays are independent of each other.
    iterations : int, default 1
        How often in a row.
    dtype : dtype, optional
        Of the result: by default that of ``x``, as SciPy's, or with a function what it returns.
    out : array, optional
        Where to write; it is not to overlap ``x``.
    device : str or Device, optional
        Where to compute, for host arrays.
    variant : str, optional
        The kernel to use, instead of the best one.

    Returns
    -------
    array
        Of the shape of ``x``. Floats are summed in float32, or in float64 if ``x`` or the result is float64. Sums of
        integers by integer weights are exact. By other weights they are computed in float64, which keeps 53 bits;
        without float64 on the device, 8 and 16 bits are computed in float32.

    Raises
    ------
    ArgumentError, ShapeError, AxisError, DtypeError, ExpressionError
        Weights of even length, or that are not finite; an unknown mode; a function that cannot be traced.
    ArrayError, DeviceMismatchError, NoVariantError
        As :func:`gpuprims.map`.

    Notes
    -----
    Sums are cut to integers towards zero, as in SciPy. Out of range, 8 and 16 bits keep the low bits of the sum, and
    unsigned integers those of a negative sum, as in SciPy. Other sums saturate in 32 and 64 bits, where SciPy's results
    differ between platforms. NaN becomes the smallest number. All devices give the same.

    Examples
    --------
    >>> import gpuprims, numpy as np
    >>> x = np.float32([0, 0, 4, 0, 8, 8])
    >>> gpuprims.stencil(x, [0.25, 0.5, 0.25], device="reference")
    array([0., 1., 2., 3., 6., 8.], dtype=float32)
    >>> gpuprims.stencil(x, lambda n: np.maximum(n[-1], n[1]), mode="constant", device="reference")
    array([0., 4., 0., 8., 8., 8.], dtype=float32)
    """
    return run_stencil(x, weights, mode, cval, channel_axis, iterations, dtype, out, device, variant)
