"""LogReg: logistic regression with scikit-learn's interface, on any device."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data
from typing_extensions import override

from gpuprims.device import Device, pick_device
from gpuprims.models.gradient import LogisticObjective
from gpuprims.models.solvers import gradient_descent
from gpuprims.primitives.map import map as map_elements
from gpuprims.primitives.reduce import reduce

_FLOATS = (np.float64, np.float32)


class LogReg(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Binary logistic regression by batch gradient descent.

    Parameters
    ----------
    backend : str or Device, optional
        Where to compute: ``"cuda"``, ``"opencl:cpu"``, ...; by default the best device there is.
    learning_rate : float or "auto", default "auto"
        The step of ``weights += learning_rate * X.T @ (labels - sigmoid(X @ weights))``. ``"auto"`` takes the inverse
        of the steepest the gradient can grow, ``1 / (s**2 / 4 + l2)`` with ``s`` the largest singular value of ``X``.
    l2 : float, default 1.0
        Weight of the penalty ``sum(weights**2) / 2`` beside the summed log loss, as ``1 / C`` in scikit-learn; the
        intercept is free of it.
    max_iter : int, default 1000
        Iterations at most.
    tol : float, default 1e-3
        Stop when no component of the gradient, per sample, is larger; looked at every 32 iterations.
    fit_intercept : bool, default True
        Whether to add a constant to the scores.
    verbose : bool, default False
        Show a progress bar.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    coef_ : ndarray of shape (1, n_features)
    intercept_ : ndarray of shape (1,)
    loss_curve_ : list of float
        Penalised log loss per sample before each iteration.
    n_iter_ : int
    n_features_in_ : int

    Notes
    -----
    Samples and weights stay on the device from the first iteration to the last. float32 samples are computed with in
    float32, all others in float64. Features of very different scales make descent slow: standardise them first.

    Examples
    --------
    >>> import numpy as np
    >>> from gpuprims.models import LogReg
    >>> X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> model = LogReg(backend="reference").fit(X, ["no", "no", "yes", "yes"])
    >>> model.predict([[-3.0], [3.0]]).tolist()
    ['no', 'yes']
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 - scikit-learn's name and form
        "backend": [str, Device, None],
        "learning_rate": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "l2": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "fit_intercept": ["boolean"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        backend: str | Device | None = None,
        *,
        learning_rate: float | str = "auto",
        l2: float = 1.0,
        max_iter: int = 1000,
        tol: float = 1e-3,
        fit_intercept: bool = True,
        verbose: bool = False,
    ) -> None:
        self.backend = backend
        self.learning_rate = learning_rate
        self.l2 = l2
        self.max_iter = max_iter
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from labelled samples.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
        y : array_like of shape (n_samples,)
            Labels of two classes, of any kind.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            NaN or infinity in ``X``, or other than two classes.
        """
        self._validate_params()
        X, y = validate_data(self, X, y, dtype=_FLOATS, order="C")
        labels = self._encode(y)
        device = pick_device(None, self.backend)
        samples = self._with_constant(X)
        penalty = np.full(samples.shape[1], float(self.l2))
        penalty[X.shape[1] :] = 0
        objective = LogisticObjective(device, samples, labels.astype(X.dtype), penalty)
        rate = 1 / objective.curvature() if self.learning_rate == "auto" else float(self.learning_rate)
        solution = gradient_descent(
            objective,
            np.zeros(samples.shape[1], X.dtype),
            learning_rate=rate,
            max_iter=self.max_iter,
            tol=self.tol,
            progress=self._progress,
        )
        if not solution.converged:
            warnings.warn(
                f"LogReg: a gradient below tol={self.tol} within max_iter={self.max_iter} iterations; got none"
                " (standardise the features, or raise max_iter)",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.coef_ = solution.weights[None, : X.shape[1]]
        self.intercept_ = solution.weights[X.shape[1] :] if self.fit_intercept else np.zeros(1, X.dtype)
        self.loss_curve_ = solution.losses
        self.n_iter_ = len(solution.losses)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores ``X @ coef + intercept``, positive for the second class, of shape (n_samples,)."""
        return self._score_with(X, "s + b")

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class, of shape (n_samples, 2)."""
        second = self._score_with(X, "1 / (1 + exp(-(s + b)))")
        return np.stack([1 - second, second], axis=1)

    def predict(self, X: Any) -> np.ndarray:
        """Return the likelier class of each sample, of shape (n_samples,)."""
        positive = self.decision_function(X) > 0
        chosen: np.ndarray = self.classes_[positive.astype(np.intp)]
        return chosen

    def _encode(self, y: np.ndarray) -> np.ndarray:
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) > 2:
            raise ValueError(
                f"Only binary classification is supported. The type of the target is {type_of_target(y)}:"
                f" LogReg needs two classes; got {len(self.classes_)}"
            )
        if len(self.classes_) < 2:
            raise ValueError(f"LogReg: samples of two classes; got one class, {self.classes_[0]!r}")
        return labels

    def _with_constant(self, X: np.ndarray) -> np.ndarray:
        """Append a column of ones, whose weight is the intercept."""
        return np.concatenate([X, np.ones((len(X), 1), X.dtype)], axis=1) if self.fit_intercept else X

    def _score_with(self, X: Any, finish: str) -> np.ndarray:
        check_is_fitted(self)
        X = validate_data(self, X, dtype=self.coef_.dtype, order="C", reset=False)
        device = pick_device(None, self.backend)
        scores = reduce(X, self.coef_[0], map="x*w", axis=1, device=device)
        scored: np.ndarray = map_elements(finish, scores, self.intercept_, device=device)
        return scored

    def _progress(self, iterations: Iterable[int]) -> Iterable[int]:
        if not self.verbose:
            return iterations
        from tqdm import tqdm

        bar: Iterable[int] = tqdm(iterations, desc="LogReg", unit="it")
        return bar

    @override
    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
