"""PCA, PPCA, FactorAnalysis and SparsePCA give scikit-learn's results, and those of the article."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from decomposition_cases import hidden_causes, with_signs_of
from kernel_cases import on_device, on_host
from logreg_cases import need_float64
from scipy import stats
from sklearn import datasets, decomposition
from sklearn.exceptions import ConvergenceWarning

import gpuprims
from gpuprims.models import PCA, PPCA, FactorAnalysis, SparsePCA, gram
from gpuprims.models.decomposition import moments, products
from gpuprims.models.features import DenseFeatures

DTYPES = pytest.mark.parametrize("dtype", ["f4", "f8"])


def close(dtype: str) -> dict[str, float]:
    return {"rtol": 1e-9, "atol": 1e-9} if dtype == "f8" else {"rtol": 2e-4, "atol": 2e-4}


def samples(device: gpuprims.Device, dtype: str, **how: Any) -> np.ndarray:
    if dtype == "f8":
        need_float64(device)
    return hidden_causes(700, 9, **how).astype(dtype)


@DTYPES
@pytest.mark.parametrize("whiten", [False, True])
def test_pca_is_scikit_learns(device: gpuprims.Device, dtype: str, whiten: bool) -> None:
    X = samples(device, dtype, offset=5.0)
    model = PCA(4, whiten=whiten, device=device).fit(X)
    peer = decomposition.PCA(4, whiten=whiten, svd_solver="full").fit(X.astype("f8"))
    for name in ("components_", "mean_", "explained_variance_", "explained_variance_ratio_", "singular_values_"):
        found = getattr(model, name)
        assert found.dtype == dtype
        np.testing.assert_allclose(found, getattr(peer, name), **close(dtype), err_msg=name)
    assert (model.n_components_, model.n_samples_) == (4, 700)
    assert model.noise_variance_ == pytest.approx(peer.noise_variance_, rel=1e-4)
    hidden = model.transform(X)
    np.testing.assert_allclose(hidden, peer.transform(X), **close(dtype))
    np.testing.assert_allclose(model.inverse_transform(hidden), peer.inverse_transform(hidden), **close(dtype))
    peer.whiten = False  # scikit-learn scales the components of whitened models twice
    np.testing.assert_allclose(model.get_covariance(), peer.get_covariance(), **close(dtype))
    np.testing.assert_allclose(model.get_precision(), peer.get_precision(), rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(model.score_samples(X), peer.score_samples(X), rtol=1e-3)
    assert model.score(X[:300]) == pytest.approx(peer.score(X[:300]), rel=1e-5)


@pytest.mark.parametrize("asked", [None, 0.5, 0.9, 0.999, "mle", 9])
def test_the_number_of_components(asked: Any) -> None:
    X = hidden_causes(300, 9)
    model, peer = PCA(asked, device="reference").fit(X), decomposition.PCA(asked, svd_solver="full").fit(X)
    assert model.n_components_ == peer.n_components_
    np.testing.assert_allclose(model.components_, peer.components_, atol=1e-9)
    assert model.noise_variance_ == pytest.approx(peer.noise_variance_, abs=1e-12)


@pytest.mark.parametrize(("offset", "zero"), [(1.0, True), (50.0, False)])
def test_zero_is_the_centre_of_samples_near_it(offset: float, zero: bool) -> None:
    X = hidden_causes(5000, 6, offset=offset)
    features = DenseFeatures(gpuprims.Device("reference"), X)
    assert (not moments._centre(features).any()) == zero
    found = moments.moments_of(features)
    assert found is not None
    np.testing.assert_allclose(found.mean, X.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(found.scatter / 4999, np.cov(X.T), rtol=1e-9)


def test_fewer_samples_than_features() -> None:
    X = hidden_causes(6, 20)
    model, peer = PCA(device="reference").fit(X), decomposition.PCA(svd_solver="full").fit(X)
    np.testing.assert_allclose(model.components_[:5], peer.components_[:5], atol=1e-8)
    np.testing.assert_allclose(model.explained_variance_, peer.explained_variance_, atol=1e-9)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(6), atol=1e-9)


@DTYPES
def test_features_far_from_zero(device: gpuprims.Device, dtype: str) -> None:
    """Squares of 10^4 leave float32 no digits of a variance of 1."""
    X = samples(device, dtype, offset=1e4)
    model, peer = PCA(3, device=device).fit(X), decomposition.PCA(3, svd_solver="full").fit(X.astype("f8"))
    np.testing.assert_allclose(model.components_, peer.components_, **close(dtype))
    np.testing.assert_allclose(model.transform(X), peer.transform(X.astype("f8")), rtol=1e-3, atol=3e-3)


@DTYPES
@pytest.mark.parametrize("rotation", [None, "varimax", "quartimax"])
def test_factor_analysis_is_scikit_learns(device: gpuprims.Device, dtype: str, rotation: str | None) -> None:
    X = samples(device, dtype, offset=2.0)
    how: dict[str, Any] = {"rotation": rotation, "tol": 1e-3, "noise_variance_init": np.linspace(0.5, 1, 9)}
    model = FactorAnalysis(3, **how, device=device).fit(X)
    peer = decomposition.FactorAnalysis(3, **how, svd_method="lapack").fit(X)
    assert model.n_iter_ == peer.n_iter_ or dtype == "f4"
    np.testing.assert_allclose(model.components_, with_signs_of(peer.components_), **close(dtype))
    np.testing.assert_allclose(model.noise_variance_, peer.noise_variance_, **close(dtype))
    assert model.loglike_[-1] == pytest.approx(peer.loglike_[-1], rel=2e-6 if dtype == "f4" else 1e-6)
    signs = np.sign(peer.components_[:, :1] * model.components_[:, :1]).T
    np.testing.assert_allclose(model.transform(X), peer.transform(X) * signs, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(model.score_samples(X), peer.score_samples(X), rtol=2e-3)
    np.testing.assert_allclose(model.get_precision(), peer.get_precision(), rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("alpha", [0.0, 1.0, 8.0])
def test_sparse_pca_is_scikit_learns(alpha: float) -> None:
    X = hidden_causes(120, 9)
    model = SparsePCA(3, alpha=alpha, tol=1e-10, device="reference").fit(X)
    peer = decomposition.SparsePCA(3, alpha=alpha, tol=1e-10, method="lars").fit(X)
    np.testing.assert_allclose(model.components_, peer.components_, atol=1e-4)
    np.testing.assert_array_equal(model.components_ == 0, np.abs(peer.components_) < 1e-12)
    assert model.error_[-1] == pytest.approx(peer.error_[-1], rel=1e-8)
    np.testing.assert_allclose(model.transform(X), peer.transform(X), atol=1e-2)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), peer.inverse_transform(peer.transform(X)),
                               atol=1e-2)  # fmt: skip


@DTYPES
def test_ppca_is_the_closed_form(device: gpuprims.Device, dtype: str) -> None:
    """The maximum of the likelihood, and the expected hidden values, by NumPy."""
    X = samples(device, dtype, offset=3.0)
    values, vectors = np.linalg.eigh(np.cov(X.astype("f8").T, bias=True))
    noise, axes = values[:6].mean(), vectors[:, 6:][:, ::-1].T
    factors = with_signs_of(np.sqrt(values[6:][::-1] - noise)[:, None] * axes)
    model = PPCA(3, device=device).fit(X)
    np.testing.assert_allclose(model.components_, factors, **close(dtype))
    assert model.noise_variance_ == pytest.approx(noise, rel=1e-4)
    expected = (X - X.mean(axis=0, dtype="f8")) @ factors.T @ np.linalg.inv(factors @ factors.T + noise * np.eye(3))
    np.testing.assert_allclose(model.transform(X), expected, **close(dtype))
    density = stats.multivariate_normal(X.mean(axis=0, dtype="f8"), factors.T @ factors + noise * np.eye(9))
    np.testing.assert_allclose(model.score_samples(X), density.logpdf(X), rtol=1e-3)
    assert model.score(X) == pytest.approx(density.logpdf(X).mean(), rel=1e-5)


@DTYPES
def test_expectation_maximisation_ends_at_the_closed_form(device: gpuprims.Device, dtype: str) -> None:
    X = samples(device, dtype, offset=3.0)
    exact = PPCA(2, device=device).fit(X)
    model = PPCA(2, method="em", tol=1e-6 if dtype == "f8" else 1e-5, random_state=0, device=device).fit(X)
    np.testing.assert_allclose(model.components_, exact.components_, atol=2e-3)
    assert model.noise_variance_ == pytest.approx(exact.noise_variance_, rel=1e-4)
    assert model.n_iter_ > 1
    with pytest.warns(ConvergenceWarning, match="max_iter=2 iterations"):
        PPCA(2, method="em", max_iter=2, random_state=0, device=device).fit(X)


# The article's own numbers -------------------------------------------------------------------------------------------


def test_the_numbers_of_the_article() -> None:
    """Its scikit-learn, of 2014, ended the iterations elsewhere."""
    X = datasets.load_iris().data
    one, two = (FactorAnalysis(count, device="reference").fit(X) for count in (1, 2))
    np.testing.assert_allclose(one.noise_variance_, [0.16350346, 0.15436415, 0.00938691, 0.04101233], atol=5e-4)
    assert abs(two.components_[0] @ two.components_[1]) == pytest.approx(0.146832660483, abs=0.02)
    rows = PCA(2, device="reference").fit(X).components_
    assert abs(rows[0] @ rows[1]) < 1e-14


# Drawing samples -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [PCA(3), PPCA(3), FactorAnalysis(3)], ids=lambda one: type(one).__name__)
def test_samples_have_the_covariance_of_the_model(device: gpuprims.Device, model: Any) -> None:
    fitted = model.set_params(device=device).fit(hidden_causes(500, 6, offset=1.0).astype("f4"))
    drawn = fitted.sample(200_000, random_state=3)
    assert drawn.shape == (200_000, 6)
    assert drawn.dtype == np.float32
    covariance = fitted.get_covariance()
    np.testing.assert_allclose(np.cov(drawn.T), covariance, atol=0.02 * np.abs(covariance).max())
    np.testing.assert_allclose(drawn.mean(axis=0), fitted.mean_, atol=0.05)
    flat = fitted.sample(50, random_state=3, noise=False)
    assert np.linalg.matrix_rank(flat - fitted.mean_, tol=1e-3) == 3
    reference = fitted.set_params(device="reference").sample(50, random_state=3, noise=False)
    np.testing.assert_allclose(flat, reference, rtol=1e-5, atol=1e-5)


# The device's sums ---------------------------------------------------------------------------------------------------


@DTYPES
@pytest.mark.parametrize("rows", [1, 96, 97, 1000])
@pytest.mark.parametrize("middle", [6.5, 0.0])
def test_sums_around_a_centre(
    device: gpuprims.Device,
    rng: np.random.Generator,
    monkeypatch: pytest.MonkeyPatch,
    dtype: str,
    rows: int,
    middle: float,
) -> None:
    if dtype == "f8":
        need_float64(device)
    monkeypatch.setattr(gram, "_BLOCK", 96 * 5)
    monkeypatch.setattr(gram, "_SLAB_BYTES", 96 * 8 * np.dtype(dtype).itemsize)
    monkeypatch.setattr(gram, "_LARGE_SLAB_BYTES", 96 * 5 * np.dtype(dtype).itemsize)
    X = (rng.standard_normal((rows, 5)) + 7).astype(dtype)
    centre = np.full(5, middle, dtype)
    wide = np.hstack([X.astype("f8") - centre, np.ones((rows, 1))])
    found = [
        gram.centred_by_reduce(device, on_device(device, X), centre),
        gram.centred_by_products(gpuprims.Device("reference"), X, centre, np.matmul),
        gram.centred_by_blocks(gpuprims.Device("reference"), X, centre),
    ]
    for one in found:
        np.testing.assert_allclose(one, wide.T @ wide, **(close(dtype) if dtype == "f8" else {"rtol": 1e-5}))


@DTYPES
def test_products_around_a_centre(
    device: gpuprims.Device, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, dtype: str
) -> None:
    if dtype == "f8":
        need_float64(device)
    monkeypatch.setattr(products, "_BLOCK", 96 * 5)
    monkeypatch.setattr(products, "_SLAB_BYTES", 96 * 5 * np.dtype(dtype).itemsize)
    X, centre = (rng.standard_normal((250, 5)) + 1e3).astype(dtype), np.full(5, 1e3, dtype)
    matrix = rng.standard_normal((2, 5)).astype(dtype)
    expected = (X.astype("f8") - centre) @ matrix.T.astype("f8")
    reference = gpuprims.Device("reference")
    found = [
        on_host(device, products.by_reduce(device, on_device(device, X), centre, matrix)),
        products.by_products(reference, X, centre, matrix, np.matmul),
        products.by_blocks(reference, X, centre, matrix),
    ]
    for one in found:
        np.testing.assert_allclose(one, expected, **close(dtype))
