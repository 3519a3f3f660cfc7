"""Batches of logistic regressions, of every kernel, held against float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_cases import Kernel, on_device, on_host
from newton_cases import assert_fitted

import gpuprims
from gpuprims.errors import ArgumentError, DtypeError, NoVariantError, ShapeError
from gpuprims.primitives.newton import ENDS, able_to_fit, logistic_newton

FLOATS = ("float32", "float64")


def problems(rng: np.random.Generator, B: int, n: int, k: int, dtype: Any = "f4") -> tuple[np.ndarray, np.ndarray]:
    """Return samples and labels of problems with scores around 1."""
    X, weights = rng.standard_normal((B, n, k)), rng.standard_normal((B, k)) / np.sqrt(k)
    scores = np.einsum("bnk,bk->bn", X, weights) + 0.3 + rng.logistic(size=(B, n))
    return X.astype(dtype), scores > 0


def compute(kernel: Kernel, *arrays: Any, **how: Any) -> Any:
    return logistic_newton(*arrays, device=kernel.device, variant=kernel.variant.name, **how)


def ends(got: Any) -> list[str]:
    return [ENDS[end] for end in got[2][:, 0]]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("k", [1, 2, 3, 4, 7, 8, 11, 12, 16, 32])
def test_every_number_of_features(newton_kernel: Kernel, k: int, dtype: str, rng: np.random.Generator) -> None:
    newton_kernel.need(dtype)
    if newton_kernel.variant.name == "registers" and k > 11:
        pytest.skip("more columns than registers hold")
    X, y = problems(rng, 2, 200, k, dtype)
    assert_fitted(compute(newton_kernel, X, y), X, y)
    resident = [on_device(newton_kernel.device, a) for a in (X, y)]
    got = compute(newton_kernel, *resident)
    assert type(got[0]) is type(resident[0])
    assert_fitted([on_host(newton_kernel.device, one) for one in got], X, y)


@pytest.mark.parametrize("n", [12, 31, 32, 33, 127, 128, 129, 1023, 1025, 8193])
def test_every_number_of_rows(newton_kernel: Kernel, n: int, rng: np.random.Generator) -> None:
    X, y = problems(rng, 2, n, 3)
    y[:, :2] = [0, 1]
    assert_fitted(compute(newton_kernel, X, y), X, y)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int64", "float32"])
def test_labels_of_every_dtype(newton_kernel: Kernel, dtype: str, rng: np.random.Generator) -> None:
    X, y = problems(rng, 3, 90, 2)
    assert_fitted(compute(newton_kernel, X, y.astype(dtype)), X, y)


def test_shared_samples_labels_and_penalties(newton_kernel: Kernel, rng: np.random.Generator) -> None:
    X, y = problems(rng, 4, 150, 5)
    C = [1e-3, 0.1, 1.0, 100.0]
    assert_fitted(compute(newton_kernel, X, y, C), X, y, C)
    assert_fitted(compute(newton_kernel, X[0], y, C), X[0], y, C)
    assert_fitted(compute(newton_kernel, X, y[0], 2.0), X, y[0], 2.0)
    assert_fitted(compute(newton_kernel, X[0], y[0], C), X[0], y[0], C)
    assert_fitted(compute(newton_kernel, X[0], y[0]), X[:1], y[:1])


def test_ragged_problems(newton_kernel: Kernel, rng: np.random.Generator) -> None:
    X, y = problems(rng, 1, 900, 3)
    shares = 0.5 + rng.random(900).astype("f4")
    offsets, C = np.array([0, 100, 100, 533, 900]), [0.5, 1.0, 2.0, 3.0]
    got = compute(newton_kernel, X[0], y[0], C, offsets=offsets, sample_weight=shares)
    assert ends(got)[1] == "one_class"
    assert np.isnan(got[0][1]).all()
    for problem in (0, 2, 3):
        rows, own = slice(*offsets[problem : problem + 2]), slice(problem, problem + 1)
        given = X[:, rows], y[:, rows], C[problem], shares[rows]
        assert_fitted([one[own] for one in got], *given)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_sample_weights(newton_kernel: Kernel, fit_intercept: bool, rng: np.random.Generator) -> None:
    X, y = problems(rng, 3, 170, 4)
    for shape in ((170,), (3, 170)):
        shares = rng.integers(0, 4, shape).astype("f4")
        got = compute(newton_kernel, X, y, sample_weight=shares, fit_intercept=fit_intercept)
        assert_fitted(got, X, y, sample_weight=shares, fit_intercept=fit_intercept)


def test_features_of_every_size_far_from_zero(newton_kernel: Kernel, rng: np.random.Generator) -> None:
    X, y = problems(rng, 3, 300, 4)
    X[0] *= np.float32([1e-8, 1e-3, 1e3, 1e8])
    X[1] += np.float32([0, 1e2, 1e4, -1e4])
    for C in (1e-9, 1.0, 1e9, np.inf):
        assert_fitted(compute(newton_kernel, X, y, C), X, y, C)


def test_separable_problems(newton_kernel: Kernel, rng: np.random.Generator) -> None:
    X, _ = problems(rng, 2, 100, 3)
    y = X[:, :, 0] > 0
    X[:, :, 0] += np.where(y, 0.5, -0.5)
    assert_fitted(compute(newton_kernel, X, y, 10.0), X, y, 10.0)
    got = compute(newton_kernel, X, y, np.inf)
    assert ends(got) == ["separable"] * 2
    assert np.isfinite(got[0]).all()


def test_features_that_the_samples_do_not_decide(newton_kernel: Kernel, rng: np.random.Generator) -> None:
    X, y = problems(rng, 2, 120, 3)
    X[0, :, 1], X[1, :, 2] = 7, X[1, :, 0]
    assert_fitted(compute(newton_kernel, X, y), X, y)
    weights, _, _ = got = compute(newton_kernel, X, y, np.inf)
    assert ends(got) == ["tolerance"] * 2
    assert weights[0, 0, 1] == weights[1, 0, 2] == 0
    np.testing.assert_array_equal(np.isnan(weights[:, 1]), [[False, True, False, False], [False, False, True, False]])
    kept = X[0][:, [0, 2]]
    expected = compute(newton_kernel, kept, y[0], np.inf)[0][0]
    np.testing.assert_allclose(weights[0][:, [0, 2, 3]], expected, rtol=1e-3)


def test_problems_without_a_fit(newton_kernel: Kernel, rng: np.random.Generator) -> None:
    X, y = problems(rng, 7, 60, 2)
    labels, shares = y.astype("f4"), np.ones((7, 60), np.float32)
    labels[0], labels[1], labels[2, 5] = 0, 1, 2
    X[3, 59, 1], X[4, 0, 0], shares[5, 9] = np.nan, np.inf, -1
    shares[6] = labels[6]  # the other class weighs nothing
    got = compute(newton_kernel, X, labels, sample_weight=shares)
    assert ends(got) == ["one_class"] * 2 + ["bad_label"] + ["bad_feature"] * 2 + ["bad_weight", "one_class"]
    assert np.isnan(got[0]).all()
    assert np.isnan(got[1]).all()
    assert not got[2][:, 1].any()


def test_the_most_iterations(newton_kernel: Kernel, rng: np.random.Generator) -> None:
    X, y = problems(rng, 2, 100, 3)
    got = compute(newton_kernel, X, y, max_iter=1, tol=0)
    assert ends(got) == ["max_iter"] * 2
    assert got[2][:, 1].tolist() == [1, 1]
    assert set(ends(compute(newton_kernel, X, y, tol=0, max_iter=99))) <= {"rounding", "tolerance"}


def test_many_problems_and_the_same_bits_from_run_to_run(newton_kernel: Kernel, rng: np.random.Generator) -> None:
    X, y = problems(rng, 300, 40, 2)
    y[:, :2] = [0, 1]
    first = compute(newton_kernel, X, y)
    assert_fitted(first, X, y)
    for got, before in zip(compute(newton_kernel, X, y), first, strict=True):
        assert got.tobytes() == before.tobytes()


def test_a_step_that_raises_the_loss_is_halved(newton_kernel: Kernel) -> None:
    X = np.float32([[-400], [-1], [0], [1], [2], [500]])
    y = np.array([True, False, False, True, True, True])
    assert_fitted(compute(newton_kernel, X, y, 1e6), X[None], y[None], 1e6)


def test_what_does_not_fit_is_refused(device: gpuprims.Device) -> None:
    X, y, how = np.ones((2, 4, 3), np.float32), np.ones((2, 4), bool), {"device": device}
    with pytest.raises(DtypeError, match="newton: X of float32 or float64; got dtype int64"):
        logistic_newton(X.astype(int), y, **how)
    with pytest.raises(DtypeError, match="newton: y of bool, integers or the dtype of X, float32; got float64"):
        logistic_newton(X, y.astype(float), **how)
    with pytest.raises(DtypeError, match="newton: sample_weight of the dtype of X"):
        logistic_newton(X, y, sample_weight=np.ones(4), **how)
    with pytest.raises(ShapeError, match=r"newton: y of shape \(B, 4\) or \(4,\), for X of \(2, 4, 3\); got \(2, 3\)"):
        logistic_newton(X, y[:, :3], **how)
    with pytest.raises(ShapeError, match=r"newton: X of shape \(B, n, k\) or \(n, k\)"):
        logistic_newton(X[0, 0], y, **how)
    with pytest.raises(ShapeError, match="newton: one number of problems; got 2 of X, 2 of y, 3 of C"):
        logistic_newton(X, y, [1, 2, 3], **how)
    with pytest.raises(ArgumentError, match="newton: C above 0, one or of each problem; got 0"):
        logistic_newton(X, y, 0, **how)
    with pytest.raises(ArgumentError, match="newton: tol, a number of 0 or more; got nan"):
        logistic_newton(X, y, tol=np.nan, **how)
    with pytest.raises(ArgumentError, match="newton: max_iter, one or more; got 0"):
        logistic_newton(X, y, max_iter=0, **how)
    with pytest.raises(ArgumentError, match="newton: offsets that rise from 0 to 4, the rows of X"):
        logistic_newton(X[0], y[0], offsets=[0, 3, 2, 4], **how)
    with pytest.raises(ShapeError, match=r"newton: X of shape \(n, k\) with offsets"):
        logistic_newton(X, y, offsets=[0, 4], **how)
    if device.backend != "reference":
        assert not able_to_fit(device, np.dtype("f4"), 2000, 2000)
        with pytest.raises(NoVariantError, match=r"needs .* bytes of local memory|keeps .* bytes of sums"):
            logistic_newton(np.ones((1, 8, 2000), "f4"), np.ones((1, 8), bool), **how)


def test_arrays_in_any_order_are_left_alone(device: gpuprims.Device, rng: np.random.Generator) -> None:
    X, y = problems(rng, 3, 80, 4)
    kept = X.copy()
    for apart in (np.asfortranarray(X), X[::-1], X.astype(">f4")):
        assert_fitted(logistic_newton(apart, y, device=device), np.ascontiguousarray(apart, "f4"), y)
    columns = np.ascontiguousarray(y.T)
    assert_fitted(logistic_newton(X, columns.T, device=device), X, y)
    np.testing.assert_array_equal(X, kept)


def test_no_problems(device: gpuprims.Device) -> None:
    weights, losses, found = logistic_newton(np.ones((0, 4, 2), "f4"), np.ones((0, 4), bool), device=device)
    assert (weights.shape, losses.shape, found.shape) == ((0, 2, 3), (0,), (0, 2))
