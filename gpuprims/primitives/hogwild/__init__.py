"""hogwild: logistic regression by stochastic gradient descent, many workers at once, without locks."""

from __future__ import annotations

from typing import Any

from gpuprims.core.device import Device
from gpuprims.core.primitive import Primitive
from gpuprims.primitives.hogwild.plan import as_request, plan_call, sample
from gpuprims.primitives.hogwild.variants import VARIANTS
from gpuprims.primitives.sgd.steps import run_steps

PRIMITIVE = Primitive("hogwild", VARIANTS, plan_call, sample, tuning_case=f"{__name__}.tuning_case", tuned=False)


def logistic_hogwild(
    X: Any,
    y: Any,
    weights: Any,
    order: Any,
    *,
    rate: Any,
    keep: Any = 1.0,
    sample_weight: Any = None,
    threads_per_datapoint: int | None = None,
    workers: int | None = None,
    device: str | Device | None = None,
    variant: str | None = None,
) -> Any:
    """Return the weights of binary logistic regression after steps by several samples at a time.

    Parameters
    ----------
    X, y, weights, order, rate, keep, sample_weight
        As for :func:`gpuprims.primitives.sgd.logistic_sgd`.
    threads_per_datapoint : int, optional
        Work-items that share a sample, a power of two. By default 32 on GPUs, one on CPUs.
    workers : int, optional
        Samples that the kernel works on at the same time. By default a few for each compute unit of a GPU and one for
        each of a CPU, at most one for 32 samples, because a worker reads weights that others are about to change. A
        single worker takes the steps of :func:`gpuprims.primitives.sgd.logistic_sgd`.
    device : str or Device, optional
        Where to compute, for host arrays.
    variant : str, optional
        The kernel to use, instead of the best one.

    Returns
    -------
    array of the shape of ``weights``
        The weights, on the device if ``X`` is. They **differ from run to run**: workers change them in any order.

    Raises
    ------
    ArgumentError, ArrayError, DtypeError, ShapeError, DeviceMismatchError
        Arguments that do not fit.
    NoVariantError
        No kernel can run the call, or the requested one cannot.

    Notes
    -----
    Each worker takes a sample in turn, reads the present weights, and adds its step to each weight by an atomic
    operation. Atomic operations are slow on CPUs, where :func:`gpuprims.primitives.sgd.logistic_sgd` is faster.

    The variant "racy" adds without atomic operations, as section 5.2 of "Hardware Accelerated Machine Learning via
    Parallel Programming on GPUs" (2017) suggests. It is **lossy**: when two workers change a weight at the same time,
    one of the changes is lost. It never runs unless it is asked for by name.

    Source: F. Niu, B. Recht, C. Re and S. Wright, "HOGWILD!: A Lock-Free Approach to Parallelizing Stochastic Gradient
    Descent", 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from gpuprims.primitives.hogwild import logistic_hogwild
    >>> X, y = np.array([[1.0, 2.0], [3.0, -1.0]]), np.array([1.0, 0.0])
    >>> logistic_hogwild(X, y, np.zeros(2), np.int32([0, 0]), rate=0.5, device="reference").round(3)
    array([0.361, 0.723])
    """
    request = as_request(threads_per_datapoint, workers)
    arrays = X, y, weights, sample_weight
    return run_steps("hogwild", plan_call, request, arrays, order, rate, keep, device, variant)
