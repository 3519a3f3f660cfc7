"""Scores, probabilities and classes from a fitted linear classifier."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ClassVar, TypeVar

import numpy as np
from sklearn.metrics import accuracy_score

from gpuprims.core.determinism import Level, asks_for_device, at_level
from gpuprims.core.device import Device
from gpuprims.core.operands import Operands
from gpuprims.models.checks import OwnErrors, check_fitted
from gpuprims.models.device_arrays import like_samples, to_host
from gpuprims.models.in_place import home_of
from gpuprims.models.inputs import all_finite, features_of
from gpuprims.models.logreg.samples import host_labels
from gpuprims.models.logreg.softmax import row_terms, softmax
from gpuprims.primitives.logistic.labelled import sigmoid
from gpuprims.primitives.map import map as map_elements
from gpuprims.primitives.reduce import reduce
from gpuprims.primitives.take import take

# Most rows of two classes that NumPy looks up (measurements.md, predictions in place).
_FEW_ROWS = 1 << 14
# Most columns whose largest number NumPy finds by comparing two columns at a time (measurements.md, few columns).
_FEW_COLUMNS = 8
Method = TypeVar("Method", bound=Callable[..., Any])


def at_own_level(method: Method) -> Method:
    """Decorate a method to run at the model's level of determinism."""

    @wraps(method)
    def call(model: Any, *given: Any, **named: Any) -> Any:
        return at_level(type(model).__name__, model.determinism, method, model, *given, **named)

    return call  # type: ignore[return-value]  # it has the same parameters


class LinearScores:
    """Mix-in that predicts from ``coef_``, ``intercept_``, ``classes_`` and ``threshold``."""

    classes_: np.ndarray
    coef_: np.ndarray
    intercept_: np.ndarray
    threshold: float
    backend: str | Device | None
    device: str | Device | None
    determinism: Level | None = None
    # The name of the array that a fit ends with, in the dtype of the fit.
    _fitted_array: ClassVar[str] = "coef_"

    def __sklearn_is_fitted__(self) -> bool:
        """Tell scikit-learn that a model is fitted; one with ``classes_`` alone, as after a path, is not."""
        return hasattr(self, self._fitted_array)

    @property
    def fit_dtype(self) -> np.dtype[Any]:
        """The dtype of the fit."""
        found: np.dtype[Any] = getattr(self, self._fitted_array).dtype
        return found

    @at_own_level
    def decision_function(self, X: Any) -> Any:
        """Return the scores ``X @ coef_.T + intercept_``.

        The shape is (n_samples,) for two classes, with the score of the second, and else (n_samples, n_classes).
        """
        operands, scores = self._whole_scores(X)
        return _like_samples(X, operands, scores.reshape(-1) if scores.shape[1] == 1 else scores)

    @at_own_level
    def predict_proba(self, X: Any) -> Any:
        """Return the probability of each class, of shape (n_samples, n_classes)."""
        return self._from_scores(X, _sigmoids, softmax)

    @at_own_level
    def predict_log_proba(self, X: Any) -> Any:
        """Return the logarithm of the probability of each class, of shape (n_samples, n_classes)."""
        return self._from_scores(X, _log_sigmoids, _log_softmax)

    @at_own_level
    def predict(self, X: Any) -> Any:
        """Return the class of each sample: the most probable one; of two classes, by ``threshold``.

        The result is an array of the samples' library on their device. Classes that the device cannot store, such as
        strings, are on the host.
        """
        operands, scores, constants = self._scores(X)
        device = operands.device
        if not _can_store(device, self.classes_.dtype):
            return like_samples(X, self._decode(device, self._codes(device, scores, constants)))
        if len(self.classes_) == 2 and not home_of(scores, device).has_few(len(scores), _FEW_ROWS):
            given = scores.reshape(-1), constants.reshape(-1), self._edge(scores.dtype), *self.classes_
            found = map_elements(_first_or_second, *given, device=device)
        else:
            found = self._taken(device, self._codes(device, scores, constants))
        return _like_samples(X, operands, found)

    @at_own_level
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy.

        Parameters
        ----------
        X, y, sample_weight
            As for :meth:`fit`, on the host or a device.

        Returns
        -------
        float
            The weighted share of samples whose predicted class is correct.

        Raises
        ------
        ArgumentError
            Numbers of samples, labels and weights differ.
        """
        operands, scores, constants = self._scores(X)
        guesses = self._decode(operands.device, self._codes(operands.device, scores, constants))
        label = type(self).__name__
        labels = host_labels(label, y, len(guesses))
        weights = to_host(label, sample_weight)
        with OwnErrors(label):
            return float(accuracy_score(labels, guesses, sample_weight=weights))

    def _from_scores(
        self, X: Any, binary: Callable[[Device, Any, Any], Any], multinomial: Callable[[Device, Any], Any]
    ) -> Any:
        """Return a function of scores and intercepts of two classes, or of whole scores of several."""
        operands, scores, constants = self._scores(X)
        device = operands.device
        if scores.shape[1] == 1:
            return _like_samples(X, operands, binary(device, scores, constants))
        return _like_samples(X, operands, multinomial(device, map_elements("z + b", scores, constants, device=device)))

    def _decode(self, device: Device, codes: Any) -> np.ndarray:
        classes: np.ndarray = self.classes_[device.to_host(codes).astype(np.intp)]
        return classes

    def _taken(self, device: Device, codes: Any) -> Any:
        """Return the classes of some codes, in the memory that holds the codes."""
        if isinstance(codes, np.ndarray):
            return self.classes_[codes]
        return take(device.asarray(self.classes_), codes, device=device)

    def _codes(self, device: Device, scores: Any, constants: Any) -> Any:
        """Return the code of each sample's class on the device; for two classes, 1 for the second."""
        if scores.shape[1] == 1:
            given = scores.reshape(-1), constants.reshape(-1), self._edge(scores.dtype)
            if isinstance(scores, np.ndarray):
                return _is_above(*given).view(np.uint8)
            return map_elements(_first_or_second, *given, np.uint8(0), np.uint8(1), device=device)
        if isinstance(scores, np.ndarray):  # NumPy is faster (measurements.md, predictions in place)
            found = _largest_of_few(scores, constants) if scores.shape[1] <= _FEW_COLUMNS else None
            return map_elements("z + b", scores, constants, device=device).argmax(axis=1) if found is None else found
        return reduce(scores, constants, map="z + b", op="argmax", axis=1, device=device)

    def _edge(self, dtype: np.dtype[Any]) -> Any:
        """Return the score at the threshold."""
        return dtype.type(np.log(self.threshold / (1 - self.threshold)))

    def _whole_scores(self, X: Any) -> tuple[Operands, Any]:
        """Return scores of shape (n_samples, outputs), on the device."""
        operands, scores, constants = self._scores(X)
        return operands, map_elements("z + b", scores, constants, device=operands.device)

    def _scores(self, X: Any) -> tuple[Operands, Any, Any]:
        """Return scores without intercepts, of shape (n_samples, outputs), and intercepts, on the device."""
        check_fitted(self)
        operands, features = features_of(self, X, reset=False, finite=False, in_place=True)
        device = features.device
        with np.errstate(over="ignore", invalid="ignore"):
            scores = features.scores(features.home.asarray(self.coef_))
        if not all_finite(scores, device):  # as of features with NaN or infinity, or by overflow
            features_of(self, X, reset=False)
        return operands, scores, features.home.asarray(self.intercept_.reshape(1, -1))


