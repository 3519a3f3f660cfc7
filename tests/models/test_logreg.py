"""LogReg: scikit-learn's optimum and its interface, the article's iteration, the same answer on every device."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kernel_cases import need, on_device, on_host
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gpuprims
from gpuprims.errors import ArgumentError, DeviceMismatchError
from gpuprims.models import LogReg, Rates
from gpuprims.models.logreg import features
from gpuprims.models.logreg.objective import Objective

Data = tuple[np.ndarray, np.ndarray]


@pytest.fixture(scope="module")
def cancer() -> Data:
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.fixture(scope="module")
def iris() -> Data:
    X, y = load_iris(return_X_y=True)
    return StandardScaler().fit_transform(X), np.array(["setosa", "versicolor", "virginica"])[y]


def descend(X: np.ndarray, y: np.ndarray, *, rate: float, l2: float, iterations: int) -> tuple[np.ndarray, list[float]]:
    """The article's loop in float64 NumPy, with a free intercept; returns the weights and every loss per sample."""
    X = np.hstack([X, np.ones((len(X), 1))])
    penalty = np.full(X.shape[1], l2)
    penalty[-1] = 0
    weights, losses = np.zeros(X.shape[1]), []
    for _ in range(iterations + 1):
        scores = X @ weights
        losses.append((np.logaddexp(0, scores).sum() - y @ scores + (penalty * weights**2).sum() / 2) / len(X))
        before, weights = weights, weights + rate * (X.T @ (y - 1 / (1 + np.exp(-scores))) - penalty * weights)
    return before, losses


def fit(device: Any, X: Any, y: Any, **parameters: Any) -> LogReg:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return LogReg(device, **parameters).fit(X, y)


def need_float64(device: gpuprims.Device) -> None:
    if not device.capabilities.fp64:
        pytest.skip("the device has no float64")


# Solvers -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["lbfgs", "newton-cholesky"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("data", ["cancer", "iris"])
def test_scikit_learns_optimum(
    device: gpuprims.Device, request: pytest.FixtureRequest, solver: str, intercept: bool, data: str
) -> None:
    need_float64(device)
    X, y = request.getfixturevalue(data)
    model = LogReg(device, solver=solver, C=0.7, tol=1e-8, max_iter=500, fit_intercept=intercept).fit(X, y)
    peer = LogisticRegression(C=0.7, tol=1e-10, max_iter=5000, fit_intercept=intercept).fit(X, y)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=2e-4)
    np.testing.assert_allclose(model.intercept_, peer.intercept_, atol=2e-4)
    np.testing.assert_allclose(model.predict_proba(X), peer.predict_proba(X), atol=1e-4)
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(model.predict_proba(X)), rtol=1e-6, atol=1e-9)
    assert model.stop_reason_ in ("tolerance", "rounding")
    assert model.coef_.shape == peer.coef_.shape
    assert np.diff(model.loss_curve_).max() <= 1e-12


@pytest.mark.parametrize("solver", ["lbfgs", "newton-cholesky", "gd"])
def test_float32_comes_near_and_stays_float32(device: gpuprims.Device, cancer: Data, solver: str) -> None:
    X, y = cancer
    model = fit(device, X.astype(np.float32), y, solver=solver, max_iter=400)
    peer = LogisticRegression(tol=1e-8, max_iter=1000).fit(X, y)
    assert model.coef_.dtype == model.predict_proba(X[:5]).dtype == np.float32
    assert (model.predict(X) == peer.predict(X)).mean() > 0.99
    assert model.loss_curve_[-1] == pytest.approx(_objective(peer, X, y), rel=0.05 if solver == "gd" else 1e-4)


def _objective(peer: LogisticRegression, X: np.ndarray, y: np.ndarray) -> float:
    scores = peer.decision_function(X)
    return float((np.logaddexp(0, scores).sum() - y @ scores + (peer.coef_**2).sum() / 2) / len(X))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_iterations_are_those_of_the_article(device: gpuprims.Device, cancer: Data, dtype: Any) -> None:
    if dtype is np.float64:
        need_float64(device)
    X, y = cancer
    model = fit(device, X.astype(dtype), y, solver="gd", learning_rate=1e-3, C=2, max_iter=100, tol=0)
    weights, losses = descend(X, y, rate=1e-3, l2=0.5, iterations=100)
    bound = 1e-10 if dtype is np.float64 else 2e-4
    np.testing.assert_allclose(model.coef_[0], weights[:-1], rtol=bound, atol=bound)
    np.testing.assert_allclose(model.intercept_, weights[-1:], rtol=bound, atol=bound)
    assert model.loss_iterations_ == [1, 2, 4, 8, 16, 32, 64, 100]
    np.testing.assert_allclose(model.loss_curve_, [losses[done] for done in model.loss_iterations_], rtol=bound)
    assert (model.n_iter_, model.stop_reason_) == (100, "max_iter")


