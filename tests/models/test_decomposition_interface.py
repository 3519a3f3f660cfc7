"""PCA, PPCA, FactorAnalysis and SparsePCA among scikit-learn's tools, arrays of any library, and bad input."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from decomposition_cases import MODELS, hidden_causes
from kernel_cases import on_device, on_host
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import gpuprims
from gpuprims.errors import ArgumentError, ArrayError, DtypeError, UnknownDeviceError, UnknownKeywordError
from gpuprims.models import PCA, PPCA, FactorAnalysis, LogReg, SparsePCA

EACH = pytest.mark.parametrize("name", MODELS)


def model_of(name: str, components: int | None, device: Any = "reference") -> Any:
    kind, how = MODELS[name]
    return kind(components, **how, device=device)


def test_all_of_scikit_learns_checks_and_none_skipped() -> None:
    program = """
import warnings
warnings.simplefilter("ignore")
from sklearn.utils.estimator_checks import check_estimator
from gpuprims.models import PCA, PPCA, FactorAnalysis, SparsePCA
how = {"device": "reference"}
for one in (PCA(**how), PPCA(**how), PPCA(method="em", max_iter=5, **how), FactorAnalysis(**how),
            SparsePCA(max_iter=5, **how)):
    found = check_estimator(one, on_fail=None, on_skip=None)
    assert len(found) > 40
    for check in found:
        if check["status"] != "passed":
            print(one, check["check_name"], check["status"], check["exception"])
