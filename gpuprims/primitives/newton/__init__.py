"""newton: many logistic regressions at once, each fitted by one group in one launch."""

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
from gpuprims.primitives.newton.arrays import check_batch
from gpuprims.primitives.newton.ends import ENDS
from gpuprims.primitives.newton.plan import NewtonRequest, plan_call, sample
from gpuprims.primitives.newton.variants import VARIANTS
from gpuprims.primitives.rows import side_by_side

__all__ = ["ENDS", "PRIMITIVE", "able_to_fit", "logistic_newton"]

PRIMITIVE = Primitive("newton", VARIANTS, plan_call, sample, tuning_case=f"{__name__}.tuning_case", tuned=False)


def logistic_newton(
    X: Any,
    y: Any,
    C: Any = 1.0,
    *,
    offsets: Any = None,
    sample_weight: Any = None,
    fit_intercept: bool = True,
    tol: float = 1e-4,
    max_iter: int = 100,
    device: str | Device | None = None,
    variant: str | None = None,
    label: str = "newton",
) -> tuple[Any, Any, Any]:
    """Fit many binary logistic regressions by Newton's method, all iterations in one launch.

    Parameters
    ----------
    X : array_like of float32 or float64, of shape (B, n, k) or (n, k)
        Samples of B problems, or those that all problems share; with ``offsets`` those of all problems, one after the
        other.
    y : array_like of shape (B, n) or (n,)
        Labels, 0 or 1, of bool, an integer dtype or that of ``X``; with ``offsets`` of shape (n,).
    C : float or array_like of shape (B,), default 1.0
        Inverse of the penalty, as in scikit-learn; ``inf`` for no penalty. Intercepts have none.
    offsets : array_like of int64, of shape (B + 1,), optional
        The first row of each problem, then the number of rows.
    sample_weight : array_like of shape (B, n) or (n,), optional
        Of the dtype of ``X``.
    fit_intercept : bool, default True
        Fit a last weight, added to each score.
    tol : float, default 1e-4
        End a problem when a step changes no combination of weights by more than so many of its standard errors; that
        step is the last one. For a summed loss below 1, by more than so many times the loss's square root.
    max_iter : int, default 100
        The most iterations.
    device : str or Device, optional
        Where to compute, for host arrays.
    variant : str, optional
        The kernel to use, instead of the best one.
    label : str, default "newton"
        The call that messages name.

    Returns
    -------
    weights : array of shape (B, 2, k) or (B, 2, k + 1)
        Weights of each problem, then their standard errors; the intercept's are last. float64, or float32 on devices
        without float64. NaN where there is no fit; so is the error of a weight that the samples do not decide.
    losses : array of shape (B,)
        The summed log loss plus the penalty, at the last point before the last step.
    ends : array of int32, of shape (B, 2)
        The number in ``ENDS`` of why each problem ended, and its iterations.

    Raises
    ------
    ArrayError, DtypeError, ShapeError, DeviceMismatchError, ArgumentError
        Arguments that do not fit.
    NoVariantError
        No kernel can run the call, or the requested one cannot: the sums of a problem must fit in local memory.

    Notes
    -----
    Features are centred and scaled in the kernel, so that float32 suffices for features of any size far from zero. A
    step is halved while it raises the loss. Sums over all rows are float64 where the device has it. Source:
    P. McCullagh and J. A. Nelder, "Generalized Linear Models", 1989.

    Examples
    --------
    >>> import numpy as np
    >>> from gpuprims.primitives.newton import logistic_newton
    >>> X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> y = np.array([[0, 0, 1, 1], [0, 1, 0, 1]])
    >>> weights, losses, ends = logistic_newton(X, y, device="reference")
    >>> weights[:, 0].round(3).tolist()
    [[1.007, 0.0], [0.291, 0.0]]
    """
    if not tol >= 0:
        raise ArgumentError(f"{label}: tol, a number of 0 or more; got {quoted(tol)}")
    if operator.index(max_iter) < 1:
        raise ArgumentError(f"{label}: max_iter, one or more; got {quoted(max_iter)}")
    given = tuple(one for one in (X, y, sample_weight) if one is not None)
    operands = as_operands(label, given, device)
    problems, penalties, rows = check_batch(label, operands.natives, C, offsets, weighted=sample_weight is not None)
    settings = np.concatenate([[tol], penalties]).astype(operands.natives[0].dtype)
    more = [settings] if rows is None else [settings, rows]
    if not operands.on_host:
        more = [operands.device.asarray(one) for one in more]
    operands = side_by_side(operands)
    samples, labels, *weights = operands.natives
    operands = operands.instead(samples, labels, more[0], *weights, *more[1:])
    request = NewtonRequest(problems, max_iter, bool(fit_intercept), bool(weights), rows is not None)
    found: tuple[Any, Any, Any] = find_plan(plan_call, operands, request, None, asked_by_name("newton", variant)).run(
        operands, None
    )
    return found


def able_to_fit(device: Device, dtype: np.dtype[Any], rows: int, columns: int) -> bool:
    """Return True if a kernel fits problems with ``columns`` weights, the intercept included."""
    call = CallTraits((dtype,), rows, columns, value_bytes=dtype.itemsize)
    return device.explain("newton", call).chosen is not None
