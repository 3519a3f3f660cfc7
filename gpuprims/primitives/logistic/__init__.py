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
    device: str | Device | None = None,
    variant: str | None = None,
) -> tuple[Any, Any]:
    """Return the summed log loss of binary logistic regression, and its gradient.

    Parameters
    ----------
    X : array_like of shape (n, k), float32 or float64
        A row for each sample. Rows side by side in memory are read where they lie; others are copied together first.
    y : array_like of shape (n,)
        Labels, 0 or 1, of the dtype of ``X``.
    weights : array_like of shape (k,) or (k + 1,)
        Of the same dtype; one more than there are features is the intercept's, of a column of ones that is not stored.
    sample_weight : array_like of shape (n,), optional
        What each sample counts, of the same dtype; by default 1.
    device : str or Device, optional
        Where to compute, for host arrays.
    variant : str, optional
        The kernel to use, instead of the best one.

    Returns
    -------
    loss : scalar
        ``sum(s * (log(1 + exp(z)) - y*z))`` with ``z = X @ weights``, written so that nothing overflows.
    gradient : array of the shape of ``weights``
        ``X.T @ (s * (sigmoid(z) - y))``. Both are on the device if ``X`` is, and of its dtype. They are summed in a
        fixed order, so they are the same from run to run.

    Raises
    ------
    ArrayError, DtypeError, ShapeError, DeviceMismatchError
        Arguments that do not fit.
    NoVariantError
        No kernel, or not the one asked for, can run the call.

    Notes
    -----
    The step is that of "OpenCL logistic regression with gradient ascent" (the repository logReg), whose kernels are
    variants here; :func:`gpuprims.plan` keeps what is decided about a call for hot loops.

    Examples
    --------
    >>> import numpy as np
    >>> from gpuprims.primitives.logistic import logistic_gradient
    >>> X, y = np.array([[1.0, 2.0], [3.0, -1.0]]), np.array([1.0, 0.0])
    >>> loss, gradient = logistic_gradient(X, y, np.zeros(2), device="reference")
    >>> round(float(loss), 3), gradient
    (1.386, array([ 1. , -1.5]))
    """
    given = (X, y, weights) if sample_weight is None else (X, y, weights, sample_weight)
    operands, request, out, chosen = bind(given, device, variant)
    return find_plan(plan_call, operands, request, out, chosen).run(operands, out)  # type: ignore[no-any-return]
