"""Benchmarks of models: each solver of LogReg, each kind of samples, texts, and the models beside it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import gpuprims
from gpuprims import models
from gpuprims.models import LogReg, generated_mail, train_filter
from gpuprims.models.spam import text_features

from ..elements import SEED
from ..elements import Samples as Drawn
from .timed import Timed

# Samples of a fit, and epochs of the solvers by batches and by single samples.
_ROWS, _FEATURES, _EPOCHS = 5000, 50, 5


class Fits:
    """Fits of LogReg by each solver, and of each kind of samples."""

    @pytest.mark.parametrize("solver", ["lbfgs", "newton-cholesky"])
    def test_solver(self, timed: Timed, solver: str) -> None:
        _fit(timed, *_samples(), solver=solver)

    @pytest.mark.parametrize("solver", ["gd", "minibatch", "sgd", "hogwild"])
    def test_solver_by_steps(self, timed: Timed, solver: str) -> None:
        _fit(timed, *_samples(), solver=solver, max_iter=100 if solver == "gd" else _EPOCHS, tol=0, random_state=SEED)

    @pytest.mark.parametrize("solver", ["newton-cd", "fista"])
    def test_solver_of_magnitudes(self, timed: Timed, solver: str) -> None:
        _fit(timed, *_samples(), solver=solver, l1_ratio=1)

    @pytest.mark.parametrize("dtype", ["int8", "float16", "bfloat16"])
    def test_features_stored_as(self, timed: Timed, dtype: str) -> None:
        _fit(timed, *_samples(), feature_dtype=dtype)

    def test_composed(self, timed: Timed) -> None:
        _fit(timed, *_samples(), composed=True)

    def test_csr(self, timed: Timed) -> None:
        X, y = _samples()
        _fit(timed, sparse.csr_array(np.where(abs(X) > 1, X, 0)), y)

    def test_many_classes(self, timed: Timed) -> None:
        X, _ = _samples()
        _fit(timed, X, X[:, :5].argmax(axis=1))

    def test_batch(self, timed: Timed) -> None:
        X, y = _samples()
        given = X.reshape(50, 100, _FEATURES)[..., :8].copy(), y.reshape(50, 100)
        fitted = timed(lambda X, y: models.LogRegBatch(device=timed.device).fit(X, y).coef_, *given)
        assert fitted.shape == (50, 8)


class Texts:
    """Word counts, and the spam filter."""

    def test_hash_counts(self, timed: Timed) -> None:
        texts = generated_mail(1000).texts
        counts = timed(lambda: gpuprims.hash_counts(texts, 1024, device=timed.device))
        assert counts.shape == (1000, 1024)

    def test_hash_counts_of_ids(self, timed: Timed) -> None:
        ids = np.random.default_rng(SEED).integers(0, 20_000, timed.size // 4, np.int32)
        offsets = np.arange(0, ids.size + 1, 64)
        counts = timed(lambda ids: gpuprims.hash_counts(ids, 1024, segments=offsets, device=timed.device), ids)
        assert counts.sum() == ids.size

    def test_spam_training(self, timed: Timed) -> None:
        mail = generated_mail(1000)
        timed(lambda: train_filter(mail, n_features=256, device=timed.device).parts["test"].error)

    def test_spam_labels(self, timed: Timed) -> None:
        mail = generated_mail(1000)
        spam = train_filter(mail, n_features=256, device=timed.device).filter
        labels = timed(lambda: spam.label(mail.texts)[0])
        assert np.mean(labels == mail.labels) > 0.9

    def test_text_features(self, timed: Timed) -> None:
        texts = generated_mail(1000).texts
        assert timed(lambda: text_features(texts, 1024, device=timed.device)).shape == (1000, 1024)


class Models:
    """The models beside LogReg."""

    @pytest.mark.parametrize("name", ["PCA", "PPCA", "FactorAnalysis", "SparsePCA"])
    def test_decomposition(self, timed: Timed, name: str) -> None:
        X, _ = _samples()
        more = {"max_iter": _EPOCHS} if name in ("FactorAnalysis", "SparsePCA") else {}
        make: Callable[..., Any] = getattr(models, name)
        found = timed(lambda X: _quietly(lambda: make(5, device=timed.device, **more).fit(X)).components_, X)
        assert found.shape == (5, _FEATURES)

    @pytest.mark.parametrize("name", ["Prototypes", "MatchingNet"])
    def test_few_examples(self, timed: Timed, name: str) -> None:
        X, y = _samples()
        model = getattr(models, name)(device=timed.device).fit(X[:100], y[:100])
        assert np.mean(timed(model.predict, X) == y) > 0.6


def _samples() -> tuple[np.ndarray, np.ndarray]:
    X, y, _ = Drawn(_FEATURES).host(_ROWS)
    return X, y


def _fit(timed: Timed, X: Any, y: np.ndarray, **parameters: Any) -> None:
    """Time a fit, and check that it labels samples better than chance."""
    kept: list[LogReg] = []

    def fit(X: Any, y: Any) -> Any:
        kept[:] = [_quietly(lambda: LogReg(device=timed.device, **parameters).fit(X, y))]
        return kept[0].coef_

    timed(fit, X, y)
    assert np.mean(kept[0].predict(X) == y) > 0.7


def _quietly(fit: Callable[[], Any]) -> Any:
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):  # max_iter= ends some fits on purpose
        return fit()
