"""The logistic loss and gradient of every kernel, held against NumPy in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_cases import Kernel, on_device, on_host
from logistic_cases import assert_logistic, samples

import gpuprims
from gpuprims.errors import (
    ArgumentError,
    ArrayError,
    DeviceMismatchError,
    DtypeError,
    NoVariantError,
    ShapeError,
    UnknownVariantError,
)
from gpuprims.primitives.logistic import logistic_gradient

FLOATS = ("float32", "float64")
# On both sides of a vector, of two, of a warp, and of what one work-item holds.
FEATURES = (1, 3, 4, 7, 8, 31, 32, 33, 100, 257, 1024)


def able(kernel: Kernel, k: int, dtype: Any) -> bool:
    """Whether a kernel takes so many features; refusals are sentences, tested by themselves."""
    kernel.need(dtype)
    call = gpuprims.Call((np.dtype(dtype),), 1, k, value_bytes=np.dtype(dtype).itemsize, side_by_side=True)
    return kernel.variant.refuse(kernel.device.capabilities, call) is None


def rows_near(kernel: Kernel) -> list[int]:
    """Return numbers of rows on both sides of a block, of what a group takes at once, and of several of these."""
    if kernel.device.backend == "reference":
        return [1, 2, 100]
    block, tiles = kernel.variant.block, (64, 256, 1024) if kernel.variant.block == 1 else (256, 1024)
    near = {1, 2, block - 1, block, block + 1, 2500}
    return sorted(size for size in near.union(*({tile - 1, tile, tile + 1} for tile in tiles)) if size)


def compute(kernel: Kernel, *arrays: Any, **how: Any) -> Any:
    return logistic_gradient(*arrays, device=kernel.device, variant=kernel.variant.name, **how)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("k", FEATURES)
def test_every_number_of_features(logistic_kernel: Kernel, k: int, dtype: str, rng: np.random.Generator) -> None:
    if not able(logistic_kernel, k, dtype):
        pytest.skip("is refused")
    X, y, weights = samples(rng, 333, k, dtype)
    assert_logistic(compute(logistic_kernel, X, y, weights), X, y, weights)
    resident = [on_device(logistic_kernel.device, a) for a in (X, y, weights)]
    got = compute(logistic_kernel, *resident)
    assert type(got[1]) is type(resident[0])
    assert_logistic([on_host(logistic_kernel.device, one) for one in got], X, y, weights)


@pytest.mark.optimised
@pytest.mark.parametrize("k", [1, 5, 8, 100])
def test_every_number_of_rows(logistic_kernel: Kernel, k: int, rng: np.random.Generator) -> None:
    if not able(logistic_kernel, k, "f4"):
        pytest.skip("is refused")
    for n in rows_near(logistic_kernel):
        X, y, weights = samples(rng, n, k, "f4")
        assert_logistic(compute(logistic_kernel, X, y, weights), X, y, weights)


@pytest.mark.parametrize("dtype", FLOATS)
def test_an_intercept_and_sample_weights(logistic_kernel: Kernel, dtype: str, rng: np.random.Generator) -> None:
    logistic_kernel.need(dtype)
    for k in (2, 12):
        X, y, weights = samples(rng, 700, k, dtype, intercept=True)
        shares = rng.random(700).astype(dtype)
        assert_logistic(compute(logistic_kernel, X, y, weights), X, y, weights)
        assert_logistic(compute(logistic_kernel, X, y, weights, sample_weight=shares), X, y, weights, shares)
        assert_logistic(compute(logistic_kernel, X, y, weights[:k], sample_weight=shares), X, y, weights[:k], shares)


def test_large_margins_do_not_overflow(logistic_kernel: Kernel, rng: np.random.Generator) -> None:
    X, y, _ = samples(rng, 300, 2, "f4")
    X[:100] = [1e4, 0]
    X[100:200] = [-1e4, 0]
    weights = np.float32([1, 0.5])
    loss, gradient = compute(logistic_kernel, X, y, weights)
    assert np.isfinite(loss)
    assert np.isfinite(gradient).all()
    assert_logistic((loss, gradient), X, y, weights)


def test_nan_propagates(logistic_kernel: Kernel, rng: np.random.Generator) -> None:
    X, y, weights = samples(rng, 300, 7, "f4")
    X[211, 3] = np.nan
    loss, gradient = compute(logistic_kernel, X, y, weights)
    assert np.isnan(loss)
    assert np.isnan(gradient).all()


def test_the_same_bits_from_run_to_run(logistic_kernel: Kernel, rng: np.random.Generator) -> None:
    X, y, weights = samples(rng, 20_011, 9, "f4", intercept=True)
    loss, gradient = compute(logistic_kernel, X, y, weights)
    for _ in range(5):
        again = compute(logistic_kernel, X, y, weights)
        assert again[0] == loss
        assert again[1].tobytes() == gradient.tobytes()


def test_groups_that_take_several_tiles(logistic_kernel: Kernel, rng: np.random.Generator) -> None:
    if not logistic_kernel.variant.word_items:
        pytest.skip("is about groups that take tiles until none are left, as many as there are parts")
    variant = logistic_kernel.variant
    tile = 8 * variant.block // 2  # of rows of eight features by two lanes
    n = 2 * tile * (variant.groups_per_unit or 1) * logistic_kernel.device.capabilities.compute_units + 5
    X, y, weights = samples(rng, n, 8, "f4")
    resident = [on_device(logistic_kernel.device, a) for a in (X, y, weights)]
    got = compute(logistic_kernel, *resident)
    assert_logistic([on_host(logistic_kernel.device, one) for one in got], X, y, weights)


def test_rows_that_lie_apart_are_copied_together(device: gpuprims.Device, rng: np.random.Generator) -> None:
    X, y, weights = samples(rng, 60, 10, "f4")
    wide = np.zeros((120, 30), np.float32)
    wide[::2, ::3] = X
    for apart in (wide[::2, ::3], np.asfortranarray(X), X.astype(">f4")):
        assert_logistic(logistic_gradient(apart, y, weights, device=device), X, y, weights)
    flipped = X[:, ::-1], y[::-1], np.repeat(weights, 2)[::2]
    assert_logistic(logistic_gradient(*flipped, device=device), *(np.ascontiguousarray(a) for a in flipped))
    one = np.broadcast_to(np.float32(1), 60)
    assert_logistic(logistic_gradient(X, y, weights, sample_weight=one, device=device), X, y, weights)


def test_arrays_within_others_on_a_device(device: gpuprims.Device, rng: np.random.Generator) -> None:
    X, y, weights = samples(rng, 61, 8, "f4")
    resident = [on_device(device, a) for a in (X, y, weights)]
    got = logistic_gradient(resident[0][3:], resident[1][3:], resident[2])
    assert_logistic([on_host(device, one) for one in got], X[3:], y[3:], weights)


def test_a_plan_runs_with_new_weights(device: gpuprims.Device, rng: np.random.Generator) -> None:
    X, y, weights = samples(rng, 500, 8, "f4")
    held = [device.asarray(a) for a in (X, y)]
    plan = gpuprims.plan("logistic", *held, device.asarray(weights), device=device)
    for _ in range(3):
        got = plan(*held, device.asarray(weights))
        assert_logistic([np.asarray(device.to_host(one)) for one in got], X, y, weights)
        weights = weights * 2
    with pytest.raises(ArgumentError, match="laid out as planned"):
        plan(*held, device.asarray(weights[:-1]))


BY_COLUMNS = ("grad2_tf4", "grad1_ns4", "grad2_ns", "grad2_ns_loc")


@pytest.mark.parametrize("shape", [(300, 8), (64, 12), (33, 8), (64, 5), (1, 1)])  # whole vectors each way, and not
def test_samples_that_were_transposed_once(
    logistic_kernel: Kernel, shape: tuple[int, int], rng: np.random.Generator
) -> None:
    if logistic_kernel.variant.name not in BY_COLUMNS:
        pytest.skip("reads rows")
    X, y, weights = samples(rng, *shape, "f4", intercept=True)
    shares, columns = rng.random(len(X)).astype("f4"), np.ascontiguousarray(X.T)
    device, name = logistic_kernel.device, logistic_kernel.variant.name
    got = compute(logistic_kernel, X, y, weights, sample_weight=shares, transposed=columns)
    assert_logistic(got, X, y, weights, shares)
    held = [device.asarray(array) for array in (X, y, weights, columns)]
    plan = gpuprims.plan("logistic", *held, device=device, variant=name)
    assert_logistic([np.asarray(device.to_host(one)) for one in plan(*held)], X, y, weights)
    _, other = plan(*held[:3], device.asarray(columns + 1))  # nothing copies X
    assert not np.allclose(device.to_host(other), device.to_host(plan(*held)[1]))


def test_transposed_samples_that_do_not_suit(device: gpuprims.Device, rng: np.random.Generator) -> None:
    X, y, weights = samples(rng, 20, 3, "f4")
    for wrong in (X, X.T.astype("f8"), X.T[:, 1:]):
        with pytest.raises(ShapeError, match=r"transposed samples of shape \(3, 20\) and dtype float32; got"):
            logistic_gradient(X, y, weights, transposed=wrong, device=device)
    if device.backend != "reference":
        with pytest.raises(ArgumentError, match=r"for kernels that read samples by columns; got logistic/.*fused"):
            logistic_gradient(X, y, weights, transposed=X.T, device=device)


def test_wrong_arguments(device: gpuprims.Device, rng: np.random.Generator) -> None:
    X, y, weights = samples(rng, 20, 3, "f4")

    def refused(error: type[Exception], words: str, *arrays: Any, **how: Any) -> None:
        with pytest.raises(error, match=words):
            logistic_gradient(*arrays, device=device, **how)

    refused(DtypeError, "X of float32 or float64; got dtype int64 .convert it", X.astype(int), y, weights)
    refused(DtypeError, "y of the dtype of X, float32; got bool", X, y > 0, weights)
    refused(DtypeError, "weights of the dtype of X, float32; got float64", X, y, weights.astype(float))
    refused(ShapeError, r"X of shape \(n, k\), of at least one .* got \(0, 3\)", X[:0], y[:0], weights)
    refused(ShapeError, r"X of shape \(n, k\), of at least one .* got \(20, 0\)", X[:, :0], y, weights[:0])
    refused(ShapeError, r"X of shape \(n, k\), .* got \(20,\)", y, y, weights)
    refused(ShapeError, r"y of shape \(20,\), for X of \(20, 3\); got \(19,\)", X, y[1:], weights)
    refused(ShapeError, r"weights of shape \(3,\) or \(4,\), .* got \(2,\)", X, y, weights[1:])
    refused(ShapeError, r"sample_weight of shape \(20,\), .* got \(3,\)", X, y, weights, sample_weight=weights)
    refused(ArrayError, "an array of numbers", X, y, "weights")
    refused(UnknownVariantError, "got 'no_such'", X, y, weights, variant="no_such")
    with pytest.raises(ArgumentError, match=r"X, y, weights, and perhaps sample weights and X.T; got 2"):
        gpuprims.plan("logistic", X, y, device=device)
    if device.backend != "reference":
        refused(DeviceMismatchError, "arrays on one device", on_device(device, X), y, weights)


def test_more_features_than_a_kernel_holds(device: gpuprims.Device) -> None:
    if device.backend == "reference":
        pytest.skip("NumPy takes any number")
    refused = device.explain("logistic", gpuprims.Call((np.dtype("f4"),), 9, 10**6, side_by_side=True)).refusals
    for variant, reason in refused:
        if variant.name in ("fused", "cpu_fused"):
            assert reason is not None
            assert reason.endswith("features of float32; got 1000000") or reason.startswith("is for CPUs")
    X, y, weights = np.ones((1, 10**6), np.float32), np.ones(1, np.float32), np.zeros(10**6, np.float32)
    with pytest.raises(NoVariantError, match=r"up to .* features of float32; got 1000000"):
        logistic_gradient(X, y, weights, device=device, variant="fused")


@pytest.mark.parametrize("variant", [None, pytest.param("fixed", marks=pytest.mark.whole)])
@pytest.mark.parametrize("k", [7, pytest.param(130, marks=pytest.mark.whole)])
def test_the_level_device_has_the_same_bits_everywhere(
    device: gpuprims.Device, k: int, variant: str | None, rng: np.random.Generator
) -> None:
    """Rows of several slots, tiles and parts of the fixed tree, and the last ones that are not full."""
    if variant is not None and device.backend == "reference":
        pytest.skip("a kernel")
    for n in (1, 257, 256 * 70 + 3):
        X, y, weights = samples(rng, n, k, "f4", intercept=True)
        X[n // 2, k // 2] = np.inf if n == 257 else X[n // 2, k // 2]
        given = [on_device(device, one) for one in (X, y, weights)]
        with gpuprims.use_determinism("device"):
            found = logistic_gradient(*given, device=device, variant=variant)
            expected = logistic_gradient(X, y, weights, device="reference")
        for one, other in zip(found, expected, strict=True):
            assert on_host(device, one).tobytes() == np.asarray(other).tobytes()
    with gpuprims.use_determinism("order"), pytest.raises(NoVariantError, match="the call asks for 'order'"):
        logistic_gradient(X, y, weights, device=device)
