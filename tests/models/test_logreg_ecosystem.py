"""LogReg and LogRegCV among scikit-learn's tools: array API dispatch, DataFrames, routing, pickles."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import sklearn
from kernel_cases import on_device, on_host
from logreg_cases import Data, fit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gpuprims
from gpuprims.models import LogReg, LogRegCV

KINDS = pytest.mark.parametrize("kind", [LogReg, LogRegCV])


def test_arrays_of_the_standard_come_back() -> None:
    """In a process of its own, as SciPy reads its switch for the standard when it is imported."""
    pytest.importorskip("array_api_strict", reason="array-api-strict is not installed")
    program = """
import array_api_strict as xp, numpy as np, sklearn, warnings
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from gpuprims.models import LogReg, LogRegCV
warnings.simplefilter("ignore")
X, y = load_breast_cancer(return_X_y=True)
for kind in (LogReg("reference"), LogReg("reference", l1_ratio=1), LogRegCV("reference", Cs=2, cv=3)):
    peer = make_pipeline(StandardScaler(), kind).fit(X, y)
    with sklearn.config_context(array_api_dispatch=True):
        model = make_pipeline(StandardScaler(), kind).fit(xp.asarray(X), xp.asarray(y), **{
            type(kind).__name__.lower() + "__sample_weight": xp.ones(len(y))})
        for method in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
            found, expected = getattr(model, method)(xp.asarray(X)), getattr(peer, method)(X)
            assert type(found) is type(xp.asarray(X)), (kind, method, type(found))
            assert type(expected) is np.ndarray
            np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-5, atol=1e-5)
        assert model.score(xp.asarray(X), xp.asarray(y)) == peer.score(X, y)
        assert type(model[-1].coef_) is np.ndarray
for params in ({"C": 0.1}, {"l1_ratio": 1}):
    pipeline = make_pipeline(StandardScaler(), LogReg("reference", **params))
    expected = cross_val_score(pipeline, X, y, cv=3)
    with sklearn.config_context(array_api_dispatch=True):
        np.testing.assert_allclose(cross_val_score(pipeline, xp.asarray(X), xp.asarray(y), cv=3), expected)
with sklearn.config_context(array_api_dispatch=True):
    found = GridSearchCV(LogReg("reference"), {"C": [0.1, 1]}, cv=3).fit(xp.asarray(scale(X)), xp.asarray(y))
assert found.best_score_ > 0.97
"""
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    told = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr


@pytest.mark.parametrize("library", ["torch", "cupy"])
@KINDS
def test_tensors_on_the_gpu_come_back(library: str, kind: Any) -> None:
    xp = pytest.importorskip(library, reason=f"{library} is not installed")
    if not (xp.cuda.is_available() if library == "torch" else xp.cuda.runtime.getDeviceCount()):
        pytest.skip("no NVIDIA GPU")
    program = f"""
import numpy as np, {library} as xp, sklearn
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from gpuprims.models import {kind.__name__} as kind
rng = np.random.default_rng(0)
X = rng.standard_normal((900, 6)).astype("f4")
y = (X[:, 0] + rng.logistic(size=900) > 0).astype("i4")
def there(a):
    return xp.asarray(a, device="cuda") if {library == "torch"} else xp.asarray(a)
Xt, yt = there(X), there(y)
for given in (kind(), kind(cv=3) if kind.__name__ == "LogRegCV" else kind(l1_ratio=1)):
    model = given.fit(Xt, yt)
    guess = model.predict(Xt)
    assert type(guess) is type(Xt) and guess.device == Xt.device
    plain = float(np.mean(model.predict(X) == y))
    assert abs(model.score(Xt, yt) - plain) < 1e-6
    assert abs(model.score(Xt, yt, sample_weight=there(np.ones(900, "f4"))) - plain) < 1e-6
    assert abs(model.score(X, yt) - plain) < 1e-6
    with sklearn.config_context(array_api_dispatch=True):
        pipeline = make_pipeline(StandardScaler(), given).fit(Xt, yt)
        assert type(pipeline.predict_proba(Xt)) is type(Xt)
        assert abs(pipeline.score(Xt, yt) - plain) < 0.02
        assert cross_val_score(pipeline, Xt, yt, cv=3).mean() > 0.6
if {library == "torch"}:
    with sklearn.config_context(array_api_dispatch=True):
        model = kind("cuda").fit(xp.asarray(X), xp.asarray(y))
        assert type(model.predict(xp.asarray(X))) is type(Xt)
