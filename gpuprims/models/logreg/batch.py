"""LogRegBatch: many logistic regressions in one call, with scikit-learn's interface."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.special import erfc
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval

from gpuprims.core.device import Device
from gpuprims.errors import ArgumentError
from gpuprims.models.checks import CheckedParameters, check_fitted, named_parameters
from gpuprims.models.logreg.batch_arrays import Batch, batch_of, predicted_scores
from gpuprims.models.logreg.large_batch import Tolerances, fit_large
from gpuprims.primitives.logistic.labelled import sigmoid
from gpuprims.primitives.map import map as map_elements
from gpuprims.primitives.newton import ENDS, able_to_fit, logistic_newton

_LABEL = "LogRegBatch"
# Rules by the ends of problems with invalid samples, and what to do about them.
_INVALID = {
    "bad_feature": ("finite features", "NaN or infinity", "impute them first"),
    "bad_label": ("labels 0 and 1, or bools", "other ones", "compare with a class, such as y == 1"),
    "bad_weight": ("sample_weight= of finite numbers that are not negative", "other ones", "0 leaves a sample out"),
}
# Warnings by the ends of problems.
_WARNINGS = {
    "one_class": "labels of both classes with positive weights; got one class in {where}, which have no fit and NaN for"
    " weights",
    "separable": "classes that overlap if C is inf; got classes that a plane separates in {where}, whose weights grow"
    " without bound (set a finite C)",
    "max_iter": "fits that end within max_iter={max_iter} iterations; got more in {where} (raise max_iter)",
    "stalled": "a loss within 1e-6 of the minimum; got one that rounding may keep further away in {where} (pass float64"
    " to a device that supports it)",
}
# Problems that a message names.
_NAMED = 5


class Inference(NamedTuple):
    """Wald statistics of each problem's coefficients, of shape (n_problems, n_features), and of its intercept.

    ``standard_errors`` are the square roots of the diagonal of the inverse Hessian at the optimum, ``z`` is the
    coefficients divided by them, and ``p_values`` are the two-sided probabilities of ``z`` in a normal distribution.
    """

    standard_errors: np.ndarray
    z: np.ndarray
    p_values: np.ndarray
    intercept_standard_errors: np.ndarray
    intercept_z: np.ndarray
    intercept_p_values: np.ndarray


@named_parameters
@dataclass(eq=False, repr=False)  # scikit-learn has its own
class LogRegBatch(CheckedParameters, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Many independent logistic regressions of two classes, fitted in one launch or side by side.

    Parameters
    ----------
    device : str or Device, optional
        Where to compute, such as ``"cuda"`` or ``"opencl:cpu"``. Default: where the samples are, or the best device.
    C : float or array_like of shape (n_problems,), default 1.0
        Inverse of the penalty of all problems, or of each. The objective of a problem is the sum of log losses plus
        ``1 / (2 * C)`` times the sum of squared coefficients. ``inf`` is no penalty. Intercepts have none.
    fit_intercept : bool, default True
        Add a constant to the scores.
    max_iter : int, default 100
        Maximum number of iterations: Newton's, or those of L-BFGS and Newton's for problems fitted side by side.
    tol : float, default 1e-4
        End a problem after the first step that changes no combination of weights by more than ``tol`` of its standard
        errors. The weights are then about ``tol**2`` standard errors from the optimum. For a summed loss below 1, the
        step is at most ``tol`` times the square root of the loss.

    Attributes
    ----------
    coef_ : ndarray of shape (n_problems, n_features)
        In float64, as all numbers below; in the precision of the device.
    intercept_ : ndarray of shape (n_problems,)
    loss_ : ndarray of shape (n_problems,)
        The objective.
    inference_ : Inference
        ``standard_errors``, ``z`` and ``p_values`` of coefficients, and the same of intercepts with the prefix
        ``intercept_``. With a penalty they are those of the penalised fit, which shrinks errors and coefficients alike;
        for tests of hypotheses use ``C=inf``. They are NaN for coefficients that the samples do not determine, such as
        those of constant features without a penalty, which are 0.
    n_iter_ : ndarray of shape (n_problems,)
    stop_reason_ : ndarray of str, of shape (n_problems,)
        "tolerance"; "rounding" if the dtype allows no further progress and the loss is within 1e-6 of the minimum,
        "stalled" if it may be further away; "max_iter"; "separable" for separable classes without a penalty;
        "one_class" for labels of one class.
    converged_ : ndarray of bool, of shape (n_problems,)
        True for "tolerance" and "rounding".
    classes_ : ndarray of shape (2,)
        0 and 1, in the dtype of ``y``.
    n_features_in_ : int

    Notes
    -----
    A problem with labels of one class has no fit: its weights, loss and predictions are NaN, and a ConvergenceWarning
    names it. The other problems are fitted.

    A work-group fits a problem, in float32 for float32 samples, with sums in float64 if the device supports it.
    Features are centred and scaled on the device. Problems that are too large for local memory, from some 90 features
    on with NVIDIA's GPUs, are fitted side by side by products of matrices if they share the samples and the device has
    such products, else one after the other.

    Examples
    --------
    >>> import numpy as np
    >>> from gpuprims.models import LogRegBatch
    >>> X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> y = np.array([[0, 0, 1, 1], [0, 1, 0, 1]]).T  # a target in each column
    >>> model = LogRegBatch(device="reference").fit(X, y)
    >>> model.coef_.round(3).tolist()
    [[1.007], [0.291]]
    >>> model.inference_.z.round(2).tolist()
    [[1.5], [0.53]]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "device": [str, Device, None],
        "C": [Interval(Real, 0, None, closed="right"), "array-like"],
        "fit_intercept": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    device: str | Device | None = None
    _: KW_ONLY
    C: Any = 1.0
    fit_intercept: bool = True
    max_iter: int = 100
    tol: float = 1e-4

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, offsets: Any = None) -> Self:
        """Fit the models.

        Parameters
        ----------
        X : array_like of shape (n_problems, n_samples, n_features) or (n_samples, n_features)
            The samples of each problem, or samples that all problems share; with ``offsets``, those of each problem one
            after the other. On the host or a device.
        y : array_like of shape (n_problems, n_samples), (n_samples, n_problems) or (n_samples,)
            Labels 0 and 1, or bools: a row for each problem for samples of three dimensions, a column for each problem
            for shared samples, or labels that all problems share; with ``offsets`` those of all problems.
        sample_weight : array_like, optional
            In the shape of ``y``, or (n_samples,). By default, 1 for each sample.
        offsets : array_like of shape (n_problems + 1,), optional
            The first sample of each problem, then the number of samples, for problems of different sizes.

        Returns
        -------
        self

        Raises
        ------
        ArgumentError
            NaN or infinity in ``X``, labels other than 0 and 1, negative weights; the message names the problems.
        ShapeError
            Numbers of problems or samples that differ.

        Examples
        --------
        >>> import numpy as np
        >>> from gpuprims.models import LogRegBatch
        >>> X, y = np.array([[-1.0], [1.0], [2.0], [-3.0], [1.0]]), [0, 1, 0, 1, 0]
        >>> LogRegBatch("reference", C=[1, 10]).fit(X, y, offsets=[0, 3, 5]).coef_.shape
        (2, 1)
        """
        self._validate_params()
        batch = batch_of(self, X, y, sample_weight, offsets)
        intercept, limits = bool(self.fit_intercept), Tolerances(float(self.tol), int(self.max_iter))
        found: Any
        if able_to_fit(batch.device, batch.arrays[0].dtype, batch.arrays[0].shape[-2], batch.features + intercept):
            found = logistic_newton(
                *batch.arrays,
                C=batch.C,
                offsets=batch.offsets,
                sample_weight=batch.weights,
                fit_intercept=intercept,
                tol=limits.tol,
                max_iter=limits.max_iter,
                device=self.device,
                label=_LABEL,
            )
        else:
            found = fit_large(_LABEL, batch, fit_intercept=intercept, tolerances=limits)
        self._store(batch, *(batch.to_host(one) for one in found))
        return self

    def decision_function(self, X: Any, *, offsets: Any = None) -> Any:
        """Return the scores of each sample.

        Parameters
        ----------
        X, offsets
            As for :meth:`fit`. Samples of two dimensions without offsets are scored by every model.

        Returns
        -------
        array
            Of shape (n_problems, n_samples) for samples of three dimensions, else (n_samples, n_problems); with
            ``offsets`` of shape (n_samples,).
        """
        check_fitted(self)
        return predicted_scores(self, X, offsets, lambda z, _: z)

    def predict_proba(self, X: Any, *, offsets: Any = None) -> Any:
        """Return the probability of class 1, in the shape of :meth:`decision_function`."""
        check_fitted(self)
        return predicted_scores(self, X, offsets, lambda z, device: map_elements(sigmoid, z, device=device))

    def predict(self, X: Any, *, offsets: Any = None) -> Any:
        """Return the more probable class, in the shape of :meth:`decision_function`; 0 for problems without a fit."""
        check_fitted(self)
        none, one = self.classes_

        def of_scores(z: Any, device: Device) -> Any:
            return map_elements(lambda s: np.where(s > 0, one, none), z, device=device)

        return predicted_scores(self, X, offsets, of_scores)

    def _store(self, batch: Batch, weights: np.ndarray, losses: np.ndarray, ends: np.ndarray) -> None:
        """Set the fitted attributes; raise for invalid samples, and warn of fits that did not converge."""
        reasons = np.array(ENDS)[ends[:, 0]]
        for end, (rule, got, hint) in _INVALID.items():
            if len(found := np.flatnonzero(reasons == end)):
                raise ArgumentError(f"{_LABEL}: {rule}; got {got} in {_named(found)} ({hint})")
        weights, k = weights.astype(np.float64), batch.features
        self.coef_, errors = weights[:, 0, :k], weights[:, 1]
        self.intercept_ = weights[:, 0, k] if self.fit_intercept else np.where(np.isnan(self.coef_[:, 0]), np.nan, 0.0)
        own = errors[:, k] if self.fit_intercept else np.full(len(errors), np.nan)
        self.inference_ = Inference(*_wald(self.coef_, errors[:, :k]), *_wald(self.intercept_, own))
        self.loss_, self.n_iter_ = losses.astype(np.float64), ends[:, 1].astype(np.int64)
        self.stop_reason_, self.converged_ = reasons, np.isin(reasons, ("tolerance", "rounding"))
        self.classes_, self.n_features_in_ = np.array([0, 1], batch.label_dtype), k
        for end, message in _WARNINGS.items():
            if len(found := np.flatnonzero(reasons == end)):
                told = message.format(where=_named(found), max_iter=self.max_iter)
                warnings.warn(f"{_LABEL}: {told}", ConvergenceWarning, stacklevel=3)


def _wald(weights: np.ndarray, errors: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return standard errors, z and two-sided p values."""
    z = weights / errors
    return errors, z, erfc(np.abs(z) / np.sqrt(2))


def _named(problems: np.ndarray) -> str:
    """Return the numbers of some problems for a message."""
    shown = ", ".join(map(str, problems[:_NAMED].tolist()))
    more = f" and {len(problems) - _NAMED} more" if len(problems) > _NAMED else ""
    return f"problem{'s' if len(problems) > 1 else ''} {shown}{more}"
