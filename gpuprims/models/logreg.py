"""LogReg: logistic regression with scikit-learn's interface, on any device."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Integral, Real
from os import PathLike
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from gpuprims.arrays import Operands
from gpuprims.device import Device
from gpuprims.errors import ArgumentError
from gpuprims.models.files import read_model, write_model
from gpuprims.models.objective import Objective, Weights, scores_of
from gpuprims.models.samples import Samples, features_of, samples_of
from gpuprims.models.solvers import SOLVERS, Settings
from gpuprims.models.watch import Progress, Watch
from gpuprims.pictures import loss_curve
from gpuprims.primitives.map import map as map_elements
from gpuprims.primitives.reduce import reduce

# What is said of fits that ended before they were done.
_ENDS = {
    "max_iter": "the gradient below tol={tol} within max_iter={max_iter} iterations; got none (standardise the"
    " features, or raise max_iter)",
    "diverged": "a learning_rate at which the loss falls; got learning_rate={learning_rate}, by which it grew beyond"
    ' all numbers (the last finite weights are kept; lower it, or leave it "auto")',
    "interrupted": "iterations until tol={tol}; got an interrupt (the weights so far are kept)",
}


class LogReg(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Logistic regression of two classes or more, on any device.

    Parameters
    ----------
    backend : str or Device, optional
        Where to compute: ``"cuda"``, ``"opencl:cpu"``, ...; by default where the samples lie, or the best device there
        is.
    device : str or Device, optional
        The same under the name that functions have; one of both at most.
    C : float, default 1.0
        The inverse of the penalty's weight: the objective is the sum of the samples' log losses, and ``1 / (2 * C)``
        times the sum of the squared coefficients. Intercepts are free of it.
    solver : {"lbfgs", "newton-cholesky", "gd"}, default "lbfgs"
        "lbfgs" for most, "newton-cholesky" for many samples of few features; "gd" walks down the gradient with a fixed
        step, as the articles on the subject do.
    learning_rate : float or "auto", default "auto"
        Of "gd", the step: ``weights += learning_rate * X.T @ (labels - sigmoid(X @ weights))``. "auto" takes the
        inverse of the steepest that the gradient can grow.
    max_iter : int, default 100
        Iterations at most.
    tol : float, default 1e-4
        Stop when no component of the gradient, per sample, is larger. "gd" looks every 32 iterations.
    fit_intercept : bool, default True
        Whether to add a constant to the scores.
    class_weight : dict or "balanced", optional
        What samples of each class count, times their own weight; "balanced": inversely to how many there are.
    threshold : float, default 0.5
        Of two classes, the probability of the second above which it is predicted.
    target_error : float, optional
        Stop when the error on held-out samples is no larger.
    validation_fraction : float, default 0.1
        The part of the samples that is held out when there is a ``target_error``.
    warm_start : bool, default False
        Whether to start from the weights of the fit before.
    random_state : int, RandomState instance or None, default None
        Which samples are held out.
    callback : callable, optional
        Called after each iteration, of "gd" after each look, with an object that has ``iteration``, ``loss``, ``coef``
        and ``intercept``; returns True to stop.
    verbose : bool, default False
        Show a progress bar, with the loss.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
    intercept_ : ndarray of shape (1,) or (n_classes,)
    loss_curve_ : list of float
        The objective per unit of sample weight after each iteration, of "gd" before each.
    validation_errors_ : list of float
        The errors on held-out samples, where there are any.
    n_iter_ : int
    stop_reason_ : str
        "tolerance", "max_iter", "target_error", "callback" or "interrupted"; "rounding" where the dtype's precision
        allows no further step; "diverged".
    n_features_in_ : int

    Notes
    -----
    float32 samples are computed with in float32, all others in float64. Samples that lie on a device, as CuPy's,
    pyopencl's or torch's, stay there, and so do scores and probabilities of such; weights and predicted classes are the
    host's. An interrupt (Ctrl-C) while it fits ends the fit, with a warning, and leaves the weights so far.

    Examples
    --------
    >>> import numpy as np
    >>> from gpuprims.models import LogReg
    >>> X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> model = LogReg(backend="reference").fit(X, ["no", "no", "yes", "yes"])
    >>> model.predict([[-3.0], [3.0]]).tolist()
    ['no', 'yes']
    >>> model.stop_reason_
    'tolerance'
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 - scikit-learn's name and form
        "backend": [str, Device, None],
        "device": [str, Device, None],
        "C": [Interval(Real, 0, None, closed="right")],
        "solver": [StrOptions(set(SOLVERS))],
        "learning_rate": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "fit_intercept": ["boolean"],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "threshold": [Interval(Real, 0, 1, closed="neither")],
        "target_error": [Interval(Real, 0, 1, closed="both"), None],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
        "callback": [callable, None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        backend: str | Device | None = None,
        *,
        device: str | Device | None = None,
        C: float = 1.0,
        solver: str = "lbfgs",
        learning_rate: float | str = "auto",
        max_iter: int = 100,
        tol: float = 1e-4,
        fit_intercept: bool = True,
        class_weight: Any = None,
        threshold: float = 0.5,
        target_error: float | None = None,
        validation_fraction: float = 0.1,
        warm_start: bool = False,
        random_state: Any = None,
        callback: Callable[[Progress], Any] | None = None,
        verbose: bool = False,
    ) -> None:
        self.backend = backend
        self.device = device
        self.C = C
        self.solver = solver
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.threshold = threshold
        self.target_error = target_error
        self.validation_fraction = validation_fraction
        self.warm_start = warm_start
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from labelled samples.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Of the host, or on a device.
        y : array_like of shape (n_samples,)
            Labels of two classes or more, of any kind.
        sample_weight : array_like of shape (n_samples,), optional
            What each sample counts, by default 1.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            NaN or infinity in ``X``, one class, negative weights.
        DeviceMismatchError
            Samples on another device than the one asked for.
        """
        self._validate_params()
        before = self._weights_before()
        samples, held_out = self._samples(X, y, sample_weight)
        outputs = 1 if len(self.classes_) == 2 else len(self.classes_)
        objective = Objective(samples, outputs, 1 / (self.C * samples.total), fit_intercept=bool(self.fit_intercept))
        start = np.zeros(objective.size)
        if before is not None and before[0].shape == (outputs, objective.features):
            start = objective.join(*before)
        self._solve(objective, start, held_out)
        return self

    def decision_function(self, X: Any) -> Any:
        """Return the scores ``X @ coef.T + intercept``.

        Of two classes, those of the second, of shape (n_samples,); else of each class, (n_samples, n_classes).
        """
        operands, scores = self._scores(X)
        return _as_given(operands, scores.reshape(-1) if scores.shape[1] == 1 else scores)

    def predict_proba(self, X: Any) -> Any:
        """Return the probability of each class, of shape (n_samples, n_classes)."""
        operands, scores = self._scores(X)
        device = operands.device
        if scores.shape[1] == 1:
            sign = device.asarray(np.array([[-1, 1]], scores.dtype))
            return _as_given(operands, map_elements(_of_sign, scores, sign, device=device))
        largest = reduce(scores, op="max", axis=1, keepdims=True, device=device)
        total = reduce(scores, largest, map="exp(z - m)", axis=1, keepdims=True, device=device)
        return _as_given(operands, map_elements("exp(z - m) / t", scores, largest, total, device=device))

    def predict_log_proba(self, X: Any) -> Any:
        """Return the logarithm of the probability of each class, of shape (n_samples, n_classes)."""
        operands, scores = self._scores(X)
        device = operands.device
        if scores.shape[1] == 1:
            sign = device.asarray(np.array([[-1, 1]], scores.dtype))
            return _as_given(operands, map_elements(_log_of_sign, scores, sign, device=device))
        largest = reduce(scores, op="max", axis=1, keepdims=True, device=device)
        total = reduce(scores, largest, map="exp(z - m)", axis=1, keepdims=True, device=device)
        return _as_given(operands, map_elements("z - m - log(t)", scores, largest, total, device=device))

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of each sample, of shape (n_samples,): the likelier, or by ``threshold``."""
        operands, scores = self._scores(X)
        if scores.shape[1] == 1:
            edge = np.log(self.threshold / (1 - self.threshold))
            numbers = (operands.device.to_host(scores)[:, 0] > edge).astype(np.intp)
        else:
            numbers = operands.device.to_host(reduce(scores, op="argmax", axis=1, device=operands.device))
        chosen: np.ndarray = self.classes_[numbers]
        return chosen

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to a file, ``.npz`` and without pickle.

        Raises
        ------
        ArgumentError
            Classes that are neither numbers nor strings.
        """
        check_is_fitted(self)
        write_model(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str], *, backend: str | Device | None = None) -> Self:
        """Return a model that :meth:`save` wrote, to compute where ``backend`` says.

        Raises
        ------
        ArgumentError
            A file that is none.
        """
        return read_model(cls, path, backend)

    def plot_loss(self, ax: Any = None) -> Any:
        """Draw ``loss_curve_`` by matplotlib, and return the axes."""
        check_is_fitted(self)
        return loss_curve(self.loss_curve_, f"LogReg, {self.solver}: {self.stop_reason_}", ax)

    def _asked(self) -> str | Device | None:
        if self.backend is not None and self.device is not None:
            raise ArgumentError(f"LogReg: backend= or device=; got both, {self.backend!r} and {self.device!r}")
        return self.backend if self.device is None else self.device

    def _weights_before(self) -> tuple[np.ndarray, np.ndarray] | None:
        return (self.coef_, self.intercept_) if self.warm_start and hasattr(self, "coef_") else None

    def _samples(self, X: Any, y: Any, sample_weight: Any) -> tuple[Samples, tuple[Any, np.ndarray] | None]:
        """Return samples to learn from, and those held out, with the numbers of their classes."""
        if self.target_error is None:
            return samples_of(self, X, y, sample_weight, self._asked()), None
        samples = samples_of(self, X, y, sample_weight, self._asked())
        device, count = samples.device, len(samples.features)
        codes, weights = (device.to_host(part) for part in (samples.codes, samples.weights))
        learned, kept = train_test_split(
            np.arange(count),
            test_size=self.validation_fraction,
            random_state=check_random_state(self.random_state),
            stratify=codes,
        )
        host = device.to_host(samples.features)
        parts = [device.asarray(np.ascontiguousarray(part[learned])) for part in (host, codes, weights)]
        held_out = device.asarray(np.ascontiguousarray(host[kept]))
        return Samples(device, parts[0], parts[1], parts[2], float(weights[learned].sum())), (held_out, codes[kept])

    def _solve(self, objective: Objective, start: np.ndarray, held_out: tuple[Any, np.ndarray] | None) -> None:
        def error(flat: np.ndarray) -> float:
            features, codes = held_out or (None, None)
            scores = objective.device.to_host(scores_of(objective.device, features, objective.bring(flat)))
            numbers = scores[:, 0] > 0 if objective.outputs == 1 else scores.argmax(axis=1)
            return float(np.mean(numbers != codes))

        with self._bar() as bar:
            watch = Watch(
                objective.split, start, callback=self.callback, bar=bar,
                error=error if held_out else None, target=self.target_error,
            )  # fmt: skip
            rate = self.learning_rate if self.learning_rate == "auto" else float(self.learning_rate)
            settings = Settings(int(self.max_iter), float(self.tol), rate)
            try:
                self.stop_reason_ = SOLVERS[self.solver](objective, start, settings, watch)
            except KeyboardInterrupt:
                self.stop_reason_ = "interrupted"
        coefficients, intercepts = objective.split(watch.weights)
        self.coef_ = np.array(coefficients, objective.dtype)
        self.intercept_ = np.array(intercepts, objective.dtype)
        self.loss_curve_, self.validation_errors_ = watch.losses, watch.errors
        self.n_iter_ = len(watch.losses)
        if self.stop_reason_ in _ENDS:
            said = _ENDS[self.stop_reason_].format(**self.get_params())
            warnings.warn(f"LogReg: {said}", ConvergenceWarning, stacklevel=3)

    def _scores(self, X: Any) -> tuple[Operands, Any]:
        """Return scores of shape (n_samples, outputs), on the device."""
        check_is_fitted(self)
        operands = features_of(self, X, self._asked(), reset=False)
        device, array = operands.device, operands.natives[0]
        features = device.asarray(array) if operands.on_host else array
        weights = Weights(device.asarray(self.coef_), device.asarray(self.intercept_))
        return operands, scores_of(device, features, weights)

    def _bar(self) -> Any:
        from tqdm import tqdm

        return tqdm(total=self.max_iter, desc="LogReg", unit="it", disable=not self.verbose)


def _as_given(operands: Operands, result: Any) -> Any:
    """Return a result from the device where, and as, the samples came."""
    return operands.device.to_host(result) if operands.on_host else operands.finish(result)


def _of_sign(z: Any, sign: Any) -> Any:
    """Return ``1 / (1 + exp(-sign * z))``, written so that nothing overflows."""
    small = np.exp(-np.abs(z))
    return np.where(sign * z >= 0, 1, small) / (1 + small)


def _log_of_sign(z: Any, sign: Any) -> Any:
    return np.minimum(sign * z, 0) - np.log1p(np.exp(-np.abs(z)))
