"""descent: many steps of batch gradient descent of logistic regression, in one launch."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.launch_plan import find_plan
from gpuprims.core.operands import as_operands
from gpuprims.core.primitive import Primitive
from gpuprims.core.traits import CallTraits
from gpuprims.primitives.descent.plan import as_request, bind, plan_call, sample
from gpuprims.primitives.descent.variants import VARIANTS

PRIMITIVE = Primitive("descent", VARIANTS, plan_call, sample)


def logistic_descent(
    X: Any,
    y: Any,
    weights: Any,
    *,
    rate: float,
    steps: int,
    decay: float = 0.0,
    sample_weight: Any = None,
    device: str | Device | None = None,
    variant: str | None = None,
) -> Any:
    """Return weights after steps of batch gradient descent of binary logistic regression.

    Parameters
    ----------
    X, y, weights, sample_weight
        As of :func:`~gpuprims.primitives.logistic.logistic_gradient`; labels are 0 or 1.
    rate : float
        What the gradient of the summed log loss is multiplied by in a step.
    steps : int
        How many, one or more.
    decay : float, default 0.0
        What part of each coefficient a step takes off: the penalty's. An intercept has none.
    device : str or Device, optional
        Where to compute, for host arrays.
    variant : str, optional
        The kernel to use, instead of the best one.

    Returns
    -------
    array of the shape of ``weights``
        After ``w -= decay*w + rate * X.T @ (s * (sigmoid(X @ w) - y))`` so many times; on the device if ``X`` is. The
        same from run to run.

    Raises
    ------
    ArrayError, DtypeError, ShapeError, DeviceMismatchError, ArgumentError
        Arguments that do not fit.
    NoVariantError
        No kernel, or not the one asked for, can run the call: samples stay in the registers of one group of a
        GPU, or in the cache of one core, so they must be small.

    Notes
    -----
    What a step's rounding takes off a weight is kept for the next step (Kahan's sum), so that weights of float32 do not
    stand still where steps are small. The iteration is that of "OpenCL logistic regression with gradient ascent" (the
    repository logReg), which starts a kernel for each.

    Examples
    --------
    >>> import numpy as np
    >>> from gpuprims.primitives.descent import logistic_descent
    >>> X, y = np.array([[1.0, 2.0], [3.0, -1.0]]), np.array([1.0, 0.0])
    >>> logistic_descent(X, y, np.zeros(2), rate=0.1, steps=2, device="reference").round(3)
    array([-0.172,  0.279])
    """
    given = (X, y, weights) if sample_weight is None else (X, y, weights, sample_weight)
    operands, request, out, chosen = bind(given, rate, steps, decay, device, variant)
    return find_plan(plan_call, operands, request, out, chosen).run(operands, out)


def descend(arrays: tuple[Any, ...], steps: int, device: Device) -> Any:
    """Return weights after so many steps, for arrays that a call of :func:`logistic_descent` has checked before.

    They lie on the device, and the last one has ``decay`` and ``rate``.
    """
    operands = as_operands("descent", arrays, device)
    return find_plan(plan_call, operands, as_request(steps), None, None).run(operands, None)


def able_to_descend(device: Device, dtype: np.dtype[Any], rows: int, columns: int) -> bool:
    """Return whether a kernel of a device takes so many samples, of so many features, the intercept's with them."""
    call = CallTraits((dtype,), rows, columns, value_bytes=dtype.itemsize)
    return device.explain("descent", call).chosen is not None
