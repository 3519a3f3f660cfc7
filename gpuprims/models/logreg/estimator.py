"""LogReg: logistic regression with scikit-learn's interface, on any device."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from gpuprims.core.device import Device
from gpuprims.expressions.masks import refuse_masked
from gpuprims.models.files import KeptInFiles
from gpuprims.models.logreg.objective import Objective
from gpuprims.models.logreg.prediction import LinearScores
from gpuprims.models.logreg.progress import Progress, Settings, Watch
from gpuprims.models.logreg.samples import Samples, samples_of
from gpuprims.models.logreg.solvers import BY_SAMPLES, SOLVERS, Rounds
from gpuprims.models.pictures import loss_curve

# What is said of fits that ended before they were done.
_ENDS = {
    "max_iter": "the gradient below tol={tol} within max_iter={max_iter} iterations; got none (standardise the"
    " features, or raise max_iter)",
    "stalled": "weights whose loss is within 1e-6 of the least loss; got some that rounding may keep further away"
    " (standardise the features, or pass them in float64 to a device that has it)",
    "diverged": "a learning_rate at which the loss falls; got learning_rate={learning_rate}, by which it grew beyond"
    ' all numbers (the last finite weights are kept; lower it, or leave it "auto")',
}


class LogReg(LinearScores, KeptInFiles, ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
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
    solver : {"lbfgs", "newton-cholesky", "gd", "minibatch", "sgd", "hogwild"}, default "lbfgs"
        "lbfgs" for most, "newton-cholesky" for many samples of few features; "gd" walks down the gradient with a fixed
        step, as the articles on the subject do, "minibatch" down those of runs of samples, one after the other. "sgd",
        of two classes, walks down those of single samples, exactly one after the other, and "hogwild" by several at the
        same time, without locks, so that its results differ from fit to fit.
    learning_rate : float or "auto", default "auto"
        Of "gd", the step: ``weights += learning_rate * X.T @ (labels - sigmoid(X @ weights))``, and of "minibatch" the
        same of a run, of "sgd" and "hogwild" of a sample. "auto" takes the inverse of the steepest that the gradient
        can grow, and but of "gd" divides it by the square root of the times round.
    batch_size : int, default 256
        Samples in a run, of "minibatch" and ``partial_fit``.
    max_iter : int, default 100
        Iterations at most; of "minibatch", "sgd" and "hogwild", times that each sample is seen.
    tol : float, default 1e-4
        Stop when no component of the gradient, per sample, is larger. "gd" looks when it has gone as far
        again as before, and every 16384 iterations.
    fit_intercept : bool, default True
        Whether to add a constant to the scores.
    feature_dtype : {"int8", "float16"}, optional
        In how few bits features are kept on the device, from -1 to 1 times a scale of each feature, while it fits; by
        default as they are. Not for sparse samples, nor for "sgd" and "hogwild".
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
        Which samples are held out, and in which order runs of them are taken.
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
        The objective per unit of sample weight after each iteration, of "gd" after each look.
    loss_iterations_ : list of int
        After how many iterations each of these was.
    validation_errors_ : list of float
        The errors on held-out samples, where there are any.
    n_iter_ : int
    stop_reason_ : str
        "tolerance", "max_iter", "target_error", "callback" or "interrupted"; "rounding" where the dtype's precision
        allows no further step and the loss is within 1e-6 of the least one; "stalled" where it may be further away;
        "diverged".
    n_features_in_ : int

    Notes
    -----
    Fits compute in float32 for float32 samples, and in float64 for all others. If rounding to float32 ends a fit by
    "lbfgs" or "newton-cholesky" early, as with features far from zero, the fit goes on in float64. If the loss may
    still be more than 1e-6 above the least one, a ConvergenceWarning says so.

    Samples on a device, such as CuPy's, pyopencl's or torch's, stay there. Their scores, probabilities and predicted
    classes are on that device too, except for classes that it cannot hold, such as strings. Weights are on the host.

    Ctrl-C during :meth:`fit` raises KeyboardInterrupt. The model then has the weights of the last iteration in
    ``loss_curve_``, and ``stop_reason_`` is "interrupted".

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
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "fit_intercept": ["boolean"],
        "feature_dtype": [StrOptions({"int8", "float16"}), None],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "threshold": [Interval(Real, 0, 1, closed="neither")],
        "target_error": [Interval(Real, 0, 1, closed="both"), None],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
        "callback": [callable, None],
        "verbose": ["verbose"],
    }

    classes_: np.ndarray
    coef_: np.ndarray
    intercept_: np.ndarray
    loss_curve_: list[float]
    loss_iterations_: list[int]
    validation_errors_: list[float]
    n_iter_: int
    stop_reason_: str

    def __init__(
        self,
        backend: str | Device | None = None,
        *,
        device: str | Device | None = None,
        C: float = 1.0,
        solver: str = "lbfgs",
        learning_rate: float | str = "auto",
        batch_size: int = 256,
        max_iter: int = 100,
        tol: float = 1e-4,
        fit_intercept: bool = True,
        feature_dtype: str | None = None,
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
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.feature_dtype = feature_dtype
        self.class_weight = class_weight
        self.threshold = threshold
        self.target_error = target_error
        self.validation_fraction = validation_fraction
        self.warm_start = warm_start
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that samples may be sparse."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from labelled samples.

        Parameters
        ----------
        X : array_like or SciPy sparse matrix of shape (n_samples, n_features)
            Of the host, or on a device. CSR matrices are computed with as they are, other sparse ones in that form.
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
            NaN or infinity in ``X``, one class, negative weights; a sparse matrix whose indices lead out of it; for a
            solver by single samples, more than two classes or a ``feature_dtype``.
        DeviceMismatchError
            Samples on another device than the one asked for.
        KeyboardInterrupt
            After Ctrl-C; the model keeps the weights so far.
        """
        self._validate_params()
        before = self._weights_before()
        samples, held_out = self._samples(X, y, sample_weight)
        self._check_solver()
        objective = self._objective(samples)
        start = np.zeros(objective.size)
        if before is not None and before[0].shape == (objective.outputs, objective.features):
            start = objective.join(*before)
        self._solve(objective, start, held_out)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Go once through some samples by steps of ``batch_size`` of them, from the weights so far.

        Parameters
        ----------
        X, y, sample_weight
            As for :meth:`fit`; the penalty is that of as many samples as here.
        classes : array_like, optional
            All there are, with the first call.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            No classes with the first call, or other ones with another; labels that are not among them.
        KeyboardInterrupt
            After Ctrl-C; the model keeps the weights of the call before.
        """
        self._validate_params()
        first = not hasattr(self, "coef_")
        self._meet(classes, first=first)
        samples = samples_of(self, X, y, sample_weight, self._asked(), reset=first, classes=self.classes_)
        objective = self._objective(samples)
        flat = np.zeros(objective.size) if first else objective.join(self.coef_, self.intercept_)
        seen = 0 if first else self.n_iter_
        rounds = Rounds(objective, self._settings())
        flat = objective.fetch(rounds.once(objective.bring(flat), seen))
        if not np.isfinite(flat).all():
            self._warn("diverged")
            return self
        loss = objective.loss_gradient(flat)[0]
        self._keep(objective, flat)
        self.n_iter_, self.stop_reason_ = seen + 1, "max_iter"
        self.loss_curve_ = [*([] if first else self.loss_curve_), loss]
        self.loss_iterations_ = [*([] if first else self.loss_iterations_), self.n_iter_]
        self.validation_errors_ = []
        return self

    def plot_loss(self, ax: Any = None) -> Any:
        """Draw ``loss_curve_`` by matplotlib, and return the axes."""
        check_is_fitted(self)
        return loss_curve(self.loss_iterations_, self.loss_curve_, f"LogReg, {self.solver}: {self.stop_reason_}", ax)

    def _weights_before(self) -> tuple[np.ndarray, np.ndarray] | None:
        return (self.coef_, self.intercept_) if self.warm_start and hasattr(self, "coef_") else None

    def _samples(self, X: Any, y: Any, sample_weight: Any) -> tuple[Samples, np.ndarray | None]:
        """Return all samples, and the numbers of those held out, which weigh nothing and stay where they are."""
        samples = samples_of(self, X, y, sample_weight, self._asked())
        if self.target_error is None:
            return samples, None
        _, held_out = train_test_split(
            np.arange(samples.size),
            test_size=self.validation_fraction,
            random_state=check_random_state(self.random_state),
            stratify=samples.device.to_host(samples.codes),
        )
        return samples.without(held_out), held_out

    def _check_solver(self) -> None:
        """Raise where a solver by single samples is not for these."""
        if self.solver not in BY_SAMPLES:
            return
        others = ", ".join(repr(name) for name in SOLVERS if name not in BY_SAMPLES)
        if len(self.classes_) > 2:
            rule, got = "two classes", f"{len(self.classes_)} (of more: {others})"
        elif self.feature_dtype is not None:
            rule, got = "features as they are", f"feature_dtype={self.feature_dtype!r} (in fewer bits: {others})"
        else:
            return
        raise ValueError(f"LogReg: solver={self.solver!r} for {rule}; got {got}")

    def _solve(self, objective: Objective, start: np.ndarray, held_out: np.ndarray | None) -> None:
        codes = None if held_out is None else objective.device.to_host(objective.samples.codes)[held_out]

        def error(flat: np.ndarray) -> float:
            scores = objective.device.to_host(objective.scores(objective.bring(flat)))[held_out]
            numbers = scores[:, 0] > 0 if objective.outputs == 1 else scores.argmax(axis=1)
            return float(np.mean(numbers != codes))

        with self._bar() as bar:
            watch = Watch(
                objective.split, start, callback=self.callback, bar=bar,
                error=None if held_out is None else error, target=self.target_error,
            )  # fmt: skip
            try:
                reason = SOLVERS[self.solver](objective, start, self._settings(), watch)
            except KeyboardInterrupt:
                self._take(objective, watch, "interrupted")
                raise
        self._take(objective, watch, reason)
        self._warn(reason)

    def _take(self, objective: Objective, watch: Watch, reason: str) -> None:
        """Set the fitted attributes from the last iteration."""
        self._keep(objective, watch.weights)
        self.loss_curve_, self.loss_iterations_, self.validation_errors_ = watch.losses, watch.iterations, watch.errors
        self.n_iter_, self.stop_reason_ = watch.done, reason

    def _settings(self) -> Settings:
        rate = None if isinstance(self.learning_rate, str) else float(self.learning_rate)
        random = check_random_state(self.random_state)
        return Settings(int(self.max_iter), float(self.tol), rate, int(self.batch_size), random)

    def _objective(self, samples: Samples) -> Objective:
        outputs = 1 if len(self.classes_) == 2 else len(self.classes_)
        penalty = 1 / (float(self.C) * samples.total)
        return Objective(samples, outputs, penalty, fit_intercept=bool(self.fit_intercept))

    def _keep(self, objective: Objective, flat: np.ndarray) -> None:
        coefficients, intercepts = objective.split(flat)
        self.coef_, self.intercept_ = (np.array(part, objective.dtype) for part in (coefficients, intercepts))

    def _warn(self, reason: str) -> None:
        if reason in _ENDS:
            said = _ENDS[reason].format(**self.get_params())
            warnings.warn(f"LogReg: {said}", ConvergenceWarning, stacklevel=4)

    def _meet(self, classes: Any, *, first: bool) -> None:
        """Take the classes of a partial fit, or see that they are still the same."""
        if first and classes is None:
            raise ValueError("LogReg.partial_fit: classes= with the first call; got none")
        refuse_masked("LogReg.partial_fit: classes=", classes)
        given = None if classes is None else np.unique(np.asarray(classes))
        if not first and given is not None and not np.array_equal(given, self.classes_):
            raise ValueError(f"LogReg.partial_fit: classes= as with the first call, {self.classes_}; got {given}")
        if first and given is not None:
            if len(given) < 2:
                raise ValueError(f"LogReg.partial_fit: two classes= or more; got {given}")
            self.classes_ = given

    def _bar(self) -> Any:
        from tqdm import tqdm

        return tqdm(total=self.max_iter, desc="LogReg", unit="it", disable=not self.verbose)
