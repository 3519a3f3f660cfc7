"""The objective of logistic regression of samples in parts: losses and gradients of the parts are added on the host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gpuprims.distributed.passes import Each, Hessian, LossGradient, Moments, Pass
from gpuprims.errors import ShapeError
from gpuprims.models.logreg.objective import Objective


class Form(NamedTuple):
    """What the objectives of all parts share."""

    dtype: np.dtype[Any]
    features: int
    outputs: int
    fit_intercept: bool
    fp64: bool  # every device computes in float64


def form_of_all(forms: Sequence[Form]) -> Form:
    """Return the form of the objectives of all processes."""
    widths = sorted({form.features for form in forms})
    if len(widths) > 1:
        raise ShapeError(f"LogReg: samples of as many features; got {' and '.join(map(str, widths))}")
    dtype = np.result_type(*(form.dtype for form in forms))
    return forms[0]._replace(dtype=dtype, fp64=all(form.fp64 for form in forms))


class SummedObjective(Objective):
    """The objective of all parts together, for the solvers of LogReg.

    For a point of a solver, each part computes its loss and its gradient, whose numbers, one more than there are
    weights, are added on the host in float64 and in the order of the parts. The solver runs on the host, so no device
    needs the sums.
    """

    in_parts = True

    def __init__(self, each: Each, form: Form, total: float, penalty: float, *, wide: bool = False) -> None:
        self._each, self._form, self._wide = each, form, wide
        self.dtype = np.dtype(np.float64) if wide else form.dtype
        self.features, self.outputs, self.fit_intercept = form.features, form.outputs, form.fit_intercept
        self.penalty, self.total = penalty, total

    def loss_gradient(self, flat: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the objective and its gradient."""
        loss, slopes = self._joined(LossGradient(self._wide, flat))
        return self.penalised_mean(loss, slopes, flat)

    def hessian(self, flat: np.ndarray) -> np.ndarray:
        """Return the Hessian."""
        whole: np.ndarray = self._joined(Hessian(self._wide, flat)) / self.total
        whole[np.diag_indices(self.size)] += self.penalty * self.penalised
        return whole

    def mean_and_deviation(self) -> tuple[np.ndarray, np.ndarray]:
        """Return each feature's weighted mean and standard deviation."""
        _, mean, deviation = self._joined(Moments(self._wide))
        return mean, deviation

    def as_float64(self) -> Objective | None:
        """Return the same objective in float64; None if a device has no float64."""
        if self.dtype == np.float64:
            return self
        return SummedObjective(self._each, self._form, self.total, self.penalty, wide=True) if self._form.fp64 else None

    def _joined(self, work: Pass) -> Any:
        return work.join(self._each(work))
