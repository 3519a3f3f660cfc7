"""Scores, probabilities and classes from a fitted linear classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score

from gpuprims.core.device import Device
from gpuprims.core.operands import Operands
from gpuprims.models.checks import OwnErrors, check_fitted
from gpuprims.models.device_arrays import like_samples, to_host
from gpuprims.models.inputs import all_finite, features_of
from gpuprims.models.logreg.objective import scores_of, softmax_terms
from gpuprims.models.logreg.samples import host_labels
from gpuprims.primitives.logistic.labelled import sigmoid
from gpuprims.primitives.map import map as map_elements
from gpuprims.primitives.reduce import reduce


class LinearScores:
    """Mix-in that predicts from ``coef_``, ``intercept_``, ``classes_`` and ``threshold``."""

    classes_: np.ndarray
    coef_: np.ndarray
    intercept_: np.ndarray
    threshold: float
    backend: str | Device | None
    device: str | Device | None

    @property
    def fit_dtype(self) -> np.dtype[Any]:
        """The dtype of the fit."""
        found: np.dtype[Any] = self.coef_.dtype
        return found

    def decision_function(self, X: Any) -> Any:
        """Return the scores ``X @ coef_.T + intercept_``.

        The shape is (n_samples,) for two classes, with the score of the second, and else (n_samples, n_classes).
        """
        operands, scores = self._scores(X)
        return _like_samples(X, operands, scores.reshape(-1) if scores.shape[1] == 1 else scores)

    def predict_proba(self, X: Any) -> Any:
        """Return the probability of each class, of shape (n_samples, n_classes)."""
        return self._from_scores(X, _signed_sigmoid, "exp(z - m) / t")

    def predict_log_proba(self, X: Any) -> Any:
        """Return the logarithm of the probability of each class, of shape (n_samples, n_classes)."""
        return self._from_scores(X, _signed_log_sigmoid, "z - m - log(t)")

    def predict(self, X: Any) -> Any:
        """Return the class of each sample: the most probable one; of two classes, by ``threshold``.

        The result is an array of the samples' library on their device. Classes that the device cannot store, such as
        strings, are on the host.
        """
        operands, scores = self._scores(X)
        device, codes = operands.device, self._codes(operands.device, scores)
        if operands.on_host or not _can_store(device, self.classes_.dtype):
            return like_samples(X, self._decode(device, codes))
        first, last = self.classes_[[0, -1]]
        if len(self.classes_) == 2:
            return operands.to_caller(map_elements(lambda one: np.where(one, last, first), codes, device=device))
        places, classes = np.arange(len(self.classes_)), np.ascontiguousarray(self.classes_)
        given = codes.reshape(-1, 1), *(device.asarray(one.reshape(1, -1)) for one in (places, classes))
        # Classes are sorted, so the first one is the smallest.
        return operands.to_caller(
            reduce(*given, map=lambda n, p, c: np.where(n == p, c, first), op="max", axis=1, device=device)
        )

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
        operands, scores = self._scores(X)
        guesses = self._decode(operands.device, self._codes(operands.device, scores))
        label = type(self).__name__
        labels = host_labels(label, y, len(guesses))
        weights = to_host(label, sample_weight)
        with OwnErrors(label):
            return float(accuracy_score(labels, guesses, sample_weight=weights))

    def _from_scores(self, X: Any, binary: Any, multinomial: str) -> Any:
        """Map scores by a function of score and sign, or of score, row maximum and sum of exponentials."""
        operands, scores = self._scores(X)
        device = operands.device
        if scores.shape[1] == 1:
            sign = device.asarray(np.array([[-1, 1]], scores.dtype))
            return _like_samples(X, operands, map_elements(binary, scores, sign, device=device))
        terms = softmax_terms(device, scores)
        return _like_samples(X, operands, map_elements(multinomial, scores, *terms, device=device))

    def _decode(self, device: Device, codes: Any) -> np.ndarray:
        classes: np.ndarray = self.classes_[device.to_host(codes).astype(np.intp)]
        return classes

    def _codes(self, device: Device, scores: Any) -> Any:
        """Return the code of each sample's class on the device; for two classes, True for the second."""
        if scores.shape[1] == 1:
            edge = scores.dtype.type(np.log(self.threshold / (1 - self.threshold)))
            return map_elements(lambda z: z > edge, scores.reshape(-1), device=device)
        return reduce(scores, op="argmax", axis=1, device=device)

    def _scores(self, X: Any) -> tuple[Operands, Any]:
        """Return scores of shape (n_samples, outputs), on the device."""
        check_fitted(self)
        operands, features = features_of(self, X, reset=False, finite=False)
        device = features.device
        with np.errstate(over="ignore", invalid="ignore"):
            scores = scores_of(features, *(device.asarray(own) for own in (self.coef_, self.intercept_)))
        if not all_finite(scores, device):  # as of features with NaN or infinity, or by overflow
            features_of(self, X, reset=False)
        return operands, scores


def _like_samples(X: Any, operands: Operands, result: Any) -> Any:
    """Convert a device result to the library and memory of the samples."""
    return like_samples(X, operands.device.to_host(result)) if operands.on_host else operands.to_caller(result)


def _can_store(device: Device, dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "biu" or dtype == np.float32 or (dtype == np.float64 and device.capabilities.fp64)


def _signed_sigmoid(z: Any, sign: Any) -> Any:
    return sigmoid(sign * z)


def _signed_log_sigmoid(z: Any, sign: Any) -> Any:
    return np.minimum(sign * z, 0) - np.log1p(np.exp(-np.abs(z)))
