"""Works of the models beside LogReg, and of LogReg by primitives alone, with scikit-learn's beside them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn import decomposition
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import NearestCentroid

from gpuprims.models import PCA, PPCA, FactorAnalysis, MatchingNet, Prototypes, SparsePCA

from .elements import Samples
from .works import Sizes, Work

_COLUMNS, _COMPONENTS, _ITERATIONS, _SUPPORT = 100, 10, 3, 100
# Rows by default and with --full, of CPUs and of GPUs; a peer's factor analysis of 100,000 takes seconds on two cores.
MODEL_SIZES = {"models": Sizes((20_000,), (10**6,), (10**5,), (10**6,))}
# Bytes of a row of samples, which each of them reads at least.
_ROW = 4 * _COLUMNS


def _variances(X: Any, y: Any, _: Any, *, device: Any = None) -> np.ndarray:
    return np.asarray(PCA(_COMPONENTS, device=device).fit(X).explained_variance_)


def _variances_by_sklearn(X: np.ndarray, y: Any, _: Any) -> np.ndarray:
    return np.asarray(decomposition.PCA(_COMPONENTS, svd_solver="covariance_eigh").fit(X).explained_variance_)


def _rest(X: Any, y: Any, _: Any, *, device: Any = None) -> np.ndarray:
    return np.asarray(PPCA(_COMPONENTS, device=device).fit(X).noise_variance_)


def _rest_by_sklearn(X: np.ndarray, y: Any, _: Any) -> np.ndarray:
    return np.asarray(decomposition.PCA(_COMPONENTS, svd_solver="covariance_eigh").fit(X).noise_variance_)


def _sparse(X: Any, y: Any, _: Any, *, device: Any = None) -> np.ndarray:
    return _error_after_some_iterations(SparsePCA(_COMPONENTS, max_iter=_ITERATIONS, tol=0, device=device), X)


def _sparse_by_sklearn(X: np.ndarray, y: Any, _: Any) -> np.ndarray:
    how = {"max_iter": _ITERATIONS, "tol": 0, "method": "cd", "random_state": 0}
    return _error_after_some_iterations(decomposition.SparsePCA(_COMPONENTS, **how), X)


def _error_after_some_iterations(model: Any, X: Any) -> np.ndarray:
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        return np.asarray(model.fit(X).error_[-1] / X.size)


def _noise(X: Any, y: Any, _: Any, *, device: Any = None) -> np.ndarray:
    return _after_some_iterations(FactorAnalysis(_COMPONENTS, max_iter=_ITERATIONS, tol=0, device=device), X)


def _noise_by_sklearn(X: np.ndarray, y: Any, _: Any) -> np.ndarray:
    how = {"max_iter": _ITERATIONS, "tol": 0, "svd_method": "lapack"}
    return _after_some_iterations(decomposition.FactorAnalysis(_COMPONENTS, **how), X)


def _after_some_iterations(model: Any, X: Any) -> np.ndarray:
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):  # max_iter= ends the fit on purpose
        return np.asarray(model.fit(X).noise_variance_)


def _nearest(X: Any, y: Any, _: Any, *, device: Any = None) -> Any:
    return Prototypes("l2", device=device).fit(X, y).predict(X)


def _nearest_by_sklearn(X: np.ndarray, y: np.ndarray, _: Any) -> np.ndarray:
    return np.asarray(NearestCentroid().fit(X, y).predict(X))


def _votes(X: Any, y: Any, _: Any, *, device: Any = None) -> Any:
    return MatchingNet("dot", device=device).fit(X[:_SUPPORT], y[:_SUPPORT]).predict_proba(X)


def _votes_by_numpy(X: np.ndarray, y: np.ndarray, _: Any) -> np.ndarray:
    votes = softmax(X @ X[:_SUPPORT].T, axis=1)
    return np.stack([votes[:, y[:_SUPPORT] == one].sum(axis=1) for one in (0, 1)], axis=1)


def _near(result: Any, expected: np.ndarray) -> None:
    np.testing.assert_allclose(result, expected, rtol=1e-3, atol=1e-3)


def _near_error(result: Any, expected: np.ndarray) -> None:
    """Check an error of an element, after few iterations from random starts."""
    np.testing.assert_allclose(result, expected, rtol=0.1)


def _nearly_all(result: Any, expected: np.ndarray) -> None:
    """Check that at most one label in a thousand differs, of samples between two means."""
    assert np.mean(np.asarray(result) != expected) < 1e-3


def _work(name: str, call: Callable[..., Any], host: Callable[..., Any], check: Any = _near, **how: Any) -> Work:
    given: dict[str, Any] = {"inputs": Samples(_COLUMNS), "sizes": "models", "limit": "read", "library": "scikit-learn"}
    return Work(name, "fit", _ROW, call, host, check, **(given | how))


MODELS = (
    _work("PCA, 10 components", _variances, _variances_by_sklearn),
    _work("PPCA, 10 components", _rest, _rest_by_sklearn),
    _work("sparse PCA, 3 iterations", _sparse, _sparse_by_sklearn, _near_error),
    _work("factor analysis, 3 iterations", _noise, _noise_by_sklearn),
    _work("prototypes, fit and predict", _nearest, _nearest_by_sklearn, _nearly_all),
    _work("matching, 100 examples", _votes, _votes_by_numpy, library="NumPy"),
)
