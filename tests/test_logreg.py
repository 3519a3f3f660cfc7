"""LogReg: the article's iteration, scikit-learn's interface, the same answer on every device."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import gpuprims
from gpuprims.models import LogReg


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def descend(X, y, *, rate, l2, iterations):
    """The article's loop in float64 NumPy, with a free intercept; returns the weights and every loss per sample."""
    X = np.hstack([X, np.ones((len(X), 1))])
    penalty = np.full(X.shape[1], l2)
    penalty[-1] = 0
    weights, losses = np.zeros(X.shape[1]), []
    for _ in range(iterations):
        scores = X @ weights
        losses.append((np.logaddexp(0, scores).sum() - y @ scores + (penalty * weights**2).sum() / 2) / len(X))
        weights = weights + rate * (X.T @ (y - 1 / (1 + np.exp(-scores))) - penalty * weights)
    return weights, losses


def fit(device, X, y, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return LogReg(device, **parameters).fit(X, y)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_iterations_are_those_of_the_article(device, cancer, dtype):
    if dtype is np.float64 and not device.capabilities.fp64:
        pytest.skip("the device has no float64")
    X, y = cancer
    model = fit(device, X.astype(dtype), y, learning_rate=1e-3, l2=0.5, max_iter=100, tol=0)
    weights, losses = descend(X, y, rate=1e-3, l2=0.5, iterations=100)
    bound = 1e-10 if dtype is np.float64 else 2e-4
    np.testing.assert_allclose(model.coef_[0], weights[:-1], rtol=bound, atol=bound)
    np.testing.assert_allclose(model.intercept_, weights[-1:], rtol=bound, atol=bound)
    np.testing.assert_allclose(model.loss_curve_, losses, rtol=bound)
    assert model.coef_.dtype == dtype
    assert model.n_iter_ == 100


def test_the_automatic_step_descends_to_scikit_learns_optimum(device, cancer):
    X, y = cancer
    X = X.astype(np.float32)
    model = fit(device, X, y, max_iter=4000, tol=1e-4)
    peer = LogisticRegression(tol=1e-8, max_iter=1000).fit(X, y)
    assert np.all(np.diff(model.loss_curve_) < 1e-6)
    scores = peer.decision_function(X).astype(np.float64)
    optimum = (np.logaddexp(0, scores).sum() - y @ scores + (peer.coef_**2).sum() / 2) / len(X)
    assert model.loss_curve_[-1] == pytest.approx(optimum, rel=5e-3)
    assert (model.predict(X) == peer.predict(X)).mean() > 0.99


def test_probabilities_follow_the_scores(device, cancer):
    X, y = cancer
    model = fit(device, X, y, max_iter=50)
    expected = 1 / (1 + np.exp(-(X @ model.coef_[0] + model.intercept_)))
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expected, rtol=1e-5)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    assert set(model.predict(X)) == {0, 1}
    assert model.score(X, y) > 0.95


def test_without_an_intercept_scores_pass_through_the_origin(device, cancer):
    X, y = cancer
    model = fit(device, X, y, max_iter=20, fit_intercept=False)
    assert model.intercept_.tolist() == [0]
    np.testing.assert_allclose(model.decision_function(np.zeros((1, X.shape[1]))), 0)


def test_labels_of_any_kind_come_back(cancer):
    X, y = cancer
    named = np.where(y == 1, "benign", "malignant")
    model = fit("reference", X, named, max_iter=50)
    assert model.classes_.tolist() == ["benign", "malignant"]
    assert (model.predict(X) == named).mean() > 0.9


def test_same_bits_from_run_to_run(device, cancer):
    X, y = cancer
    first, second = (fit(device, X.astype(np.float32), y, max_iter=30).coef_ for _ in range(2))
    assert first.tobytes() == second.tobytes()


def test_verbose_shows_a_progress_bar(cancer, capsys):
    X, y = cancer
    fit("reference", X, y, max_iter=3, verbose=True)
    shown = capsys.readouterr().err
    assert "LogReg" in shown
    assert "3/3" in shown
    fit("reference", X, y, max_iter=3)
    assert capsys.readouterr().err == ""


def test_too_few_iterations_are_warned_of(cancer):
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        LogReg("reference", max_iter=2).fit(*cancer)


def test_a_device_asked_for_is_obeyed_or_raises(cancer):
    with pytest.raises(gpuprims.errors.UnknownDeviceError, match="abacus"):
        LogReg("abacus").fit(*cancer)


def test_nan_is_scikit_learns_error(cancer):
    X, y = cancer
    X = X.copy()
    X[3, 4] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        LogReg("reference").fit(X, y)


def test_one_class_is_an_error(cancer):
    X, _ = cancer
    with pytest.raises(ValueError, match="one class"):
        LogReg("reference").fit(X, np.ones(len(X)))


def test_three_classes_are_an_error(cancer):
    X, _ = cancer
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        LogReg("reference").fit(X, np.arange(len(X)) % 3)


def test_another_number_of_features_is_an_error(cancer):
    X, y = cancer
    model = fit("reference", X, y, max_iter=2)
    with pytest.raises(ValueError, match="30 features"):
        model.predict(X[:, :7])


def test_predict_before_fit_is_an_error(cancer):
    with pytest.raises(NotFittedError):
        LogReg("reference").predict(cancer[0])


@pytest.mark.parametrize("wrong", [{"l2": -1}, {"max_iter": 0}, {"learning_rate": "fast"}, {"tol": "small"}])
def test_a_wrong_parameter_is_named(cancer, wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        LogReg("reference", **wrong).fit(*cancer)


@parametrize_with_checks([LogReg("reference")])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)
