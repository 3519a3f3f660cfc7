"""sgd: logistic regression by stochastic gradient descent, exactly one sample after the other."""

from __future__ import annotations

from typing import Any

from gpuprims.core.device import Device
from gpuprims.core.primitive import Primitive
from gpuprims.primitives.sgd.arrays import run_steps
from gpuprims.primitives.sgd.plan import as_request, plan_call, sample
from gpuprims.primitives.sgd.variants import VARIANTS

PRIMITIVE = Primitive("sgd", VARIANTS, plan_call, sample)


def logistic_sgd(
    X: Any,
    y: Any,
    weights: Any,
    order: Any,
    *,
    rate: Any,
    keep: Any = 1.0,
    sample_weight: Any = None,
    threads_per_datapoint: int | None = None,
    datapoints_per_block: int | None = None,
    device: str | Device | None = None,
    variant: str | None = None,
) -> Any:
    """Return the weights of binary logistic regression after steps by single samples, one after the other.

    Parameters
    ----------
    X : array_like of shape (n, k), float32 or float64
        A row for each sample. Rows side by side in memory are read where they lie; others are copied together first.
    y : array_like of shape (n,)
        Labels, 0 or 1, of the dtype of ``X``.
    weights : array_like of shape (k,) or (k + 1,)
        Where to start, of the same dtype; one more than there are features is the intercept's.
    order : array_like of int32
        The sample of each step, from 0 to n - 1; several times round are one array. Numbers that lie on a device are
        not checked.
    rate : float or array_like of shape (r,)
        How far steps go. Several are for as many stretches of ``order``, all equally long: for each time round, or for
        each step.
    keep : float or array_like of shape (r,), default 1.0
        The part of the coefficients, not of the intercept, that a step keeps: ``1 - rate * penalty``.
    sample_weight : array_like of shape (n,), optional
        What each sample counts, of the dtype of ``X``; by default 1.
    threads_per_datapoint, datapoints_per_block : int, optional
        Of "gram": work-items for each sample of a run, and samples of a run, up to 32, powers of two. Their product, up
        to 1024, is the group, which has 32 at least. By default what holds a run in registers.
    device : str or Device, optional
        Where to compute, for host arrays.
    variant : str, optional
        The kernel to use, instead of the best one.

    Returns
    -------
    array of the shape of ``weights``
        After ``w = keep*w - rate*s*(sigmoid(x @ w + b) - y)*x`` for each sample in order, and of the intercept ``b``
        the same with 1 for ``keep`` and ``x``. It is on the device if ``X`` is, and the same from run to run.

    Raises
    ------
    ArgumentError, ArrayError, DtypeError, ShapeError, DeviceMismatchError
        Arguments that do not fit.
    NoVariantError
        No kernel, or not the one asked for, can run the call.

    Notes
    -----
    A step changes the scores of the samples behind it by its error times their products with its own sample. "gram"
    computes these products for all runs of samples at once, their Gram matrices, and the scores of a run together; what
    is left to do one after the other is an exponential for each sample. The steps are those of single samples all the
    same, up to rounding.

    Source: H. Robbins and S. Monro, "A Stochastic Approximation Method", 1951.

    Examples
    --------
    >>> import numpy as np
    >>> from gpuprims.primitives.sgd import logistic_sgd
    >>> X, y = np.array([[1.0, 2.0], [3.0, -1.0]]), np.array([1.0, 0.0])
    >>> logistic_sgd(X, y, np.zeros(2), np.int32([0, 0]), rate=0.5, device="reference").round(3)
    array([0.361, 0.723])
    """
    request = as_request(threads_per_datapoint, datapoints_per_block)
    arrays = (X, y, weights) if sample_weight is None else (X, y, weights, sample_weight)
    return run_steps("sgd", plan_call, request, arrays, order, rate, keep, device, variant)