"""
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    told = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert not told.stdout, told.stdout


@EACH
def test_arrays_of_the_device_come_back(device: gpuprims.Device, name: str) -> None:
    X = hidden_causes(90, 6).astype("f4")
    there = on_device(device, X)
    model = model_of(name, 2, device).fit(there)
    hidden = model.transform(there)
    assert type(hidden) is type(there)
    back = model.inverse_transform(hidden)
    assert type(back) is type(there)
    np.testing.assert_allclose(on_host(device, hidden), model.transform(X), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(on_host(device, back), model.inverse_transform(on_host(device, hidden)), rtol=1e-5)
    assert type(model.components_) is type(model.mean_) is np.ndarray
    if hasattr(model, "score_samples"):
        there_scored = on_host(device, model.score_samples(there))
        np.testing.assert_allclose(there_scored, model.score_samples(X), rtol=1e-4)


@EACH
def test_layouts_dtypes_and_tensors(name: str) -> None:
    X = np.round(hidden_causes(60, 5) * 4)
    expected = model_of(name, 2).fit(X).components_
    forms = [np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2], X.astype("i4"), X.tolist()]
    if (torch := sys.modules.get("torch")) is not None:
        forms.append(torch.asarray(X))
    for form in forms:
        np.testing.assert_allclose(model_of(name, 2).fit(form).components_, expected, rtol=1e-8, atol=1e-10)


@EACH
def test_names_pickles_clones_and_pipelines(name: str) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    X = hidden_causes(80, 5)
    model = model_of(name, 2).fit(pandas.DataFrame(X, columns=list("abcde")))
    kind = type(model).__name__.lower()
    assert model.get_feature_names_out().tolist() == [f"{kind}0", f"{kind}1"]
    assert model.feature_names_in_.tolist() == list("abcde")
    again = pickle.loads(pickle.dumps(model))  # noqa: S301 - written here
    np.testing.assert_array_equal(again.components_, model.components_)
    assert clone(model).get_params() == model.get_params()
    y = X[:, 0] > 0
    search = GridSearchCV(
        make_pipeline(model_of(name, 2), LogReg("reference")), {f"{kind}__n_components": [1, 2]}, cv=2
    )
    assert search.fit(X, y).score(X, y) > 0.6


@EACH
def test_a_float16_array_is_fitted_in_float64_on_the_host(name: str) -> None:
    X = hidden_causes(60, 4).astype("f2")
    assert model_of(name, 1).fit(X).components_.dtype == np.float64


# Bad input -----------------------------------------------------------------------------------------------------------


@EACH
@pytest.mark.parametrize("where", ["host", "device"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_values_that_are_not_finite(device: gpuprims.Device, name: str, bad: float, where: str) -> None:
    X = hidden_causes(50, 4).astype("f4")
    model = model_of(name, 2, device).fit(X)
    X[7, 2] = bad
    given = on_device(device, X) if where == "device" else X
    for call in (model.fit, model.transform, *([model.score] if hasattr(model, "score") else [])):
        with pytest.raises(ArgumentError, match=r"NaN|infinity"):
            call(given)


@EACH
def test_samples_of_a_wrong_form(name: str) -> None:
    X = hidden_causes(20, 4)
    model, label = model_of(name, 2), MODELS[name][0].__name__
    with pytest.raises(NotFittedError, match=f"{label}: a fitted model"):
        model.transform(X)
    for given, error, words in (
        (X[0], ArgumentError, r"X of shape \(n_samples, n_features\)"),
        (X + 1j, ArgumentError, "real features"),
        (np.ma.masked_less(X, 0), ArrayError, "mask"),
        ([["a", "b"]], ArgumentError, "numbers"),
        (X[:1], ArgumentError, "at least two samples; got n_samples=1"),
        (np.full((20, 4), 1e300), None, ""),
        (X * 1e200, ArgumentError, "squares are finite"),
    ):
        if error is not None and not (name == "PPCA by EM" and "squares" in words):
            with pytest.raises(error, match=words):
                model_of(name, 1).fit(given)
    from scipy import sparse

    with pytest.raises(DtypeError, match="dense"):
        model.fit(sparse.csr_array(X))
    model.fit(X)
    with pytest.raises(ArgumentError, match="4 features, as in the fit; got 3"):
        model.transform(X[:, :3])
    with pytest.raises(ArgumentError, match=r"inverse_transform: X of shape \(n_samples, 2\); got shape \(20, 3\)"):
        model.inverse_transform(X[:, :3])


@EACH
def test_parameters_that_are_wrong(name: str) -> None:
    X, (kind, _) = hidden_causes(20, 4), MODELS[name]
    label = kind.__name__
    with pytest.raises(UnknownKeywordError, match=f"{label}: .*svd_solver"):
        kind(2, svd_solver="full")
    with pytest.raises(ArgumentError, match=rf"{label}: n_components= up to 4 for these samples; got 9"):
        model_of(name, 9).fit(X)
    with pytest.raises(ArgumentError, match="n_components"):
        model_of(name, -1).fit(X)
    with pytest.raises(UnknownDeviceError, match="abacus"):
        kind(2, device="abacus").fit(X)
    with pytest.raises(ArgumentError, match=f"{label}: backend= or device=; got both"):
        kind(2, device="reference", backend="reference").fit(X)


def test_errors_of_one_model_alone() -> None:
    X = hidden_causes(20, 4)
    with pytest.raises(ArgumentError, match=r"noise_variance_init= 4 numbers above 0"):
        FactorAnalysis(1, noise_variance_init=[1, 2, 3], device="reference").fit(X)
    with pytest.raises(ArgumentError, match="method= one of 'eigen', 'em'"):
        PPCA(1, method="svd", device="reference").fit(X)
    with pytest.raises(ArgumentError, match='as many samples as features for n_components="mle"'):
        PCA("mle", device="reference").fit(X[:3])
    with pytest.raises(ArgumentError, match="alpha"):
        SparsePCA(1, alpha=-1, device="reference").fit(X)
    model = PCA(1, device="reference").fit(X)
    for wrong in (0, 2.5, True, "3"):
        with pytest.raises(ArgumentError, match="n_samples= a whole number above 0"):
            model.sample(wrong)
    with pytest.raises(ArgumentError, match="noise= True or False"):
        model.sample(3, noise="yes")  # type: ignore[arg-type]
    equal = PCA(1, device="reference").fit(np.ones((9, 2)))
    with pytest.raises(ArgumentError, match="samples that vary, for likelihoods"):
        equal.score(np.ones((3, 2)))


@pytest.mark.parametrize("kind", [PCA, PPCA])
def test_likelihoods_of_features_that_others_determine(kind: Any) -> None:
    X = hidden_causes(50, 4)
    X = np.column_stack([X, X[:, 0] + X[:, 1], np.ones(50)])
    model = kind(device="reference").fit(X)
    on, off = model.score_samples(X), model.score_samples(X + np.arange(6) * 0.01)
    assert np.isfinite(on).all()
    assert (on > off + 1e6).all()
    np.testing.assert_allclose(model.score(X), on.mean(), rtol=0.01)  # both divide rounding by rounding
