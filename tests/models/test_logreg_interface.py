"""LogReg behind scikit-learn's interface, and its errors."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from logreg_cases import Data, fit
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gpuprims
from gpuprims.errors import ArgumentError
from gpuprims.models import LogReg


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
    for weights, words in ((np.zeros(569), "zeros alone"), (-np.ones(569), "egative"), (np.ones(5), "shape")):
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
