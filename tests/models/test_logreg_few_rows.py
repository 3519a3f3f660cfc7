"""Newton's steps by Hessians of some of the samples: where they are taken, and that they end at the minimum."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import gpuprims
from gpuprims.models import LogReg
from gpuprims.models.logreg import few_rows
from gpuprims.models.logreg.objective import Objective


@pytest.fixture
def sizes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the numbers of samples of each Hessian; 64 samples and more are enough for one."""
    monkeypatch.setattr(few_rows, "_FEWEST_ROWS", 64)
    monkeypatch.setattr(few_rows, "_ROWS_PER_WEIGHT", 8)
    seen: list[int] = []
    hessian = Objective.hessian
    monkeypatch.setattr(Objective, "hessian", lambda one, flat: (seen.append(one.samples.size), hessian(one, flat))[1])
    return seen


def samples(rng: np.random.Generator, classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    X = rng.standard_normal((2000, 5))
    return X, (X @ rng.standard_normal((5, classes)) + rng.gumbel(size=(2000, classes))).argmax(axis=1)


def assert_at_minimum(model: LogReg, X: np.ndarray, y: np.ndarray, **how: Any) -> None:
    peer = LogisticRegression(C=model.C, tol=1e-12, solver="newton-cholesky", max_iter=1000).fit(X, y, **how)
    own, coef = (one.coef_ - (one.coef_.mean(axis=0) if len(one.coef_) > 1 else 0) for one in (model, peer))
    np.testing.assert_allclose(own, coef, atol=1e-6, rtol=1e-5)
    np.testing.assert_allclose(model.predict_proba(X), peer.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_minimum_is_that_of_all_samples(
    rng: np.random.Generator, sizes: list[int], classes: int, weighted: bool
) -> None:
    X, y = samples(rng, classes)
    weights = rng.random(2000) if weighted else None
    model = LogReg("reference", solver="newton-cholesky", tol=1e-9).fit(X, y, weights)
    assert sizes[0] < 2000 == sizes[-1]
    assert_at_minimum(model, X, y, sample_weight=weights)


def test_a_feature_that_the_chosen_samples_lack(rng: np.random.Generator, sizes: list[int]) -> None:
    X, y = samples(rng)
    X[:, 0] = np.arange(2000) % 700 == 1
    model = LogReg("reference", solver="newton-cholesky", tol=1e-9, C=100.0).fit(X, y)
    assert sizes[0] < 2000
    assert_at_minimum(model, X, y)


def test_samples_of_which_the_chosen_ones_weigh_nothing(rng: np.random.Generator, sizes: list[int]) -> None:
    X, y = samples(rng)
    weights = np.ones(2000)
    weights[:: 2000 // 64] = 0
    model = LogReg("reference", solver="newton-cholesky", tol=1e-9).fit(X, y, weights)
    assert {*sizes} == {2000}
    assert_at_minimum(model, X, y, sample_weight=weights)


@pytest.mark.parametrize("level", ["device", "order"])
def test_levels_take_all_samples(rng: np.random.Generator, sizes: list[int], level: Any) -> None:
    X, y = samples(rng)
    with gpuprims.use_determinism(level):
        LogReg("reference", solver="newton-cholesky").fit(X[:400], y[:400])
    assert {*sizes} == {400}
