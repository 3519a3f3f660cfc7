"""LogRegCV beside scikit-learn's LogisticRegressionCV: paths, scores, choice, folds, routing."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
import sklearn
from kernel_cases import on_device
from logreg_cases import Data, need_float64
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import get_scorer
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit

import gpuprims
from gpuprims.errors import ArgumentError
from gpuprims.models import LogReg, LogRegCV
from gpuprims.models.logreg import folds, paths

HAS_NEW_ATTRIBUTES = "use_legacy_attributes" in LogisticRegressionCV().get_params()
pytestmark = pytest.mark.skipif(not HAS_NEW_ATTRIBUTES, reason="scikit-learn before 1.8 has other attributes")


def peer_of(X: Any, y: Any, sample_weight: Any = None, **how: Any) -> LogisticRegressionCV:
    solver = "saga" if any(how.get("l1_ratios", (0.0,))) else "lbfgs"
    given = {"l1_ratios": (0.0,), "scoring": None, "tol": 1e-8, "max_iter": 10000, "solver": solver, **how}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return LogisticRegressionCV(use_legacy_attributes=False, **given).fit(X, y, sample_weight)


def compare(model: LogRegCV, peer: LogisticRegressionCV, bound: float = 2e-3) -> None:
    for name in ("Cs_", "l1_ratios_", "C_", "l1_ratio_"):
        np.testing.assert_allclose(getattr(model, name), getattr(peer, name))
    assert type(model.C_) is type(model.l1_ratio_) is float
    assert model.n_iter_.shape == peer.n_iter_.shape
    for name in ("scores_", "coefs_paths_", "coef_", "intercept_"):
        assert getattr(model, name).shape == getattr(peer, name).shape
        np.testing.assert_allclose(getattr(model, name), getattr(peer, name), atol=bound)


@pytest.mark.parametrize("scoring", [None, "neg_log_loss"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("data", ["cancer", "iris"])
def test_scikit_learns_choice(
    device: gpuprims.Device, request: pytest.FixtureRequest, data: str, intercept: bool, scoring: Any
) -> None:
    need_float64(device)
    X, y = request.getfixturevalue(data)
    how: dict[str, Any] = {"Cs": [0.001, 0.05, 2.0], "cv": 3, "fit_intercept": intercept, "scoring": scoring}
    model = LogRegCV(device, tol=1e-7, max_iter=500, **how).fit(X, y)
    peer = peer_of(X, y, **how)
    compare(model, peer)
    assert model.score(X, y) == pytest.approx(peer.score(X, y), abs=1e-4)
    np.testing.assert_array_equal(model.predict(X), peer.predict(X))


@pytest.mark.parametrize("form", ["dense", "csr"])
def test_a_grid_of_ratios(form: str, iris: Data) -> None:
    X, y = iris
    how: dict[str, Any] = {"Cs": [0.1, 0.5], "l1_ratios": [0.2, 1.0], "cv": 3, "scoring": "neg_log_loss"}
    model = LogRegCV("reference", tol=1e-9, **how).fit(X if form == "dense" else sparse.csr_array(X), y)
    compare(model, peer_of(X, y, **how))
    assert model.dual_gap_ < 1e-8


def test_one_launch_and_paths_agree(device: gpuprims.Device, cancer: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    need_float64(device)
    X, y = cancer[0][:, :6], cancer[1]
    how: dict[str, Any] = {"Cs": 4, "cv": 3, "tol": 1e-7, "max_iter": 500, "scoring": "neg_log_loss"}
    together = LogRegCV(device, **how).fit(X, y)
    for module in (folds, paths):
        monkeypatch.setattr(module, "SIDE_BY_SIDE", 0)
    monkeypatch.setattr(paths, "MOST_PRODUCTS", 0)
    apart = LogRegCV(device, **how).fit(X, y)
    assert (together.n_iter_ != apart.n_iter_).any()
    np.testing.assert_allclose(together.scores_, apart.scores_, atol=1e-5)
    np.testing.assert_allclose(together.coefs_paths_, apart.coefs_paths_, atol=1e-2, rtol=1e-3)
    assert together.C_ == apart.C_


def test_means_of_folds_without_a_refit(cancer: Data) -> None:
    X, y = cancer[0][:, :5], cancer[1]
    how: dict[str, Any] = {"Cs": [0.001, 0.1, 10.0], "cv": 4, "refit": False, "scoring": "neg_log_loss"}
    compare(LogRegCV("reference", tol=1e-8, **how).fit(X, y), peer_of(X, y, **how))


@pytest.mark.parametrize("weight", ["balanced", {0: 2.0, 1: 0.5}])
def test_weights_of_classes_and_samples(cancer: Data, rng: np.random.Generator, weight: Any) -> None:
    X, y = cancer[0][:, :5], cancer[1]
    sample_weight = rng.random(len(y))
    how: dict[str, Any] = {"Cs": [0.001, 0.1], "cv": 3, "class_weight": weight, "scoring": "neg_log_loss"}
    model = LogRegCV("reference", tol=1e-8, **how).fit(X, y, sample_weight)
    compare(model, peer_of(X, y, sample_weight, **how))


@pytest.mark.parametrize("scoring", ["roc_auc", "f1", "neg_brier_score", "own"])
def test_other_scores(cancer: Data, scoring: Any) -> None:
    X, y = cancer[0][:, :5], cancer[1]

    def own(estimator: Any, X: Any, y: Any) -> float:
        assert X.shape == (len(y), 5)
        return float((estimator.decision_function(X) * (2 * y - 1)).mean())

    how: dict[str, Any] = {"Cs": [0.001, 0.1], "cv": 3, "scoring": own if scoring == "own" else scoring}
    compare(LogRegCV("reference", tol=1e-8, **how).fit(X, y), peer_of(X, y, **how))


@pytest.mark.parametrize("cv", [KFold(3, shuffle=True, random_state=1), ShuffleSplit(2, random_state=0)])
def test_other_folds(iris: Data, cv: Any) -> None:
    how: dict[str, Any] = {"Cs": [0.01, 0.1], "cv": cv, "scoring": "neg_log_loss"}
    compare(LogRegCV("reference", tol=1e-8, **how).fit(*iris), peer_of(*iris, **how))


def test_rows_and_masks_are_folds(cancer: Data) -> None:
    X, y = cancer[0][:, :4], cancer[1]
    mask = np.arange(len(y)) % 3 == 0
    pairs = [(np.flatnonzero(~mask), np.flatnonzero(mask))], [(~mask, mask)]
    first, second = (LogRegCV("reference", cv=one, Cs=2).fit(X, y) for one in pairs)
    np.testing.assert_array_equal(first.scores_, second.scores_)


def test_samples_on_a_device(device: gpuprims.Device, cancer: Data) -> None:
    X, y = cancer[0][:, :5].astype("f4"), cancer[1].astype("i4")
    how: dict[str, Any] = {"Cs": [0.01, 1.0], "cv": 3, "scoring": "neg_log_loss"}
    there = on_device(device, X), on_device(device, y)
    model, peer = LogRegCV(device, **how).fit(*there), LogRegCV(device, **how).fit(X, y)
    # A CPU's products of host arrays are NumPy's.
    rounding = 1e-5 if device.capabilities.kind == "cpu" else 0
    np.testing.assert_allclose(model.scores_[1], peer.scores_[1], rtol=rounding)
    expected = pytest.approx(get_scorer("neg_log_loss")(peer, X, y), abs=1e-5)
    assert model.score(*there) == expected
    assert peer.score(X, y) == expected
    if device.backend != "reference":
        with pytest.raises(ArgumentError, match="scoring="):
            LogRegCV(device, cv=3, Cs=2, scoring=lambda *_: 0.0).fit(*there)


def test_parameters_are_routed(cancer: Data, rng: np.random.Generator) -> None:
    X, y = cancer[0][:, :4], cancer[1]
    groups, weight = rng.integers(0, 6, len(y)), rng.random(len(y))
    with pytest.raises(ArgumentError, match=r"routing; got groups"):
        LogRegCV("reference").fit(X, y, groups=groups)
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = get_scorer("neg_log_loss").set_score_request(sample_weight=True)
        model = LogRegCV("reference", cv=GroupKFold(3), Cs=[0.01, 1.0], scoring=scorer, tol=1e-8)
        model.set_fit_request(sample_weight=True).fit(X, y, sample_weight=weight, groups=groups)
        peer = LogisticRegressionCV(
            cv=GroupKFold(3), Cs=[0.01, 1.0], scoring=scorer, tol=1e-8, l1_ratios=(0.0,), use_legacy_attributes=False
        )
        peer.set_fit_request(sample_weight=True).fit(X, y, sample_weight=weight, groups=groups)
        compare(model, peer)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"Cs": [0.0, 1.0]}, "Cs= numbers above 0"),
        ({"Cs": []}, "Cs="),
        ({"l1_ratios": (0.5, 1.5)}, "l1_ratios= numbers from 0 to 1"),
        ({"scoring": "best"}, "scoring="),
        ({"solver": "gd"}, "solver="),
        ({"cv": [(np.arange(5), np.arange(5, 9))]}, r"train on two classes or more; got \['a'\] in fold 0"),
    ],
)
def test_wrong_parameters(wrong: dict[str, Any], words: str) -> None:
    X, y = np.arange(20.0).reshape(-1, 1), np.repeat(["a", "b"], 10)
    with pytest.raises(ArgumentError, match=words):
        LogRegCV("reference", **wrong).fit(X, y)


def test_fits_that_end_early_warn_once(iris: Data) -> None:
    with pytest.warns(ConvergenceWarning, match=r"max_iter=1 .* got \d+ of 7 fits") as seen:
        LogRegCV("reference", max_iter=1, Cs=2, cv=3).fit(*iris)
    assert len(seen) == 1


def test_the_choice_is_that_of_single_fits(cancer: Data) -> None:
    X, y = cancer
    model = LogRegCV("reference", Cs=[0.01, 0.3], l1_ratios=(1,), cv=3, tol=1e-9).fit(X, y)
    one = LogReg("reference", C=model.C_, l1_ratio=1, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(model.coef_, one.coef_, atol=1e-4)
    again = pickle.loads(pickle.dumps(model))  # noqa: S301 - written here
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
