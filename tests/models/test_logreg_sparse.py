"""LogReg on sparse samples."""

from __future__ import annotations

import tracemalloc
import warnings
from functools import partial
from typing import Any

import logreg_cases
import numpy as np
import pytest
from csr_cases import WRONG, assert_product, beside, rows_of
from logreg_cases import need_float64
from scipy import sparse
from sklearn.linear_model import LogisticRegression

import gpuprims
from gpuprims.errors import ArgumentError
from gpuprims.models import LogReg
from gpuprims.models.sparse_features import SparseFeatures

fit = partial(logreg_cases.fit, random_state=0)
SOLVERS = ("lbfgs", "newton-cholesky", "gd", "minibatch")


def labelled(rng: np.random.Generator, classes: int, dtype: Any = "f8") -> tuple[sparse.csr_array, np.ndarray]:
    """Return samples, of which some are empty, and labels that are not quite linear in them."""
    lengths = rng.integers(0, 12, 600)
    lengths[5] = 0
    X = rows_of(rng, lengths, 40, dtype)
    X.data[::9] = 0
    scores = X @ rng.standard_normal((40, classes)) + 0.5 * rng.standard_normal((600, classes))
    return X, scores.argmax(axis=1)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("intercept", [True, False])
def test_sparse_samples_are_as_dense_ones(
    device: gpuprims.Device, solver: str, classes: int, intercept: bool, rng: np.random.Generator
) -> None:
    need_float64(device)
    X, y = labelled(rng, classes)
    how: dict[str, Any] = {"solver": solver, "fit_intercept": intercept, "max_iter": 40, "batch_size": 70}
    how["sample_weight"] = rng.random(len(y))
    model, peer = fit(device, X, y, **how), fit(device, X.toarray(), y, **how)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-6)
    np.testing.assert_allclose(model.intercept_, peer.intercept_, atol=1e-6)
    for method in ("predict_proba", "decision_function", "predict_log_proba"):
        got = getattr(model, method)(X)
        assert type(got) is np.ndarray
        np.testing.assert_allclose(got, getattr(model, method)(X.toarray()), atol=1e-9)
    np.testing.assert_array_equal(model.predict(X), model.predict(X.toarray()))
    assert model.score(X, y) == model.score(X.toarray(), y)


@pytest.mark.parametrize("solver", ["lbfgs", "newton-cholesky"])
@pytest.mark.parametrize("classes", [2, 3])
def test_scikit_learns_optimum(device: gpuprims.Device, solver: str, classes: int, rng: np.random.Generator) -> None:
    need_float64(device)
    X, y = labelled(rng, classes)
    model = fit(device, X, y, solver=solver, tol=1e-8, max_iter=500)
    peer = LogisticRegression(tol=1e-10, max_iter=5000).fit(X, y)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=2e-4)
    np.testing.assert_allclose(model.intercept_, peer.intercept_, atol=2e-4)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("classes", [2, 4])
def test_float32_stays_float32(device: gpuprims.Device, solver: str, classes: int, rng: np.random.Generator) -> None:
    X, y = labelled(rng, classes, "f4")
    how: dict[str, Any] = {"solver": solver, "max_iter": 40}
    model, peer = fit(device, X, y, **how), fit(device, X.toarray(), y, **how)
    assert model.coef_.dtype == model.predict_proba(X).dtype == np.float32
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=5e-3)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "lil", "dok", "dia"])
@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix])
def test_every_sparse_form_is_converted(form: str, kind: Any, rng: np.random.Generator) -> None:
    X, y = labelled(rng, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sparse.SparseEfficiencyWarning)
        same = kind(X.copy()).asformat(form)
    model, peer = (fit("reference", one, y, solver="newton-cholesky", tol=1e-8) for one in (same, X))
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-12)
    np.testing.assert_allclose(model.predict_proba(same), peer.predict_proba(X), atol=1e-12)


def test_wide_indices_and_the_samples_themselves_are_left_alone(
    device: gpuprims.Device, rng: np.random.Generator
) -> None:
    X, y = labelled(rng, 2, "f4")
    wide = X.copy()
    wide.indices, wide.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    model, peer = fit(device, wide, y), fit(device, X, y)
    np.testing.assert_array_equal(model.coef_, peer.coef_)
    np.testing.assert_array_equal(model.predict_proba(wide), peer.predict_proba(X))
    assert wide.indices.dtype == np.int64
    np.testing.assert_array_equal(wide.data, X.data)