def _like_samples(X: Any, operands: Operands, result: Any) -> Any:
    """Convert a device result to the library and memory of the samples."""
    return like_samples(X, operands.device.to_host(result)) if operands.on_host else operands.to_caller(result)


def _can_store(device: Device, dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "biu" or dtype == np.float32 or (dtype == np.float64 and device.capabilities.fp64)


def _sigmoids(device: Device, scores: Any, constants: Any) -> Any:
    return map_elements(_signed_sigmoid, scores, constants, _signs(device, scores), device=device)


def _log_sigmoids(device: Device, scores: Any, constants: Any) -> Any:
    if not _has_logarithms_of_numpy(scores):
        return map_elements(_signed_log_sigmoid, scores, constants, _signs(device, scores), device=device)
    whole = scores + constants
    smaller = np.log1p(np.exp(-np.abs(whole)))
    return np.hstack([np.minimum(-whole, 0) - smaller, np.minimum(whole, 0) - smaller])


def _signs(device: Device, scores: Any) -> Any:
    return home_of(scores, device).asarray(np.array([[-1, 1]], scores.dtype))


def _has_logarithms_of_numpy(scores: Any) -> bool:
    """Return True for scores on the host; PoCL's logarithms take 30 times as long (measurements.md, few scores)."""
    return isinstance(scores, np.ndarray) and not asks_for_device()


def _log_softmax(device: Device, scores: Any) -> Any:
    largest, _, total = row_terms(device, scores)
    if _has_logarithms_of_numpy(scores):
        found: np.ndarray = scores - largest
        found -= np.log(total)
        return found
    return map_elements("z - m - log(t)", scores, largest, total, device=device)


def _is_above(z: Any, b: Any, edge: Any) -> Any:
    with np.errstate(over="ignore"):  # as in kernels
        return z + b > edge


def _largest_of_few(scores: np.ndarray, constants: np.ndarray) -> np.ndarray | None:
    """Return the column of the first largest number of each row of ``scores + constants``; None if one is NaN."""
    with np.errstate(over="ignore", invalid="ignore"):  # as in kernels
        largest = scores[:, 0] + constants[0, 0]
        found = np.zeros(len(scores), np.uint8)
        for column in range(1, scores.shape[1]):
            own = scores[:, column] + constants[0, column]
            np.maximum(found, (own > largest).view(np.uint8) * np.uint8(column), out=found)
            np.maximum(largest, own, out=largest)
    return None if np.isnan(largest).any() else found


# Functions of elements, defined once so that their kernels are found by identity.


def _first_or_second(z: Any, b: Any, edge: Any, first: Any, second: Any) -> Any:
    return np.where(z + b > edge, second, first)


def _signed_sigmoid(z: Any, b: Any, sign: Any) -> Any:
    return sigmoid(sign * (z + b))


def _signed_log_sigmoid(z: Any, b: Any, sign: Any) -> Any:
    return np.minimum(sign * (z + b), 0) - np.log1p(np.exp(-np.abs(z + b)))