def test_the_automatic_step_descends(device: gpuprims.Device, cancer: Data) -> None:
    X, y = cancer
    model = fit(device, X.astype(np.float32), y, solver="gd", max_iter=2000)
    assert np.all(np.diff(model.loss_curve_) < 1e-6)
    assert model.score(X.astype(np.float32), y) > 0.98


def test_more_weight_is_as_more_samples(device: gpuprims.Device, iris: Data, rng: np.random.Generator) -> None:
    need_float64(device)
    X, y = iris
    often = rng.integers(0, 4, len(X))
    how = {"solver": "newton-cholesky", "tol": 1e-8}
    weighed = LogReg(device, **how).fit(X, y, sample_weight=often)
    repeated = LogReg(device, **how).fit(np.repeat(X, often, axis=0), np.repeat(y, often))
    np.testing.assert_allclose(weighed.coef_, repeated.coef_, atol=1e-6)


@pytest.mark.parametrize("weight", ["balanced", {0: 3.0, 1: 0.5}])
def test_classes_are_weighed_as_scikit_learn_does(cancer: Data, weight: Any) -> None:
    X, y = cancer[0][:400], cancer[1][:400]
    model = LogReg("reference", class_weight=weight, tol=1e-8).fit(X, y)
    peer = LogisticRegression(class_weight=weight, tol=1e-10, max_iter=5000).fit(X, y)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=2e-4)


def test_a_warm_start_goes_on(cancer: Data) -> None:
    X, y = cancer
    model = fit("reference", X, y, max_iter=200, warm_start=True)
    first = model.n_iter_
    model.fit(X, y)
    assert model.n_iter_ < first / 4


def test_same_bits_from_run_to_run(device: gpuprims.Device, cancer: Data) -> None:
    X, y = cancer
    first, second = (fit(device, X.astype(np.float32), y, max_iter=30).coef_ for _ in range(2))
    assert first.tobytes() == second.tobytes()


@pytest.mark.parametrize("solver", ["lbfgs", "newton-cholesky", "gd", "minibatch"])
def test_margins_of_ten_thousand_do_not_overflow(device: gpuprims.Device, solver: str) -> None:
    X = np.float32([[-1e4], [-9e3], [8e3], [1e4]])
    with np.errstate(all="raise"):
        model = fit(device, X, [0, 0, 1, 1], solver=solver, C=1e6, max_iter=64)
        wide = fit(device, X, [0, 1, 2, 2], solver=solver, max_iter=64)
        model.coef_[:] = 1
        chances = model.predict_proba(X)
    np.testing.assert_array_equal(chances, [[1, 0], [1, 0], [0, 1], [0, 1]])
    assert np.isfinite(model.loss_curve_).all()
    assert np.isfinite(wide.predict_proba(X)).all()
    assert np.isfinite(model.predict_log_proba(X)).all()


@pytest.mark.parametrize("data", ["cancer", "iris"])
def test_runs_of_samples_come_near_the_optimum(device: gpuprims.Device, request: Any, data: str) -> None:
    X, y = request.getfixturevalue(data)
    X = X.astype(np.float32)
    how = {"solver": "minibatch", "batch_size": 60, "max_iter": 80, "random_state": 3}
    model, again = (fit(device, X, y, **how) for _ in range(2))
    best = fit(device, X, y, max_iter=500)
    assert model.loss_curve_[-1] == pytest.approx(best.loss_curve_[-1], rel=0.5)
    assert model.loss_curve_[-1] < model.loss_curve_[0]
    np.testing.assert_array_equal(model.coef_, again.coef_)


def test_one_run_of_all_is_batch_descent(cancer: Data) -> None:
    X, y = cancer
    how: dict[str, Any] = {"learning_rate": 1e-3, "max_iter": 50, "tol": 0}
    batch = fit("reference", X, y, solver="gd", **how)
    runs = fit("reference", X, y, solver="minibatch", batch_size=len(X), **how)
    np.testing.assert_allclose(runs.coef_, batch.coef_, rtol=1e-9)


