"""Logistic gradients of int8 and int16: kernels that make them floats, and the one that adds products of integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_cases import Kernel, on_device, on_host
from logistic_cases import assert_logistic, logistic_oracle

import gpuprims
from gpuprims.errors import DtypeError, NoVariantError
from gpuprims.primitives.logistic import logistic_gradient

FIXED = ("fixed_point", "cpu_fixed_point")
FEATURES = (1, 3, 4, 8, 12, 16, 31, 100)


def compute(kernel: Kernel, *arrays: Any, **how: Any) -> Any:
    return logistic_gradient(*arrays, device=kernel.device, variant=kernel.variant.name, **how)


def made(rng: np.random.Generator, n: int, k: int, dtype: Any = "int8") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return samples, one row more than asked for, labels and weights of margins around 1."""
    most = np.iinfo(dtype).max
    X = rng.integers(-most, most, (n + 1, k), endpoint=True).astype(dtype)
    return X, (rng.random(n) < 0.4).astype("f4"), (rng.standard_normal(k + 1) / most / np.sqrt(k)).astype("f4")


def assert_near(kernel: Kernel, got: Any, X: np.ndarray, y: np.ndarray, weights: np.ndarray) -> None:
    """Compare as floats are compared, or with the roundings of weights and residuals to 14 bits."""
    if kernel.variant.name not in FIXED:
        assert_logistic(got, X, y, weights)
        return
    loss, gradient = got
    expected = logistic_oracle(X, y, weights)
    unit = np.abs(weights[: X.shape[1]]).max() / 8191
    moved = unit / 2 * np.abs(X.astype(np.float64)).sum(axis=1)  # at most, of each score
    assert abs(loss - expected[0]) <= moved.sum() + 1e-5 * expected[0]
    room = (np.abs(X.astype(np.float64)) * (moved / 4 + 1 / 16382)[:, None]).sum(axis=0)
    assert np.all(np.abs(gradient[: X.shape[1]] - expected[1][: X.shape[1]]) <= room + 1e-5 * np.abs(X).sum(axis=0))
    assert abs(gradient[-1] - expected[1][-1]) <= moved.sum() / 4 + 1e-5 * len(X)


@pytest.mark.parametrize("dtype", ["int8", "int16"])
@pytest.mark.parametrize("k", FEATURES)
def test_samples_of_integers(integers_kernel: Kernel, k: int, dtype: str, rng: np.random.Generator) -> None:
    if integers_kernel.variant.name in FIXED and dtype == "int16":
        with pytest.raises(NoVariantError, match=r"takes samples of int8 beside float32.*this call's are int16"):
            compute(integers_kernel, np.ones((9, k), dtype), np.ones(9, "f4"), np.ones(k, "f4"))
        return
    whole, y, weights = made(rng, 333, k, dtype)
    for X in (whole[:333], whole[1:]):  # aligned and not
        assert_near(integers_kernel, compute(integers_kernel, X, y, weights), X, y, weights)
    resident = [on_device(integers_kernel.device, a) for a in (whole[:333], y, weights)]
    got = [on_host(integers_kernel.device, one) for one in compute(integers_kernel, *resident)]
    assert_near(integers_kernel, got, whole[:333], y, weights)


def test_many_rows_do_not_overflow(integers_kernel: Kernel, rng: np.random.Generator) -> None:
    n, k = 60_000, 8
    X, y, weights = np.full((n, k), 127, np.int8), np.zeros(n, "f4"), np.full(k + 1, 1.0, "f4")
    loss, gradient = compute(integers_kernel, X, y, weights)
    np.testing.assert_allclose(gradient[:k], 127.0 * n, rtol=1e-3)
    np.testing.assert_allclose(loss, (127.0 * k + 1) * n, rtol=1e-3)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_weights_that_are_not_finite_give_nan(integers_kernel: Kernel, wrong: float, rng: np.random.Generator) -> None:
    X, y, weights = made(rng, 50, 8)
    weights[2] = wrong
    X[:, 2] = 0
    loss, gradient = compute(integers_kernel, X[:50], y, weights)
    assert np.isnan(loss)
    assert np.isnan(gradient).all()


def test_weights_of_zero(integers_kernel: Kernel, rng: np.random.Generator) -> None:
    X, y, weights = made(rng, 50, 8)
    assert_near(integers_kernel, compute(integers_kernel, X[:50], y, 0 * weights), X[:50], y, 0 * weights)


def test_sample_weights(integers_kernel: Kernel, rng: np.random.Generator) -> None:
    X, y, weights = made(rng, 50, 8)
    shares = rng.random(50).astype("f4")
    if integers_kernel.variant.name in FIXED:
        with pytest.raises(NoVariantError, match="without sample weights; this call's are int8 beside float32, with"):
            compute(integers_kernel, X[:50], y, weights, sample_weight=shares)
        return
    assert_logistic(compute(integers_kernel, X[:50], y, weights, sample_weight=shares), X[:50], y, weights, shares)


def test_other_kernels_take_floats(device: gpuprims.Device) -> None:
    if device.backend == "reference":
        pytest.skip("has one kernel")
    given = np.ones((9, 4), np.int8), np.ones(9, "f4"), np.ones(4, "f4")
    with pytest.raises(NoVariantError, match="takes samples of floats; this call's are int8"):
        logistic_gradient(*given, device=device, variant="two_kernels")


def test_integers_go_with_floats() -> None:
    X = np.ones((4, 2), np.int8)
    with pytest.raises(DtypeError, match="X of float32 or float64; got dtype int8"):
        logistic_gradient(X, np.ones(4, np.int8), np.ones(2, np.int8), device="reference")
    with pytest.raises(DtypeError, match="weights of the dtype of X, float32; got float64"):
        logistic_gradient(X, np.ones(4, np.float32), np.ones(2), device="reference")
    with pytest.raises(DtypeError, match="X of float32 or float64; got dtype int32"):
        logistic_gradient(X.astype(np.int32), np.ones(4, np.float32), np.ones(2, np.float32), device="reference")
