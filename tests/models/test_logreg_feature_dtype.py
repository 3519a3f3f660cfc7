"""Features in fewer bits, and their weighted Gram matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_cases import need
from logreg_cases import Data, fit, need_float64

import gpuprims
from gpuprims.models import LogReg, gram


@pytest.mark.parametrize("feature_dtype", ["int8", "int16", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"])
@pytest.mark.parametrize("solver", ["lbfgs", "newton-cholesky", "gd", "minibatch", "sgd", "hogwild"])
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


@pytest.mark.parametrize("solver", ["sgd", "hogwild"])
def test_single_samples_are_those_of_the_scaled_integers(cancer: Data, solver: str) -> None:
    X, y = cancer[0].astype(np.float32), cancer[1]
    scale = np.abs(X).max(axis=0) / 127
    how: dict[str, Any] = {"solver": solver, "max_iter": 3, "random_state": 0, "learning_rate": 1e-3}
    fewer = fit("reference", X, y, feature_dtype="int8", **how)
    whole = fit("reference", np.rint(X / scale) * scale, y, **how)
    np.testing.assert_allclose(fewer.coef_, whole.coef_, rtol=1e-4, atol=1e-5)


def test_integers_are_read_by_the_fused_kernel(device: gpuprims.Device, cancer: Data) -> None:
    X, y = cancer[0].astype(np.float32), cancer[1]
    with gpuprims.profile() as seen:
        LogReg(device, solver="lbfgs", feature_dtype="int8", max_iter=3, tol=1).fit(X, y)
    assert any(launch.kernel.startswith("logistic/") for launch in seen.launches)


def test_fewer_bits_are_integers_times_a_scale_of_each_feature(device: gpuprims.Device, iris: Data) -> None:
    need_float64(device)
    X, y = iris
    X = X * 10.0 ** np.arange(-2, 2)
    X[:, 1] = 0  # a feature without a largest
    scale = np.where(np.abs(X).max(axis=0) > 0, np.abs(X).max(axis=0), 1) / 127
    fewer = LogReg(device, solver="newton-cholesky", tol=1e-9, feature_dtype="int8").fit(X, y)
    whole = LogReg(device, solver="newton-cholesky", tol=1e-9).fit(np.rint(X / scale) * scale, y)
    np.testing.assert_allclose(fewer.coef_, whole.coef_, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8"])
def test_second_derivatives_by_blocks_and_by_folds(
    device: gpuprims.Device, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, dtype: str
) -> None:
    need(device, np.float64 if dtype == "float64" else np.float32)
    monkeypatch.setattr(gram, "_BLOCK", 1000)
    X = (9 * rng.standard_normal((503, 7))).astype(dtype)
    slopes = rng.random((503, 1)).astype("float64" if dtype == "float64" else "float32")
    exact = X.astype(np.float64).T @ (slopes * X.astype(np.float64))
    for function in (gram.gram_by_blocks, gram.gram_by_reduce):
        got = function(device, device.asarray(X), device.asarray(slopes))
        assert got.dtype == np.float64
        np.testing.assert_allclose(got, exact, rtol=0, atol=1e-5 * np.abs(exact).max())
