"""logistic: the loss of logistic regression and its gradient, from one reading of the samples."""

from __future__ import annotations

from typing import Any

from gpuprims.core.device import Device
from gpuprims.core.launch_plan import find_plan
from gpuprims.core.primitive import Primitive
from gpuprims.primitives.logistic.plan import bind, plan_call, sample
from gpuprims.primitives.logistic.variants import VARIANTS

PRIMITIVE = Primitive("logistic", VARIANTS, plan_call, sample, bind, tuning_case=f"{__name__}.tuning_case", tuned=False)


def logistic_gradient(
    X: Any,
    y: Any,
    weights: Any,
    *,
    sample_weight: Any = None,
    transposed: Any = None,
    device: str | Device | None = None,
    variant: str | None = None,
) -> tuple[Any, Any]:
    """Return the summed log loss of binary logistic regression, and its gradient.

    Parameters
    ----------
    X : array_like of shape (n, k), float32, float64, int8 or int16
        A row for each sample. Arrays that are not contiguous are copied first. Integers are read as they are, which
        takes a quarter or half of the memory traffic, and become floats in registers.
    y : array_like of shape (n,)
        Labels, 0 or 1, of the dtype of ``X``, or float32 or float64 beside integers.
    weights : array_like of shape (k,) or (k + 1,)
        The weights, of the same dtype. If there is one more than features, the last is the intercept.
    sample_weight : array_like of shape (n,), optional
        The weight of each sample, of the same dtype; by default 1.
    transposed : array_like of shape (k, n), optional
        ``X.T``, for variants that read the samples by columns. Without it, these copy them in each call.
    device : str or Device, optional
        Where to compute, for host arrays.
    variant : str, optional
        The kernel to use, instead of the best one.

    Returns
    -------
    loss : scalar
        ``sum(s * (log(1 + exp(z)) - y*z))`` with ``z = X @ weights``, written so that nothing overflows.
    gradient : array of the shape of ``weights``
        ``X.T @ (s * (sigmoid(z) - y))``. Both results have the dtype of ``y``, and are on the device if ``X`` is. Sums
        are added in a fixed order, so they are the same in every run.

    Raises
    ------
    ArrayError, DtypeError, ShapeError, DeviceMismatchError
        Arguments that do not fit.
    NoVariantError
        No kernel can run the call, or the requested one cannot.

    Notes
    -----
    Some variants are the kernels of "Logistic regression with OpenCL and .NET" (2012). In hot loops, use
    :func:`gpuprims.plan`.

    Examples
    --------
    >>> import numpy as np
    >>> from gpuprims.primitives.logistic import logistic_gradient
    >>> X, y = np.array([[1.0, 2.0], [3.0, -1.0]]), np.array([1.0, 0.0])
    >>> loss, gradient = logistic_gradient(X, y, np.zeros(2), device="reference")
    >>> round(float(loss), 3), gradient
    (1.386, array([ 1. , -1.5]))
    """
    given = (X, y, weights, *(one for one in (sample_weight, transposed) if one is not None))
    operands, request, out, chosen = bind(given, device, variant)
    loss, gradient = find_plan(plan_call, operands, request, out, chosen).run(operands, out)
    return loss, gradient
