"""PCA and PPCA of fewer samples than features, by the samples' inner products."""

from __future__ import annotations

import numpy as np
import pytest
from decomposition_cases import hidden_causes
from logreg_cases import need_float64
from sklearn import decomposition

import gpuprims
from gpuprims.models import PCA, PPCA
from gpuprims.models.decomposition import wide
from gpuprims.models.decomposition.moments import Moments
from gpuprims.models.features import DenseFeatures


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_wide_samples_have_scikit_learns_components(
    device: gpuprims.Device, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if dtype == "f8":
        need_float64(device)
    monkeypatch.setattr(wide, "_BLOCK_BYTES", 40 * 64 * 8)  # several blocks of columns
    X = hidden_causes(40, 300, offset=100.0).astype(dtype)
    near = {"rtol": 1e-8, "atol": 1e-8} if dtype == "f8" else {"rtol": 1e-3, "atol": 1e-3}
    model = PCA(3, device=device).fit(X)
    peer = decomposition.PCA(3, svd_solver="full").fit(X.astype("f8"))
    for name in ("components_", "mean_", "explained_variance_", "explained_variance_ratio_", "singular_values_"):
        np.testing.assert_allclose(getattr(model, name), getattr(peer, name), err_msg=name, **near)
    assert model.noise_variance_ == pytest.approx(peer.noise_variance_, rel=1e-3)
    np.testing.assert_allclose(model.transform(X), peer.transform(X.astype("f8")), rtol=1e-2, atol=2e-2)
    fitted, covariance = PPCA(3, device=device).fit(X), np.cov(X.T.astype("f8"), bias=True)
    largest = np.linalg.eigvalsh(covariance)[::-1][:3]
    noise = (np.trace(covariance) - largest.sum()) / 297
    assert fitted.noise_variance_ == pytest.approx(noise, rel=1e-3)
    np.testing.assert_allclose((fitted.components_.astype("f8") ** 2).sum(axis=1), largest - noise, rtol=2e-3)


def test_all_components_of_wide_samples_are_orthonormal() -> None:
    X = hidden_causes(6, 50)
    X[5] = X[4]  # rank 4 around the mean
    model = PCA(device="reference").fit(X)
    assert model.components_.shape == (6, 50)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(6), atol=1e-9)
    np.testing.assert_allclose(model.explained_variance_[4:], 0, atol=1e-12)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-9)
    constant = PCA(2, device="reference").fit(np.ones((3, 5)))
    np.testing.assert_allclose(constant.components_ @ constant.components_.T, np.eye(2), atol=1e-12)


@pytest.mark.parametrize(("rows", "kind"), [(29, wide.WideMoments), (30, Moments)])
def test_the_smaller_matrix_is_taken(rows: int, kind: type) -> None:
    found = wide.narrow_or_wide(DenseFeatures(gpuprims.Device("reference"), hidden_causes(rows, 30)))
    assert type(found) is kind


def test_wide_samples_that_are_not_finite_are_refused() -> None:
    X = hidden_causes(5, 40)
    X[3, 7] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        PCA(2, device="reference").fit(X)