def test_partial_fits_of_sparse_samples(device: gpuprims.Device, rng: np.random.Generator) -> None:
    X, y = labelled(rng, 3, "f4")
    model, peer = (LogReg(device, batch_size=50, random_state=0) for _ in range(2))
    for start in (0, 1, 0):
        model.partial_fit(X[start::2], y[start::2], classes=[0, 1, 2])
        peer.partial_fit(X[start::2].toarray(), y[start::2], classes=[0, 1, 2])
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-4)


def test_a_target_error_of_sparse_samples(device: gpuprims.Device, rng: np.random.Generator) -> None:
    X, y = labelled(rng, 2, "f4")
    how: dict[str, Any] = {"target_error": 0.0, "validation_fraction": 0.3, "max_iter": 10}
    model, peer = fit(device, X, y, **how), fit(device, X.toarray(), y, **how)
    np.testing.assert_allclose(model.validation_errors_, peer.validation_errors_, atol=0.01)


def test_second_derivatives_of_slabs(monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    X, y = labelled(rng, 3)
    whole = fit("reference", X, y, solver="newton-cholesky")
    monkeypatch.setattr("gpuprims.models.sparse_features.SLAB_BYTES", 40 * 8 * 7)  # seven rows, and at last five
    slabs = fit("reference", X, y, solver="newton-cholesky")
    np.testing.assert_allclose(slabs.coef_, whole.coef_, rtol=1e-9)


def test_columns_are_kept_but_of_parts_with_few_elements(rng: np.random.Generator) -> None:
    X, _ = labelled(rng, 2)
    whole = SparseFeatures(gpuprims.Device("reference"), X)
    assert whole._by_columns() is whole._by_columns()
    assert whole._by_rows() is whole._by_rows()
    many, few = whole.rows(0, 100), whole.rows(5, 7)
    assert many._by_columns() is many._by_columns()
    assert few._by_columns() is not few._by_columns()
    np.testing.assert_allclose(few.scores(np.ones((1, 40)))[:, 0], X[5:7].sum(axis=1), rtol=1e-14)


def test_long_rows_and_columns_are_cut(
    device: gpuprims.Device, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    monkeypatch.setattr("gpuprims.models.sparse_features._FEW_PRODUCTS", -1)
    for long in (1, 7, 8, 63):
        monkeypatch.setattr("gpuprims.models.sparse_features._LONGEST_ROW", long)
        for lengths in (rng.integers(0, 64, 90), [0, 8, 16, 9, 0], [0, 1, 0]):
            X = rows_of(rng, lengths, 33)
            features = SparseFeatures(device, X)
            for outputs in (1, 3):
                ahead, behind = beside(rng, outputs, 33), beside(rng, len(lengths), outputs)
                got = features.scores(features.home.asarray(ahead))
                assert_product(device.to_host(got), X, np.ascontiguousarray(ahead.T))
                gradient = features.home.empty((outputs, 33), np.dtype("f4"))
                features.write_gradient(features.home.asarray(behind), gradient)
                assert_product(device.to_host(gradient).T, sparse.csr_array(X.T), behind)


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array])
def test_wrong_indices_are_found_by_fit_and_predict(wrong: tuple[Any, Any, str], kind: Any) -> None:
    X = kind(np.eye(3))
    model = LogReg("reference").fit(X, [0, 1, 1])
    X.data = np.ones(4)
    X.indices, X.indptr = (np.array(values, np.int32) for values in wrong[:2])
    for call in (lambda: model.fit(X, [0, 1, 1]), lambda: model.predict(X), lambda: model.partial_fit(X, [0, 1, 1])):
        with pytest.raises(ValueError, match=f"LogReg: .*{wrong[2]}"):
            call()


def test_what_sparse_samples_are_not_for(rng: np.random.Generator) -> None:
    X, y = labelled(rng, 2)
    with pytest.raises(ArgumentError, match=r"feature_dtype=None for sparse samples; got int8 .or pass X.toarray"):
        LogReg("reference", feature_dtype="int8").fit(X, y)
    spoilt = X.copy()
    spoilt.data[3] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        LogReg("reference").fit(spoilt, y)
    model = fit("reference", X, y)
    with pytest.raises(ValueError, match="40 features"):
        model.predict(X[:, :7])


@pytest.mark.parametrize("solver", ["lbfgs", "gd", "minibatch"])
def test_many_features_are_never_written_out(device: gpuprims.Device, solver: str, rng: np.random.Generator) -> None:
    n, k = 20_000, 200_000  # 16 GB of float32
    X, y = rows_of(rng, np.full(n, 10), k), rng.integers(0, 2, n)
    tracemalloc.start()
    model = fit(device, X, y, solver=solver, max_iter=2, batch_size=5000)
    probabilities = model.predict_proba(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert probabilities.shape == (n, 2)
    assert model.loss_curve_[-1] < np.log(2)
    assert peak < 200e6