@pytest.mark.parametrize("data", ["cancer", "iris"])
def test_partial_fits_learn_on(device: gpuprims.Device, request: Any, data: str) -> None:
    X, y = request.getfixturevalue(data)
    model = LogReg(device, batch_size=32, random_state=0)
    for start in [0, 1] * 20:
        model.partial_fit(X[start::2].astype(np.float32), y[start::2], classes=np.unique(y))
    assert model.score(X.astype(np.float32), y) > 0.9
    assert model.n_iter_ == len(model.loss_curve_) == 40


def test_partial_fits_know_their_classes(cancer: Data) -> None:
    X, y = cancer
    model = LogReg("reference")
    with pytest.raises(ValueError, match="classes= with the first call"):
        model.partial_fit(X, y)
    model.partial_fit(X, y, classes=[0, 1, 2])
    assert model.predict_proba(X).shape == (569, 3)
    with pytest.raises(ValueError, match="as with the first call"):
        model.partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match=r"labels among .*; got 7"):
        model.partial_fit(X, np.where(y == 1, 7, 0))


@pytest.mark.parametrize("feature_dtype", ["int8", "float16"])
@pytest.mark.parametrize("solver", ["lbfgs", "newton-cholesky", "gd", "minibatch"])
def test_features_in_fewer_bits(device: gpuprims.Device, cancer: Data, solver: str, feature_dtype: str) -> None:
    X, y = cancer
    X = X.astype(np.float32)
    learned, held_out = X[::2], X[1::2]
    how: dict[str, Any] = {"solver": solver, "max_iter": 100, "random_state": 0}
    whole = fit(device, learned, y[::2], **how)
    fewer = fit(device, learned, y[::2], feature_dtype=feature_dtype, **how)
    assert fewer.score(held_out, y[1::2]) >= whole.score(held_out, y[1::2]) - 0.0071  # two of 284 samples
    assert fewer.coef_.dtype == np.float32
    assert np.abs(fewer.coef_ - whole.coef_).max() > 0


def test_fewer_bits_are_integers_times_a_scale_of_each_feature(device: gpuprims.Device, iris: Data) -> None:
    need_float64(device)
    X, y = iris
    X = X * 10.0 ** np.arange(-2, 2)
    X[:, 1] = 0  # a feature without a largest
    scale = np.where(np.abs(X).max(axis=0) > 0, np.abs(X).max(axis=0), 1) / 127
    fewer = LogReg(device, solver="newton-cholesky", tol=1e-9, feature_dtype="int8").fit(X, y)
    whole = LogReg(device, solver="newton-cholesky", tol=1e-9).fit(np.rint(X / scale) * scale, y)
    np.testing.assert_allclose(fewer.coef_, whole.coef_, rtol=1e-6, atol=1e-9)


# Why it stopped ------------------------------------------------------------------------------------------------------


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


ALL_SOLVERS = pytest.mark.parametrize("solver", ["lbfgs", "newton-cholesky", "gd", "minibatch", "sgd", "hogwild"])


