"""What a fitted linear classifier tells of samples: scores, probabilities and classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from gpuprims.core.device import Device
from gpuprims.core.operands import Operands
from gpuprims.errors import ArgumentError
from gpuprims.models.logreg.labels import host_labels, to_host
from gpuprims.models.logreg.objective import exponentials_of, scores_of
from gpuprims.models.logreg.samples import features_of
from gpuprims.primitives.logistic.labelled import sigmoid
from gpuprims.primitives.map import map as map_elements
from gpuprims.primitives.reduce import reduce


class LinearScores:
    """Predictions by ``coef_``, ``intercept_``, ``classes_`` and ``threshold``, on ``backend`` or ``device``."""

    classes_: np.ndarray
    coef_: np.ndarray
    intercept_: np.ndarray
    threshold: float
    backend: str | Device | None
    device: str | Device | None

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
        sums = exponentials_of(device, scores)
        return _as_given(operands, map_elements("exp(z - m) / t", scores, *sums, device=device))

    def predict_log_proba(self, X: Any) -> Any:
        """Return the logarithm of the probability of each class, of shape (n_samples, n_classes)."""
        operands, scores = self._scores(X)
        device = operands.device
        if scores.shape[1] == 1:
            sign = device.asarray(np.array([[-1, 1]], scores.dtype))
            return _as_given(operands, map_elements(_log_of_sign, scores, sign, device=device))
        sums = exponentials_of(device, scores)
        return _as_given(operands, map_elements("z - m - log(t)", scores, *sums, device=device))

    def predict(self, X: Any) -> Any:
        """Return the class of each sample, of shape (n_samples,): the likelier, or by ``threshold``.

        The result is an array of the samples' library, on their device; classes that the device cannot hold, such as
        strings, are on the host.
        """
        operands, scores = self._scores(X)
        device, numbers = operands.device, self._numbers(operands.device, scores)
        if operands.on_host or not _holds(device, self.classes_.dtype):
            return self._on_host(device, numbers)
        first, last = self.classes_[[0, -1]]
        if len(self.classes_) == 2:
            return operands.finish(map_elements(lambda one: np.where(one, last, first), numbers, device=device))
        places, each = np.arange(len(self.classes_)), np.ascontiguousarray(self.classes_)
        given = numbers.reshape(-1, 1), *(device.asarray(one.reshape(1, -1)) for one in (places, each))
        # Classes are sorted, so the first one is the smallest.
        return operands.finish(
            reduce(*given, map=lambda n, p, c: np.where(n == p, c, first), op="max", axis=1, device=device)
        )

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of samples whose predicted class is right.

        Parameters
        ----------
        X, y, sample_weight
            As for :meth:`fit`: on the host, or on a device.

        Returns
        -------
        float
            Weighted by ``sample_weight``.

        Raises
        ------
        ValueError
            The numbers of labels or weights and of samples differ.
        """
        operands, scores = self._scores(X)
        guesses = self._on_host(operands.device, self._numbers(operands.device, scores))
        labels = host_labels(y, len(guesses))
        return float(accuracy_score(labels, guesses, sample_weight=to_host(sample_weight)))

    def _on_host(self, device: Device, numbers: Any) -> np.ndarray:
        chosen: np.ndarray = self.classes_[device.to_host(numbers).astype(np.intp)]
        return chosen

    def _numbers(self, device: Device, scores: Any) -> Any:
        """Return the index of each sample's class, on the device; for two classes, True for the second."""
        if scores.shape[1] == 1:
            edge = scores.dtype.type(np.log(self.threshold / (1 - self.threshold)))
            return map_elements(lambda z: z > edge, scores.reshape(-1), device=device)
        return reduce(scores, op="argmax", axis=1, device=device)

    def _asked(self) -> str | Device | None:
        if self.backend is not None and self.device is not None:
            raise ArgumentError(f"LogReg: backend= or device=; got both, {self.backend!r} and {self.device!r}")
        return self.backend if self.device is None else self.device

    def _scores(self, X: Any) -> tuple[Operands, Any]:
        """Return scores of shape (n_samples, outputs), on the device."""
        check_is_fitted(self)
        operands, features = features_of(self, X, self._asked(), reset=False)
        return operands, scores_of(features, *(features.device.asarray(own) for own in (self.coef_, self.intercept_)))


def _as_given(operands: Operands, result: Any) -> Any:
    """Return a result from the device where, and as, the samples came."""
    return operands.device.to_host(result) if operands.on_host else operands.finish(result)


def _holds(device: Device, dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "biu" or dtype == np.float32 or (dtype == np.float64 and device.capabilities.fp64)


def _of_sign(z: Any, sign: Any) -> Any:
    return sigmoid(sign * z)


def _log_of_sign(z: Any, sign: Any) -> Any:
    return np.minimum(sign * z, 0) - np.log1p(np.exp(-np.abs(z)))
