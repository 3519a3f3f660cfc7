"""Why fits stop: tolerance, iterations, callbacks, validation error, divergence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from logreg_cases import ALL_SOLVERS, Data, fit
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split

from gpuprims.models import LogReg


def test_too_few_iterations_are_warned_of(cancer: Data) -> None:
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        model = LogReg("reference", max_iter=2).fit(*cancer)
    assert model.stop_reason_ == "max_iter"


def test_a_learning_rate_that_diverges_is_named_and_leaves_numbers(cancer: Data) -> None:
    X, y = cancer
    X = X.astype(np.float32) * 100
    with pytest.warns(ConvergenceWarning, match=r"learning_rate=1e\+36"), np.errstate(all="ignore"):
        model = LogReg("reference", solver="gd", learning_rate=1e36).fit(X, y)
    assert model.stop_reason_ == "diverged"
    assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize("solver", ["lbfgs", "newton-cholesky", "gd", "minibatch"])
def test_a_callback_sees_each_iteration_and_may_stop(cancer: Data, solver: str) -> None:
    told = []

    def look(progress: Any) -> bool:
        told.append(progress)
        return len(told) == 3

    model = LogReg("reference", solver=solver, callback=look, tol=0).fit(*cancer)
    assert model.stop_reason_ == "callback"
    assert [(one.loss, one.iteration) for one in told] == list(
        zip(model.loss_curve_, model.loss_iterations_, strict=True)
    )
    np.testing.assert_array_equal(told[-1].coef, model.coef_)
    assert told[-1].iteration == model.n_iter_


def test_a_target_error_on_samples_held_out(cancer: Data) -> None:
    X, y = cancer
    model = LogReg("reference", target_error=0.08, validation_fraction=0.25, random_state=0, tol=0).fit(X, y)
    assert model.stop_reason_ == "target_error"
    assert model.validation_errors_[-1] <= 0.08 < model.validation_errors_[0]
    again = LogReg("reference", target_error=0.08, validation_fraction=0.25, random_state=0, tol=0).fit(X, y)
    np.testing.assert_array_equal(model.coef_, again.coef_)


def noisy(y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return labels with a fifth drawn again, so that no weights reach an error of 0."""
    return np.where(rng.random(len(y)) < 0.2, rng.permutation(y), y)


@pytest.mark.parametrize("feature_dtype", [None, "int8"])
def test_held_out_errors_are_of_the_weights_as_predicted_with(
    iris: Data, rng: np.random.Generator, feature_dtype: str | None
) -> None:
    X, y = iris[0] * 10.0 ** np.arange(-2, 2), noisy(iris[1], rng)  # features whose scales matter to scores
    how: dict[str, Any] = {"target_error": 0.0, "validation_fraction": 0.4, "random_state": 1, "tol": 1e-6}
    model = fit("reference", X, y, solver="newton-cholesky", C=100, feature_dtype=feature_dtype, **how)
    codes = np.searchsorted(model.classes_, y)
    alone, held_out = train_test_split(np.arange(len(X)), test_size=0.4, random_state=1, stratify=codes)
    assert model.validation_errors_[-1] == pytest.approx(1 - model.score(X[held_out], y[held_out]), abs=0.02)
    assert model.stop_reason_ == "tolerance"
    if feature_dtype is None:
        peer = LogReg("reference", solver="newton-cholesky", C=100, tol=1e-6).fit(X[alone], y[alone])
        np.testing.assert_allclose(model.coef_, peer.coef_, rtol=1e-5)


@ALL_SOLVERS
def test_no_weight_depends_on_samples_held_out(cancer: Data, rng: np.random.Generator, solver: str) -> None:
    X, y = cancer[0].astype(np.float32), noisy(cancer[1], rng)
    _, held_out = train_test_split(np.arange(len(X)), test_size=0.3, random_state=1, stratify=y)
    other = X.copy()
    other[held_out] = rng.standard_normal((len(held_out), X.shape[1]))
    how: dict[str, Any] = {"solver": solver, "target_error": 0.0, "validation_fraction": 0.3, "max_iter": 8}
    first, second = (fit("reference", samples, y, random_state=1, **how) for samples in (X, other))
    assert "target_error" not in (first.stop_reason_, second.stop_reason_)
    assert first.validation_errors_ != second.validation_errors_
    np.testing.assert_array_equal(first.coef_, second.coef_)
    np.testing.assert_array_equal(first.loss_curve_, second.loss_curve_)


def test_verbose_shows_a_progress_bar_with_the_loss(cancer: Data, capsys: pytest.CaptureFixture[str]) -> None:
    fit("reference", *cancer, max_iter=3, verbose=True)
    shown = capsys.readouterr().err
    assert "LogReg" in shown
    assert "3/3" in shown
    assert "loss=" in shown
    fit("reference", *cancer, max_iter=3)
    assert capsys.readouterr().err == ""