@ALL_SOLVERS
def test_an_interrupt_leaves_the_weights_so_far_and_goes_on(cancer: Data, solver: str) -> None:
    told: list[Any] = []

    def interrupt(progress: Any) -> None:
        told.append(progress)
        if len(told) == 3:
            signal.raise_signal(signal.SIGINT)

    X, y = cancer[0].astype(np.float32), cancer[1]
    model = LogReg("reference", solver=solver, callback=interrupt, tol=0, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert (model.stop_reason_, model.n_iter_) == ("interrupted", told[-1].iteration)
    assert model.loss_iterations_ == [one.iteration for one in told]
    np.testing.assert_array_equal(model.coef_, told[-1].coef.astype(np.float32))
    assert model.score(X, y) > 0.9
    model.set_params(callback=None, warm_start=True, max_iter=8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert model.fit(X, y).loss_curve_[-1] < told[-1].loss


@ALL_SOLVERS
def test_an_interrupt_between_looks_keeps_the_last_look(
    cancer: Data, solver: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Any] = []

    def loss(self: Objective, weights: Any) -> Any:
        if len(told) == 2:
            raise KeyboardInterrupt
        return evaluate(self, weights)

    evaluate = Objective.loss
    monkeypatch.setattr(Objective, "loss", loss)
    model = LogReg("reference", solver=solver, callback=told.append, tol=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*cancer)
    assert (model.stop_reason_, model.loss_curve_) == ("interrupted", [one.loss for one in told])
    np.testing.assert_array_equal(model.coef_, told[-1].coef)


def test_an_interrupt_before_the_first_iteration_leaves_the_start(
    cancer: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Objective, "loss_gradient", interrupt)
    model = LogReg("reference")
    with pytest.raises(KeyboardInterrupt):
        model.fit(*cancer)
    assert (model.stop_reason_, model.n_iter_, model.loss_curve_) == ("interrupted", 0, [])
    np.testing.assert_array_equal(model.coef_, np.zeros((1, 30)))


def test_an_interrupted_partial_fit_leaves_the_weights_before(cancer: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = cancer
    model = LogReg("reference", random_state=0).partial_fit(X, y, classes=[0, 1])
    before = model.coef_.copy(), model.n_iter_, list(model.loss_curve_)

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Objective, "loss_gradient", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X, y)
    np.testing.assert_array_equal(model.coef_, before[0])
    assert (model.n_iter_, model.loss_curve_) == before[1:]


def test_an_interrupt_ends_a_search(cancer: Data) -> None:
    fits: list[int] = []

    def interrupt(_: Any) -> None:
        fits.append(1)
        raise KeyboardInterrupt

    search = GridSearchCV(LogReg("reference", callback=interrupt), {"C": [0.1, 1.0, 10.0]}, cv=3)
    with pytest.raises(KeyboardInterrupt):
        search.fit(*cancer)
    assert len(fits) == 1


def test_a_target_error_on_samples_held_out(cancer: Data) -> None:
    X, y = cancer
    model = LogReg("reference", target_error=0.08, validation_fraction=0.25, random_state=0, tol=0).fit(X, y)
    assert model.stop_reason_ == "target_error"
    assert model.validation_errors_[-1] <= 0.08 < model.validation_errors_[0]
    again = LogReg("reference", target_error=0.08, validation_fraction=0.25, random_state=0, tol=0).fit(X, y)
    np.testing.assert_array_equal(model.coef_, again.coef_)


@pytest.mark.parametrize(
    ("labels", "dtype"),
    [([3, -2], "i4"), ([0, 1], "f4"), ([False, True], "?"), ([5, 6, 7], "u1"), ([1, 2, 9], "i8"), ([-1e6, 1e6], "f4")],
)
def test_labels_on_the_device(device: gpuprims.Device, rng: np.random.Generator, labels: list[Any], dtype: str) -> None:
    X, y = rng.standard_normal((90, 4)).astype("f4"), np.array(labels, dtype)[rng.integers(0, len(labels), 90)]
    given = on_device(device, X), on_device(device, y)
    model, peer = fit(device, *given), fit(device, X, y)
    np.testing.assert_array_equal(model.classes_, np.unique(y))
    assert model.classes_.dtype == y.dtype
    np.testing.assert_array_equal(model.coef_, peer.coef_)
    with pytest.raises(ValueError, match="one class"):
        fit(device, given[0], on_device(device, np.full(90, 1, dtype)))
    with pytest.raises(ValueError, match="a label for each sample"):
        fit(device, given[0], on_device(device, y[:80]))


def test_measured_numbers_on_the_device_are_no_labels(device: gpuprims.Device, rng: np.random.Generator) -> None:
    X = on_device(device, rng.standard_normal((90, 4)).astype("f4"))
    with pytest.raises(ValueError, match="Unknown label type"):
        fit(device, X, on_device(device, rng.standard_normal(90).astype("f4")))


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


# scikit-learn's interface --------------------------------------------------------------------------------------------


def test_all_of_scikit_learns_checks_and_none_skipped() -> None:
    program = """
import warnings
warnings.simplefilter("ignore")
from sklearn.utils.estimator_checks import check_estimator
from gpuprims.models import LogReg, Rates
from gpuprims.models.logreg import features
from gpuprims.models.logreg.objective import Objective
found = check_estimator(LogReg("reference"), on_fail=None, on_skip=None)
for one in found:
    if one["status"] != "passed":
        print(one["check_name"], one["status"], one["exception"])
print(len(found), "checks")
"""
    # Of the standard for arrays, which that check asks SciPy for when it is first imported.
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    told = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert len(told) == 1, told
    assert int(told[0].split()[0]) > 50


def test_in_a_pipeline_and_a_search(cancer: Data) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    search = GridSearchCV(make_pipeline(StandardScaler(), LogReg("reference")), {"logreg__C": [0.01, 1.0]}, cv=3)
    assert search.fit(X, y).score(X, y) > 0.97
    assert clone(search.best_estimator_).get_params()["logreg__C"] == search.best_params_["logreg__C"]


def test_labels_of_any_kind_come_back(iris: Data) -> None:
    X, y = iris
    for labels in (y, y.astype(object), np.searchsorted(np.unique(y), y) * 1.0, y == "setosa"):
        model = LogReg("reference", max_iter=200).fit(X, labels)
        assert set(model.predict(X)) == set(labels)
        assert (model.predict(X) == labels).mean() > 0.9


def test_a_threshold_moves_the_decision(cancer: Data) -> None:
    X, y = cancer
    model = LogReg("reference").fit(X, y)
    for threshold in (0.1, 0.5, 0.9):
        model.set_params(threshold=threshold)
        np.testing.assert_array_equal(model.predict(X) == 1, model.predict_proba(X)[:, 1] > threshold)


@pytest.mark.parametrize("data", ["cancer", "iris"])
def test_a_saved_model_is_the_same(tmp_path: Path, request: pytest.FixtureRequest, data: str) -> None:
    X, y = request.getfixturevalue(data)
    path = tmp_path / "model.npz"
    for labels in (y, y.astype(object) if y.dtype.kind == "U" else y):
        model = LogReg("reference", C=0.3, class_weight="balanced", threshold=0.4).fit(X, labels)
        model.save(path)
        loaded = LogReg.load(path, backend="reference")
        np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
        assert loaded.get_params() == model.get_params()
        assert (loaded.stop_reason_, loaded.loss_curve_) == (model.stop_reason_, model.loss_curve_)
        assert loaded.classes_.dtype == model.classes_.dtype
    assert (pickle.loads(pickle.dumps(model)).coef_ == model.coef_).all()  # noqa: S301 - written here


def test_the_loss_is_drawn(cancer: Data) -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot", reason="matplotlib is not installed")
    model = LogReg("reference").fit(*cancer)
    ax = model.plot_loss(pyplot.figure().gca())
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), model.loss_curve_)
    assert "tolerance" in ax.get_title()