"""
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    told = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr


@KINDS
def test_the_score_of_labels_on_a_device(device: gpuprims.Device, cancer: Data, kind: Any) -> None:
    X, y = cancer[0][:, :6].astype("f4"), cancer[1].astype("i4")
    weight = np.linspace(0, 1, len(y), dtype="f4")
    model = kind(device).fit(X, y)
    there = [on_device(device, one) for one in (X, y, weight)]
    expected = float(np.average(model.predict(X) == y, weights=weight))
    assert model.score(there[0], there[1], sample_weight=there[2]) == pytest.approx(expected, abs=1e-6)
    assert model.score(X, there[1]) == model.score(there[0], y) == model.score(X, y)
    assert (on_host(device, model.predict(there[0])) == model.predict(X)).all()


# DataFrames ----------------------------------------------------------------------------------------------------------


@KINDS
@pytest.mark.parametrize("form", ["numbers", "nullable", "texts", "categories"])
def test_frames_of_pandas(cancer: Data, kind: Any, form: str) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    X, y = cancer[0][:, :4], cancer[1]
    labels = np.where(y > 0, "good", "bad") if form in ("texts", "categories") else y
    frame = pandas.DataFrame(X, columns=list("abcd"), index=np.arange(len(y))[::-1])
    series = pandas.Series(labels, index=frame.index)
    if form == "nullable":
        frame, series = frame.astype("Float64"), series.astype("Int64")
    if form == "categories":
        series = series.astype("category")
    model, peer = kind("reference").fit(frame, series), kind("reference").fit(X, labels)
    np.testing.assert_array_equal(model.coef_, peer.coef_)
    assert model.feature_names_in_.tolist() == list("abcd")
    assert model.score(frame, series) == peer.score(X, labels)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[list("dcba")])
    with pytest.warns(UserWarning, match="feature names"):
        model.predict(X)
    assert isinstance(model.predict(frame), np.ndarray)


@KINDS
@pytest.mark.parametrize("form", ["texts", "numbers", "bools", "categories"])
def test_frames_of_polars(cancer: Data, kind: Any, form: str) -> None:
    polars = pytest.importorskip("polars", reason="polars is not installed")
    X, y = cancer[0][:, :4], cancer[1]
    labels = {"numbers": y, "bools": y > 0}.get(form, np.where(y > 0, "good", "bad"))
    frame, series = polars.DataFrame(X, schema=list("abcd")), polars.Series(labels)
    if form == "categories":
        series = series.cast(polars.Categorical)
    weight = np.linspace(0, 1, len(y))
    model, peer = kind("reference").fit(frame, series, polars.Series(weight)), kind("reference").fit(X, labels, weight)
    np.testing.assert_array_equal(model.coef_, peer.coef_)
    assert model.feature_names_in_.tolist() == list("abcd")
    np.testing.assert_array_equal(model.predict(frame), peer.predict(X))
    assert model.score(frame, series) == peer.score(X, labels)
    with pytest.raises(ValueError, match="feature names of the fit, in its order; got another order"):
        model.predict(frame[:, list("dcba")])
    with pytest.raises(ValueError, match=r"features that are numbers; got other objects \(collect"):
        kind("reference").fit(frame.lazy(), series)
    with pytest.raises(ValueError, match="finite features; got NaN in X"):
        model.predict(frame.with_columns(polars.lit(None, polars.Float64).alias("a")))


# Weights and routing -------------------------------------------------------------------------------------------------


def test_weights_are_routed_through_a_pipeline(cancer: Data, rng: np.random.Generator) -> None:
    X, y = cancer
    weight = rng.random(len(y))
    folds = KFold(3, shuffle=True, random_state=0)
    with sklearn.config_context(enable_metadata_routing=True):
        scores = []
        for kind in (LogReg("reference", tol=1e-8, max_iter=500), LogisticRegression(tol=1e-10, max_iter=5000)):
            asking = kind.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
            scaler = StandardScaler().set_fit_request(sample_weight=True)
            pipeline = make_pipeline(scaler, asking)
            params = {"sample_weight": weight}
            scores.append(cross_validate(pipeline, X, y, cv=folds, params=params)["test_score"])
        np.testing.assert_allclose(*scores, atol=1e-9)
        asking = LogReg("reference").set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
        searched = GridSearchCV(asking, {"C": [0.1, 1.0]}, cv=folds)
        assert searched.fit(X, y, sample_weight=weight).best_score_ > 0.9


# Pickles -------------------------------------------------------------------------------------------------------------


@KINDS
def test_a_pickle_names_no_device(device: gpuprims.Device, cancer: Data, kind: Any) -> None:
    X, y = cancer[0][:, :4].astype("f4"), cancer[1]
    for how in ({"backend": device}, {"device": device}):
        model = kind(**how).fit(X, y)
        written = pickle.dumps(model)
        assert b"gpuprims.core.device" not in written
        again = pickle.loads(written)  # noqa: S301 - written here
        assert again.get_params()[next(iter(how))] == device.spec
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
        there = pickle.loads(written).set_params(backend=None, device="reference")  # noqa: S301 - written here
        np.testing.assert_allclose(there.predict_proba(X), model.predict_proba(X), atol=1e-6)
        assert clone(model).get_params()[next(iter(how))] is device


def test_weights_are_plain_numbers_for_other_tools(cancer: Data) -> None:
    """The weights of a fit, of any solver, serve scikit-learn's own class, and so its exporters."""
    X, y = cancer
    peer = LogisticRegression().fit(X, y)
    for how in ({}, {"l1_ratio": 0.5}, {"solver": "newton-cholesky"}):
        model = fit("reference", X, y, **how)
        peer.coef_, peer.intercept_ = model.coef_, model.intercept_
        np.testing.assert_allclose(peer.predict_proba(X), model.predict_proba(X), atol=1e-12)
