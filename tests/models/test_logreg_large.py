"""Fits of many weights or scores: vectors of L-BFGS on the device, blocks of scores, matrix products, transposition."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from kernel_cases import on_device, on_host
from logreg_cases import fit, need_float64
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

import gpuprims
from gpuprims.models import LogReg, features, gram
from gpuprims.models.logreg import device_lbfgs, few_scores, newton, objective
from gpuprims.models.transposition import transposed


@pytest.fixture
def on_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors of L-BFGS are on the device, for any number of weights."""
    monkeypatch.setattr(device_lbfgs, "_stays_on_device", lambda _: True)
    monkeypatch.setattr(newton, "lbfgs", None)


def made(rng: np.random.Generator, n: int, k: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    X = rng.standard_normal((n, k)) * np.geomspace(0.2, 5, k)
    return X, (X @ rng.standard_normal((k, classes)) + rng.gumbel(size=(n, classes))).argmax(axis=1)


def loss(X: np.ndarray, y: np.ndarray, model: Any, C: float) -> float:
    coef = model.coef_.astype(np.float64)
    scores = X @ coef.T + model.intercept_
    if scores.shape[1] == 1:
        scores = np.hstack([np.zeros_like(scores), scores])
    chosen = scores[np.arange(len(y)), y]
    return float((np.logaddexp.reduce(scores, axis=1) - chosen).sum() + (coef**2).sum() / (2 * C))


@pytest.mark.usefixtures("on_devices")
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scikit_learns_optimum(
    device: gpuprims.Device, rng: np.random.Generator, classes: int, kind: str, dtype: Any
) -> None:
    need_float64(device)
    X, y = made(rng, 300, 30, classes)
    X[rng.random(X.shape) < 0.5] = 0
    X = X.astype(dtype)
    given = sparse.csr_array(X) if kind == "sparse" else X
    model = LogReg(device, solver="lbfgs", C=3, tol=1e-5, max_iter=1000).fit(given, y)
    peer = LogisticRegression(C=3, solver="newton-cholesky", tol=1e-10).fit(X.astype(np.float64), y)
    assert loss(X, y, model, 3) <= loss(X, y, peer, 3) * (1 + 1e-6)
    assert model.stop_reason_ == "tolerance"
    assert np.diff(model.loss_curve_).max() <= 1e-6
    assert model.loss_iterations_ == list(range(1, model.n_iter_ + 1))


@pytest.mark.usefixtures("on_devices")
def test_ends_have_names(device: gpuprims.Device, rng: np.random.Generator) -> None:
    need_float64(device)
    X, y = made(rng, 200, 6, 2)
    with pytest.warns(ConvergenceWarning, match="max_iter=3"):
        short = LogReg(device, solver="lbfgs", max_iter=3).fit(X, y)
    assert (short.n_iter_, short.stop_reason_) == (3, "max_iter")
    told = LogReg(device, solver="lbfgs", callback=lambda one: one.iteration == 2).fit(X, y)
    assert (told.n_iter_, told.stop_reason_) == (2, "callback")
    model = LogReg(device, solver="lbfgs", warm_start=True, tol=1e-6).fit(X, y)
    assert model.fit(X, y).n_iter_ == 0
    assert fit(device, X, y, solver="lbfgs", tol=0, max_iter=1000).stop_reason_ == "rounding"
    separable = fit(device, X, (X[:, 0] > 0).astype(int), solver="lbfgs", C=np.inf, max_iter=2000)
    assert np.isfinite(separable.coef_).all()
    assert separable.score(X, (X[:, 0] > 0).astype(int)) == 1


@pytest.mark.usefixtures("on_devices")
def test_rounding_continues_in_float64(device: gpuprims.Device, rng: np.random.Generator) -> None:
    need_float64(device)
    X, y = made(rng, 300, 6, 2)
    far = (X + 1e4).astype(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LogReg(device, solver="lbfgs", max_iter=500).fit(far, y)
    exact = far.astype(np.float64)
    centred = exact - 1e4  # has the same minimum, because intercepts have no penalty
    peer = LogisticRegression(tol=1e-10, max_iter=10_000).fit(centred, y)
    assert loss(exact, y, model, 1) <= loss(centred, y, peer, 1) * (1 + 1e-3)


@pytest.mark.parametrize("weighted", [False, True])
def test_scores_of_blocks_of_samples(
    device: gpuprims.Device, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, weighted: bool
) -> None:
    X, y = made(rng, 205, 5, 4)
    X, shares = X.astype(np.float32), rng.random(205) if weighted else None
    whole = fit(device, X, y, sample_weight=shares, solver="lbfgs")
    monkeypatch.setattr(objective, "_SCORE_BYTES", 50 * 4 * 4)
    monkeypatch.setattr(few_scores, "_MOST_ROWS", 0)
    seen: list[int] = []
    own = objective.Objective._softmax_loss_at_once

    def noted(block: Any, weights: Any) -> Any:
        seen.append(block.samples.size)
        return own(block, weights)

    monkeypatch.setattr(objective.Objective, "_softmax_loss_at_once", noted)
    blocks = fit(device, X, y, sample_weight=shares, solver="lbfgs")
    assert seen[:5] == [50, 50, 50, 50, 5]
    np.testing.assert_allclose(blocks.coef_, whole.coef_, atol=2e-3)
    assert blocks.loss_curve_[-1] == pytest.approx(whole.loss_curve_[-1], rel=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gram_matrix_by_slabs(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, dtype: Any) -> None:
    monkeypatch.setattr(gram, "_SLAB_BYTES", 700)
    X, weights = rng.standard_normal((101, 6)).astype(dtype), rng.standard_normal((101, 1)).astype(dtype)
    found = gram.gram_by_products(gpuprims.Device("reference"), X, weights, np.matmul)
    exact = X.T.astype(np.float64) @ (weights.astype(np.float64) * X)
    np.testing.assert_allclose(found, exact, rtol=0, atol=np.abs(exact).max() * np.finfo(dtype).eps * 16)


def test_a_vendors_product_serves_scores_gradients_and_grams(device: gpuprims.Device, rng: np.random.Generator) -> None:
    product = getattr(device.driver, "matmul", None)
    if product is None:
        pytest.skip("the vendor has none")
    one, other = rng.standard_normal((40, 7)).astype("f4"), rng.standard_normal((7, 3)).astype("f4")
    placed = on_device(device, one), on_device(device, other)
    np.testing.assert_allclose(on_host(device, product(*placed)), one @ other, rtol=1e-5, atol=1e-5)
    own = features.DenseFeatures(device, placed[0])
    np.testing.assert_allclose(on_host(device, own.scores(placed[1].T)), one @ other, rtol=1e-5, atol=1e-5)
    weights = on_device(device, np.ones((40, 1), "f4"))
    np.testing.assert_allclose(own.gram(weights), one.T @ one, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("shape", "density"), [((300, 90), 0.1), ((5, 4000), 0.01), ((40, 3), 0.0), ((1, 1), 1.0)])
def test_transposition_is_scipys(
    device: gpuprims.Device, rng: np.random.Generator, index: Any, dtype: Any, shape: tuple[int, int], density: float
) -> None:
    if dtype is np.float64:
        need_float64(device)
    matrix = sparse.random_array(shape, density=density, format="csr", dtype=dtype, rng=rng)
    if matrix.nnz > 2:
        matrix.indices[1] = matrix.indices[0]  # twice in a row, or in two
    given = matrix.data, matrix.indices.astype(index)
    placed = [device.asarray(one) for one in given] if matrix.nnz else list(given)
    data, rows, indptr = transposed(device, *placed, matrix.indptr.astype(index), shape[1])
    order = np.argsort(matrix.indices, kind="stable")
    np.testing.assert_array_equal(device.to_host(data), matrix.data[order])
    expected = np.repeat(np.arange(shape[0]), np.diff(matrix.indptr))[order]
    np.testing.assert_array_equal(device.to_host(rows), expected)
    assert device.to_host(rows).dtype == indptr.dtype == index
    np.testing.assert_array_equal(indptr[1:], np.cumsum(np.bincount(matrix.indices, minlength=shape[1])))