# Arrays of devices ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", ["cancer", "iris"])
def test_samples_on_a_device_stay_there(device: gpuprims.Device, request: pytest.FixtureRequest, data: str) -> None:
    if device.backend == "reference":
        pytest.skip("its arrays are NumPy's, which lie on no device")
    X, y = request.getfixturevalue(data)
    X = X.astype(np.float32)
    there = on_device(device, X)
    model, peer = fit(None, there, y), fit(device, X, y)
    np.testing.assert_array_equal(model.coef_, peer.coef_)
    assert model.n_features_in_ == X.shape[1]
    for method in ("predict_proba", "decision_function", "predict_log_proba"):
        got = getattr(model, method)(there)
        assert type(got) is type(there)
        np.testing.assert_array_equal(on_host(device, got), getattr(peer, method)(X))
    guesses = model.predict(there)  # strings of iris, which no device has, are the host's
    assert type(guesses) is (type(there) if data == "cancer" else np.ndarray)
    np.testing.assert_array_equal(guesses if data == "iris" else on_host(device, guesses), peer.predict(X))


@pytest.mark.parametrize(
    "classes",
    [np.array([False, True]), np.array([3, 250], "u1"), np.array([-7, 0, 40]), np.array([-1.5, 0.0, 2.0], "f4")],
    ids=lambda classes: f"{len(classes)} {classes.dtype}",
)
def test_predictions_and_scores_where_the_samples_are(
    device: gpuprims.Device, rng: np.random.Generator, classes: np.ndarray
) -> None:
    X = rng.standard_normal((90, 4)).astype("f4")
    y, weights = classes[rng.integers(0, len(classes), 90)], rng.random(90).astype("f4")
    model = fit(device, X, y if y.dtype.kind != "f" else y.astype(str)).set_params(threshold=0.4)
    model.classes_ = classes  # of floats, too, which scikit-learn would refuse as labels
    guesses = model.predict(X)
    assert guesses.dtype == classes.dtype
    there = model.predict(on_device(device, X))
    assert type(there) is type(on_device(device, X))
    np.testing.assert_array_equal(on_host(device, there), guesses)
    if classes.dtype.kind == "f":
        return
    score, weighted = np.mean(guesses == y), np.average(guesses == y, weights=weights)
    for samples in (X, on_device(device, X)):
        for labels in (y, on_device(device, y), y.tolist()):
            assert model.score(samples, labels) == pytest.approx(score)
            for given in (weights, on_device(device, weights)):
                assert model.score(samples, labels, given) == pytest.approx(weighted)
    with pytest.raises(ValueError, match="a label for each sample; got 80 for 90"):
        model.score(X, on_device(device, y[:80].copy()))
    if len(classes) == 2:
        rates = Rates.of(on_device(device, y), there, positive=classes[1].item())
        assert rates.error == pytest.approx(1 - score)


