"""sgd: logistic regression by stochastic gradient descent, one sample after the other."""

from __future__ import annotations

from typing import Any

from gpuprims.core.device import Device
from gpuprims.core.primitive import Primitive
from gpuprims.primitives.sgd.plan import as_request, plan_call, sample
from gpuprims.primitives.sgd.steps import run_steps
from gpuprims.primitives.sgd.variants import VARIANTS

PRIMITIVE = Primitive("sgd", VARIANTS, plan_call, sample, tuning_case=f"{__name__}.tuning_case", tuned=False)


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
        A row for each sample. Arrays that are not contiguous are copied first.
    y : array_like of shape (n,)
        Labels, 0 or 1, of the dtype of ``X``.
    weights : array_like of shape (k,) or (k + 1,)
        The initial weights, of the same dtype. If there is one more than features, the last is the intercept.
    order : array_like of int32
        The sample of each step, from 0 to n - 1, for all epochs in one array. Numbers on a device are not checked.
    rate : float or array_like of shape (r,)
        The learning rate. Several rates divide ``order`` into as many stretches of equal length, such as epochs.
    keep : float or array_like of shape (r,), default 1.0
        The factor of the coefficients in each step, ``1 - rate * penalty``. The intercept has no penalty.
    sample_weight : array_like of shape (n,), optional
        The weight of each sample, of the dtype of ``X``; by default 1.
    threads_per_datapoint, datapoints_per_block : int, optional
        Work-items for each sample, at most 1024, and samples of a group, at most 32; a group has their product of
        work-items, at most 1024. For "gram" the samples of a run, both powers of two, by default so that a run stays in
        registers; for "linear" and "warp_atomic" any numbers, by default 128 and 2.
    device : str or Device, optional
        Where to compute, for host arrays.
    variant : str, optional
        The kernel to use, instead of the best one.

    Returns
    -------
    array of the shape of ``weights``
        The weights after ``w = keep*w - rate*s*(sigmoid(x @ w + b) - y)*x`` for each sample in order. The intercept
        ``b`` changes likewise, with 1 for ``keep`` and ``x``. The result is on the device if ``X`` is. It is the same
        in every run, but for the variant "warp_atomic".

    Raises
    ------
    ArgumentError, ArrayError, DtypeError, ShapeError, DeviceMismatchError
        Arguments that do not fit.
    NoVariantError
        No kernel can run the call, or the requested one cannot.

    Notes
    -----
    A step changes the score of each later sample by its residual times the product of the two samples. "gram" first
    computes the products of all samples of a run, their Gram matrix, and then the scores of a run together. Only an
    exponential for each sample is left to compute in order. The steps are the same up to rounding.

    "linear" and "warp_atomic" are the kernels of a thesis, for calls that ask for them: a team of work-items multiplies
    a sample with the weights; then one work-item adds up the parts, or each warp folds its own and adds them to local
    memory by an atomic. Teams of a group take turns. Results of "warp_atomic" differ from run to run by rounding.

    Sources: H. Robbins and S. Monro, "A Stochastic Approximation Method", 1951; J. Selig, "Hardware Accelerated Machine
    Learning Via Parallel Programming on GPUs", 2017, section 3.3.2.

    Examples
    --------
    >>> import numpy as np
    >>> from gpuprims.primitives.sgd import logistic_sgd
    >>> X, y = np.array([[1.0, 2.0], [3.0, -1.0]]), np.array([1.0, 0.0])
    >>> logistic_sgd(X, y, np.zeros(2), np.int32([0, 0]), rate=0.5, device="reference").round(3)
    array([0.361, 0.723])
    """
    request = as_request(threads_per_datapoint, datapoints_per_block)
    arrays = X, y, weights, sample_weight
    return run_steps("sgd", plan_call, request, arrays, order, rate, keep, device, variant)
