"""Fits of LogReg and of its peers, and what they are checked against: the objective of scikit-learn's optimum."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, SGDClassifier

from gpuprims.models import LogReg, LogRegBatch

# Epochs of the solvers by batches and by single samples, and penalties of a path.
EPOCHS, PENALTIES = 30, np.logspace(-3, 0, 5)
# Rows of a problem of a batch.
ROWS = 2048
# A function that returns the weights of a fit: coefficients, then the intercept, of each model.
Fit = Callable[..., np.ndarray]


def _weights(model: Any) -> np.ndarray:
    return np.append(model.coef_[0], model.intercept_)


def _quietly(fit: Callable[[], Any]) -> Any:
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):  # epochs end some fits on purpose
        return fit()


# gpuprims ------------------------------------------------------------------------------------------------------------


def ours(**parameters: Any) -> Fit:
    """Return a function that fits a LogReg with these parameters."""

    def fit(X: Any, y: Any, _: Any, *, device: Any = None) -> np.ndarray:
        return _weights(_quietly(partial(LogReg(device=device, random_state=0, **parameters).fit, X, y)))

    return fit


def of_csr(*given: Any, device: Any = None) -> np.ndarray:
    X, y = _matrix(*given)
    return _weights(LogReg(device=device).fit(X, y))


def path(X: Any, y: Any, _: Any, *, l1_ratio: float, device: Any = None) -> np.ndarray:
    """Fit without intercepts, which liblinear would penalise."""
    model = LogReg(device=device, l1_ratio=l1_ratio, fit_intercept=False)
    return np.asarray(model.path(X, y, PENALTIES).coef[:, 0])


def batch(X: Any, y: Any, _: Any, *, device: Any = None) -> np.ndarray:
    model = LogRegBatch(device=device).fit(X, y)
    return np.column_stack([model.coef_, model.intercept_])


# Peers ---------------------------------------------------------------------------------------------------------------


def sklearns(**parameters: Any) -> Fit:
    """Return a function that fits scikit-learn's LogisticRegression with these parameters."""
    return lambda X, y, _: _weights(LogisticRegression(**parameters).fit(X, y))


def sklearns_sgd(X: np.ndarray, y: np.ndarray, _: Any) -> np.ndarray:
    how: dict[str, Any] = {"alpha": 1 / len(X), "max_iter": EPOCHS, "tol": None, "random_state": 0, "eta0": 0.01}
    return _weights(SGDClassifier(loss="log_loss", learning_rate="adaptive", **how).fit(X, y))


def sklearns_of_csr(*given: np.ndarray) -> np.ndarray:
    X, y = _matrix(*given)
    return _weights(LogisticRegression().fit(X, y))


def sklearns_path(X: np.ndarray, y: np.ndarray, _: Any, *, l1_ratio: float) -> np.ndarray:
    """Fit by liblinear with an L1 penalty, else by lbfgs."""
    solver = "liblinear" if l1_ratio else "lbfgs"
    how: dict[str, Any] = {"solver": solver, "l1_ratio": l1_ratio, "fit_intercept": False}
    models = (LogisticRegression(C=C, **how) for C in PENALTIES)
    return np.array([_quietly(partial(model.fit, X, y)).coef_[0] for model in models])


def sklearns_batch(X: np.ndarray, y: np.ndarray, _: Any) -> np.ndarray:
    return np.array(
        [_weights(LogisticRegression(solver="newton-cholesky").fit(*one)) for one in zip(X, y, strict=True)]
    )


def torchs(X: Any, y: Any, _: Any) -> Any:
    """Fit by torch's LBFGS, on tensors."""
    import torch

    weights = torch.zeros(X.shape[1] + 1, dtype=X.dtype, device=X.device, requires_grad=True)
    solver = torch.optim.LBFGS([weights], max_iter=100, tolerance_grad=1e-4, line_search_fn="strong_wolfe")

    def closure() -> Any:
        solver.zero_grad()
        z = X @ weights[:-1] + weights[-1]
        loss = torch.nn.functional.binary_cross_entropy_with_logits(z, y) + weights[:-1].square().sum() / (2 * len(X))
        loss.backward()
        return loss

    solver.step(closure)
    return weights.detach()


# Checks --------------------------------------------------------------------------------------------------------------


def _matrix(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, y: np.ndarray) -> tuple[Any, np.ndarray]:
    return sparse.csr_array((data, indices, indptr), (len(y), int(indices.max()) + 1)), y


def objective(X: Any, y: np.ndarray, weights: np.ndarray, C: float = 1, l1_ratio: float = 0) -> float:
    """Return the objective of a fit per sample, in float64; the weights may have an intercept at the end."""
    weights = weights.astype(np.float64)
    coef, intercept = weights[: X.shape[1]], weights[X.shape[1] :].sum()
    z = X @ coef + intercept
    penalty = (1 - l1_ratio) / 2 * coef @ coef + l1_ratio * np.abs(coef).sum()
    return float((np.sum(np.logaddexp(0, z) - y * z) + penalty / C) / len(y))


def of_batch(X: np.ndarray, y: np.ndarray, weights: np.ndarray) -> float:
    """Return the mean objective of the problems of a batch."""
    return float(np.mean([objective(*one) for one in zip(X, y, weights, strict=True)]))


def of_path(l1_ratio: float) -> Callable[..., float]:
    """Return the mean objective of the fits of a path."""

    def mean(X: np.ndarray, y: np.ndarray, weights: np.ndarray) -> float:
        return float(np.mean([objective(X, y, one, C, l1_ratio) for one, C in zip(weights, PENALTIES, strict=True)]))

    return mean


class Optimum:
    """The objective of a peer's fit, and the check that another one is no more than a share above it."""

    def __init__(self, peer: Fit, share: float = 1e-5, function: Callable[..., float] = objective) -> None:
        self._peer, self._share, self._function = peer, share, function

    def expect(self, *given: np.ndarray) -> tuple[Any, np.ndarray, float]:
        """Return samples, labels and the objective of the peer's fit."""
        X, y = _matrix(*given) if given[-1].ndim == 1 and len(given) == 4 else given[:2]
        return X, y, self._function(X, y, self._peer(*given))

    def check(self, result: Any, expected: tuple[Any, np.ndarray, float]) -> None:
        """Raise AssertionError for weights whose objective is too high."""
        X, y, best = expected
        got = self._function(X, y, np.asarray(result))
        assert got <= best * (1 + self._share), f"fit: an objective of {best:.7f} or less; got {got:.7f}"
