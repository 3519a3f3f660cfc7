"""descent: iterations of batch gradient descent of logistic regression, all in one launch."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.launch_plan import find_plan
from gpuprims.core.operands import as_operands
from gpuprims.core.primitive import Primitive
from gpuprims.core.traits import CallTraits
from gpuprims.core.variant_checks import asked_by_name
from gpuprims.errors import ArgumentError, quoted
from gpuprims.primitives.descent.plan import plan_call, sample
from gpuprims.primitives.descent.variants import VARIANTS
from gpuprims.primitives.logistic.labelled import check_samples
from gpuprims.primitives.rows import side_by_side

PRIMITIVE = Primitive("descent", VARIANTS, plan_call, sample, tuning_case=f"{__name__}.tuning_case", tuned=False)


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
    """Return the weights of binary logistic regression after iterations of batch gradient descent.

    Parameters
    ----------
    X, y, weights, sample_weight
        As for :func:`~gpuprims.primitives.logistic.logistic_gradient`.
    rate : float
        The factor of the gradient of the summed log loss.
    steps : int
        The number of iterations, one or more.
    decay : float, default 0.0
        The part of each coefficient that an iteration takes off, for a penalty. The intercept has no penalty.
    device : str or Device, optional
        Where to compute, for host arrays.
    variant : str, optional
        The kernel to use, instead of the best one.

    Returns
    -------
    array of the shape of ``weights``
        The weights after ``steps`` times ``w -= decay*w + rate * X.T @ (s * (sigmoid(X @ w) - y))``, on the device if
        ``X`` is. They are the same in every run.

    Raises
    ------
    ArrayError, DtypeError, ShapeError, DeviceMismatchError, ArgumentError
        Arguments that do not fit.
    NoVariantError
        No kernel can run the call, or the requested one cannot. The samples must be few: they stay in the registers of
        one group of a GPU, or in the cache of one core of a CPU.

    Notes
    -----
    Weights are Kahan sums, so changes smaller than their rounding add up. The iteration is that of "OpenCL logistic
    regression with gradient ascent" (the repository logReg), which starts a kernel for each iteration.

    Examples
    --------
    >>> import numpy as np
    >>> from gpuprims.primitives.descent import logistic_descent
    >>> X, y = np.array([[1.0, 2.0], [3.0, -1.0]]), np.array([1.0, 0.0])
    >>> logistic_descent(X, y, np.zeros(2), rate=0.1, steps=2, device="reference").round(3)
    array([-0.172,  0.279])
    """
    arrays = (X, y, weights) if sample_weight is None else (X, y, weights, sample_weight)
    operands = as_operands("descent", arrays, device)
    check_samples("descent", operands.natives)
    rates = np.array([decay, rate], operands.natives[0].dtype)
    if steps < 1:
        raise ArgumentError(f"descent: steps, one or more; got {quoted(steps)}")
    operands = side_by_side(operands)
    operands = operands.beside(rates if operands.on_host else operands.device.asarray(rates))
    asked = asked_by_name("descent", variant)
    return find_plan(plan_call, operands, operator.index(steps), None, asked).run(operands, None)


def descend(arrays: tuple[Any, ...], steps: int, device: Device, variant: str | None = None) -> Any:
    """Return weights after iterations, for valid arrays on the device; the last has ``decay`` and ``rate``."""
    operands = as_operands("descent", arrays, device)
    return find_plan(plan_call, operands, steps, None, variant).run(operands, None)


def able_to_descend(device: Device, dtype: np.dtype[Any], rows: int, columns: int, variant: str | None = None) -> bool:
    """Return True if a kernel, of a name, takes ``rows`` samples with ``columns`` weights, the intercept included.

    Raises NoVariantError if the one of this name refuses them.
    """
    call = CallTraits((dtype,), rows, columns, value_bytes=dtype.itemsize)
    explanation = device.explain("descent", call)
    if variant is None:
        return explanation.chosen is not None
    known = any(one.name == variant for one, _ in explanation.refusals)
    return known and device.select("descent", call, variant) is not None