def test_a_score_by_torchs_labels(device: gpuprims.Device, cancer: Data) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    X, y = cancer[0].astype(np.float32), cancer[1]
    model = fit(device, X, y, max_iter=20)
    assert model.score(torch.tensor(X), torch.tensor(y), torch.ones(len(y))) == model.score(X, y)


def test_samples_on_a_device_are_checked(device: gpuprims.Device, cancer: Data) -> None:
    if device.backend == "reference":
        pytest.skip("its arrays are NumPy's, which scikit-learn checks")
    X, y = cancer[0].astype(np.float32), cancer[1]
    spoilt = X.copy()
    spoilt[3, 4] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        LogReg().fit(on_device(device, spoilt), y)
    with pytest.raises(ValueError, match="shape"):
        LogReg().fit(on_device(device, X[0]), y)
    with pytest.raises(ValueError, match="a label for each sample"):
        LogReg().fit(on_device(device, X), y[1:])
    with pytest.raises(ValueError, match="30 features"):
        fit(None, on_device(device, X), y).predict(on_device(device, X[:, :7].copy()))
    with pytest.raises(DeviceMismatchError):
        LogReg("reference").fit(on_device(device, X), y)


# Bad input -----------------------------------------------------------------------------------------------------------


def test_a_device_asked_for_is_obeyed_or_raises(cancer: Data) -> None:
    for how in ({"backend": "abacus"}, {"device": "abacus"}):
        with pytest.raises(gpuprims.errors.UnknownDeviceError, match="abacus"):
            LogReg(**how).fit(*cancer)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="got both"):
        LogReg("reference", device="reference").fit(*cancer)
    assert LogReg(device="reference").fit(*cancer).score(*cancer) > 0.9


def test_nan_is_scikit_learns_error(cancer: Data) -> None:
    X = cancer[0].copy()
    X[3, 4] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        LogReg("reference").fit(X, cancer[1])


def test_one_class_is_an_error(cancer: Data) -> None:
    with pytest.raises(ValueError, match="one class"):
        LogReg("reference").fit(cancer[0], np.ones(len(cancer[0])))


def test_weights_that_are_none(cancer: Data) -> None:
    for weights, words in ((np.zeros(569), "non-zero"), (-np.ones(569), "egative"), (np.ones(5), "shape")):
        with pytest.raises(ValueError, match=words):
            LogReg("reference").fit(*cancer, sample_weight=weights)


def test_another_number_of_features_is_an_error(cancer: Data) -> None:
    model = fit("reference", *cancer, max_iter=2)
    with pytest.raises(ValueError, match="30 features"):
        model.predict(cancer[0][:, :7])


def test_predict_before_fit_is_an_error(cancer: Data) -> None:
    with pytest.raises(NotFittedError):
        LogReg("reference").predict(cancer[0])


@pytest.mark.parametrize(
    "wrong",
    [{"C": 0}, {"max_iter": 0}, {"learning_rate": "fast"}, {"tol": "small"}, {"solver": "saga"}, {"threshold": 1}],
)
def test_a_wrong_parameter_is_named(cancer: Data, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        LogReg("reference", **wrong).fit(*cancer)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8"])
def test_second_derivatives_by_blocks_and_by_folds(
    device: gpuprims.Device, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, dtype: str
) -> None:
    need(device, np.float64 if dtype == "float64" else np.float32)
    monkeypatch.setattr(features, "_BLOCK", 1000)
    X = (9 * rng.standard_normal((503, 7))).astype(dtype)
    slopes = rng.random((503, 1)).astype("float64" if dtype == "float64" else "float32")
    exact = X.astype(np.float64).T @ (slopes * X.astype(np.float64))
    for gram in (features.gram_by_blocks, features.gram_by_reduce):
        got = gram(device, device.asarray(X), device.asarray(slopes))
        assert got.dtype == np.float64
        np.testing.assert_allclose(got, exact, rtol=0, atol=1e-5 * np.abs(exact).max())
