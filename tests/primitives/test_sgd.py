"""Descent by single samples, of every kernel, held against a loop in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_cases import Kernel, on_device, on_host
from logistic_cases import assert_descent, descended, samples

import gpuprims
from gpuprims.errors import (
    ArgumentError,
    DeviceMismatchError,
    DtypeError,
    NoVariantError,
    ShapeError,
    UnknownVariantError,
)
from gpuprims.primitives.sgd import logistic_sgd
from gpuprims.primitives.sgd import plan as sgd

FLOATS = ("float32", "float64")
# On both sides of a vector, of a warp, of what one work-item has of a row, and of a group.
FEATURES = (1, 3, 4, 16, 31, 32, 33, 63, 64, 65, 100, 129, 257, 1024, 1100)
# On both sides of a run, and of several.
STEPS = (1, 2, 31, 32, 33, 63, 64, 65, 200)
# What is asked of groups: each with its threads for a sample, and its samples to a run.
GROUPS = ((1, 1), (32, 1), (1, 32), (2, 16), (8, 4), (4, 32), (16, 16), (32, 32))
# The same for teams that take turns: warps with several teams, teams of several warps, and the largest.
TURNS = ((1, 1), (1, 32), (3, 7), (31, 2), (33, 3), (48, 1), (128, 2), (100, 10), (512, 2), (1024, 1))


def order_of(rng: np.random.Generator, n: int, steps: int) -> np.ndarray:
    """Return some samples, most more than once, and some twice in a run."""
    return rng.integers(0, n, steps).astype(np.int32)


def compute(kernel: Kernel, *arrays: Any, **how: Any) -> Any:
    return logistic_sgd(*arrays, device=kernel.device, variant=kernel.variant.name, **how)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("k", FEATURES)
def test_every_number_of_features(sgd_kernel: Kernel, k: int, dtype: str, rng: np.random.Generator) -> None:
    sgd_kernel.need(dtype)
    X, y, weights = samples(rng, 50, k, dtype)
    order, how = order_of(rng, 50, 70), {"rate": 0.3 / k, "keep": 0.99}
    assert_descent(compute(sgd_kernel, X, y, weights, order, **how), X, y, weights, order, **how)
    resident = [on_device(sgd_kernel.device, a) for a in (X, y, weights, order)]
    got = compute(sgd_kernel, *resident, **how)
    assert type(got) is type(resident[0])
    assert_descent(on_host(sgd_kernel.device, got), X, y, weights, order, **how)


@pytest.mark.parametrize("steps", STEPS)
def test_every_number_of_steps(sgd_kernel: Kernel, steps: int, rng: np.random.Generator) -> None:
    X, y, weights = samples(rng, 40, 7, "f4", intercept=True)
    order = order_of(rng, 40, steps)
    assert_descent(compute(sgd_kernel, X, y, weights, order, rate=0.2), X, y, weights, order, rate=0.2)


def test_no_steps_at_all(sgd_kernel: Kernel, rng: np.random.Generator) -> None:
    X, y, weights = samples(rng, 40, 7, "f4")
    none = np.zeros(0, np.int32)
    np.testing.assert_array_equal(compute(sgd_kernel, X, y, weights, none, rate=0.2), weights)
    resident = [on_device(sgd_kernel.device, a) for a in (X, y, weights)]
    got = compute(sgd_kernel, *resident, sgd_kernel.device.driver.empty((0,), none.dtype), rate=0.2)
    np.testing.assert_array_equal(on_host(sgd_kernel.device, got), weights)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("intercept", [False, True])
def test_sample_weights_and_paces_of_stretches(
    sgd_kernel: Kernel, intercept: bool, dtype: str, rng: np.random.Generator
) -> None:
    sgd_kernel.need(dtype)
    X, y, weights = samples(rng, 60, 12, dtype, intercept=intercept)
    shares, order = rng.random(60).astype(dtype), order_of(rng, 60, 120)
    for stretches in (1, 2, 3, 40, 120):  # of which some end within a run, and some are single steps
        how = {"rate": rng.random(stretches) / 4, "keep": 1 - rng.random(stretches) / 20}
        got = compute(sgd_kernel, X, y, weights, order, sample_weight=shares, **how)
        assert_descent(got, X, y, weights, order, shares=shares, **how)
    got = compute(sgd_kernel, X, y, weights, order, rate=0.1, keep=[0.5, 1])
    assert_descent(got, X, y, weights, order, rate=0.1, keep=[0.5, 1])


def test_a_sample_again_and_again(sgd_kernel: Kernel, rng: np.random.Generator) -> None:
    X, y, weights = samples(rng, 3, 20, "f4", intercept=True)
    order = np.int32([1] * 50 + [2, 1] * 25)
    got = compute(sgd_kernel, X, y, weights, order, rate=0.05, keep=0.97)
    assert_descent(got, X, y, weights, order, rate=0.05, keep=0.97)


def test_large_margins_do_not_overflow(sgd_kernel: Kernel, rng: np.random.Generator) -> None:
    X, y, _ = samples(rng, 30, 2, "f4")
    X[:10], X[10:20] = [1e4, 0], [-1e4, 0]
    order, weights = np.arange(30, dtype=np.int32), np.float32([1, 0.5])
    got = compute(sgd_kernel, X, y, weights, order, rate=1e-8)
    assert np.isfinite(got).all()
    assert_descent(got, X, y, weights, order, rate=1e-8)


def test_nan_propagates_from_a_sample_that_is_met(sgd_kernel: Kernel, rng: np.random.Generator) -> None:
    X, y, weights = samples(rng, 100, 7, "f4")
    X[70, 3] = np.nan
    order = np.delete(np.arange(100), 70).astype(np.int32)
    assert np.isfinite(compute(sgd_kernel, X, y, weights, order, rate=0.1)).all()
    assert np.isnan(compute(sgd_kernel, X, y, weights, np.int32([*order, 70]), rate=0.1)).all()
    assert np.isnan(compute(sgd_kernel, X, y, weights, np.int32([70, *order]), rate=0.1)).all()


def test_the_same_bits_from_run_to_run(sgd_kernel: Kernel, rng: np.random.Generator) -> None:
    if not sgd_kernel.variant.deterministic:
        pytest.skip("adds by atomics in any order")
    X, y, weights = samples(rng, 500, 90, "f4", intercept=True)
    order = order_of(rng, 500, 3000)
    first = compute(sgd_kernel, X, y, weights, order, rate=0.01)
    for _ in range(4):
        assert compute(sgd_kernel, X, y, weights, order, rate=0.01).tobytes() == first.tobytes()


@pytest.mark.parametrize(("threads", "rows"), GROUPS)
def test_groups_as_asked_for(sgd_kernel: Kernel, threads: int, rows: int, rng: np.random.Generator) -> None:
    if sgd_kernel.variant.scratch != "products":
        pytest.skip("has no groups")
    X, y, weights = samples(rng, 60, 30, "f4", intercept=True)
    order, how = order_of(rng, 60, 101), {"rate": 0.05, "keep": 0.99}
    got = compute(sgd_kernel, X, y, weights, order, threads_per_datapoint=threads, datapoints_per_block=rows, **how)
    assert_descent(got, X, y, weights, order, **how)


@pytest.mark.parametrize(("threads", "rows"), TURNS)
def test_teams_of_any_size_take_turns(sgd_kernel: Kernel, threads: int, rows: int, rng: np.random.Generator) -> None:
    if not getattr(sgd_kernel.variant, "takes_turns", False):
        pytest.skip("has no teams")
    for k in (7, 130):  # fewer features than threads, and features that threads share unevenly
        X, y, weights = samples(rng, 40, k, "f4", intercept=True)
        order, how = order_of(rng, 40, 3 * rows + 2), {"rate": 0.3 / k, "keep": 0.99}
        got = compute(sgd_kernel, X, y, weights, order, threads_per_datapoint=threads, datapoints_per_block=rows, **how)
        assert_descent(got, X, y, weights, order, **how)


def test_the_thesis_kernels_run_by_name_alone(device: gpuprims.Device) -> None:
    if device.backend == "reference":
        pytest.skip("NumPy has one kernel")
    explained = gpuprims.explain("sgd", device, size=100, outputs=20_000)
    assert explained.chosen is None or explained.chosen.name in ("cpu_sequential", "fixed")


def test_runs_in_several_rounds(sgd_kernel: Kernel, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    if sgd_kernel.variant.scratch != "products":
        pytest.skip("has no rounds")
    X, y, weights = samples(rng, 70, 13, "f4", intercept=True)
    order, how = order_of(rng, 70, 390), {"rate": [0.1, 0.2, 0.05], "keep": 0.98}
    monkeypatch.setattr(sgd, "_MOST_PRODUCTS", 3 * 32 * 32 * 4)
    sgd.plan_call.cache_clear()
    got = compute(sgd_kernel, X, y, weights, order, **how)
    sgd.plan_call.cache_clear()
    assert_descent(got, X, y, weights, order, **how)


def test_rows_that_lie_apart_are_copied_together(device: gpuprims.Device, rng: np.random.Generator) -> None:
    X, y, weights = samples(rng, 60, 10, "f4")
    wide, order = np.zeros((120, 30), np.float32), order_of(rng, 60, 90)
    wide[::2, ::3] = X
    for apart in (wide[::2, ::3], np.asfortranarray(X), X.astype(">f4")):
        got = logistic_sgd(apart, y, weights, order[::-1], rate=0.1, device=device)
        assert_descent(got, X, y, weights, order[::-1], rate=0.1)


def test_arrays_within_others_on_a_device(device: gpuprims.Device, rng: np.random.Generator) -> None:
    X, y, weights = samples(rng, 61, 8, "f4")
    order = order_of(rng, 58, 100)
    resident = [on_device(device, a) for a in (X, y, weights, order)]
    got = logistic_sgd(resident[0][3:], resident[1][3:], resident[2], resident[3][5:], rate=0.1)
    assert_descent(on_host(device, got), X[3:], y[3:], weights, order[5:], rate=0.1)


def test_wrong_arguments(device: gpuprims.Device, rng: np.random.Generator) -> None:
    X, y, weights = samples(rng, 20, 3, "f4")
    order = np.arange(20, dtype=np.int32)

    def refused(error: type[Exception], words: str, *arrays: Any, **how: Any) -> None:
        with pytest.raises(error, match=words):
            logistic_sgd(*arrays, **{"rate": 0.1, "device": device} | how)

    refused(DtypeError, "X of float32 or float64; got dtype int64", X.astype(int), y, weights, order)
    refused(DtypeError, "y of the dtype of X, float32; got float64", X, y.astype(float), weights, order)
    refused(ShapeError, r"weights of shape \(3,\) or \(4,\)", X, y, weights[1:], order)
    refused(ShapeError, r"sample_weight of shape \(20,\)", X, y, weights, order, sample_weight=weights)
    refused(DtypeError, "order of int32; got dtype int64", X, y, weights, order.astype(np.int64))
    refused(ShapeError, r"order of one dimension .* got shape \(4, 5\)", X, y, weights, order.reshape(4, 5))
    refused(ArgumentError, "order of numbers from 0 to 19; got 1 to 20", X, y, weights, order + 1)
    refused(ArgumentError, "order of numbers from 0 to 19; got -1 to 18", X, y, weights, order - 1)
    refused(ShapeError, r"all of equal length; got shape \(3,\) for 20 steps", X, y, weights, order, rate=[1, 2, 3])
    refused(ShapeError, r"got shape \(2, 2\)", X, y, weights, order, rate=np.ones((2, 2)))
    refused(ArgumentError, "rate= and keep= numbers, .* got 'fast' and 1.0", X, y, weights, order, rate="fast")
    refused(ArgumentError, "got .1, 2. and .1, 2, 3, 4, 5.", X, y, weights, order, rate=[1, 2], keep=[1, 2, 3, 4, 5])
    refused(UnknownVariantError, "got 'no_such'", X, y, weights, order, variant="no_such")
    refused(ArgumentError, "threads_per_datapoint= a whole number from 1 to 1024; got 0", X, y, weights, order,
            threads_per_datapoint=0)  # fmt: skip
    refused(ArgumentError, "datapoints_per_block= a whole number from 1 to 32; got 64", X, y, weights, order,
            datapoints_per_block=64)  # fmt: skip
    if device.backend == "reference":
        refused(ArgumentError, "datapoints_per_block= only for kernels whose .* got sgd/numpy", X, y, weights, order,
                datapoints_per_block=8)  # fmt: skip
        return
    refused(DeviceMismatchError, "arrays on one device", on_device(device, X), y, weights, order)
    refused(ArgumentError, "a group of at most 1024 work-items, .* got threads_per_datapoint=128 and .*=32", X, y,
            weights, order, variant="gram", threads_per_datapoint=128, datapoints_per_block=32)  # fmt: skip
    refused(ArgumentError, "threads_per_datapoint= a power of two up to 1024; got 3", X, y, weights, order,
            variant="gram", threads_per_datapoint=3)  # fmt: skip
    for name, rows in (("linear", 3), ("warp_atomic", 4)):
        refused(ArgumentError, f"at most 1024 work-items, .* got threads_per_datapoint=512 and .*={rows}", X, y,
                weights, order, variant=name, threads_per_datapoint=512, datapoints_per_block=rows)  # fmt: skip
    wide = samples(rng, 20, 3000, "f4")
    refused(ArgumentError, "at most 1024 numbers of a run for each work-item; got 3008 by", *wide, order,
            variant="gram", threads_per_datapoint=1, datapoints_per_block=32)  # fmt: skip


def test_more_features_than_a_group_holds(device: gpuprims.Device) -> None:
    if device.backend == "reference":
        pytest.skip("NumPy takes any number")
    X, y, weights = np.ones((1, 20_000), np.float32), np.ones(1, np.float32), np.zeros(20_000, np.float32)
    with pytest.raises(NoVariantError, match=r"up to 16384 features of float32; got 20000"):
        logistic_sgd(X, y, weights, np.zeros(1, np.int32), rate=0.1, device=device, variant="gram")
    most = np.ones((2, 16384), np.float32)
    order, y = np.array([0, 1, 1], np.int32), np.array([0, 1], np.float32)
    got = logistic_sgd(most, y, most[0] * 0, order, rate=1e-5, device=device, variant="gram")
    np.testing.assert_allclose(got, descended(most, y, most[0] * 0, order, rate=1e-5), rtol=1e-4)


@pytest.mark.parametrize("k", [5, pytest.param(300, marks=pytest.mark.whole)])
def test_the_level_device_has_the_same_bits_everywhere(
    device: gpuprims.Device, k: int, rng: np.random.Generator
) -> None:
    X, y, weights = samples(rng, 40, k, "f4", intercept=True)
    order, how = order_of(rng, 40, 90), {"rate": [0.3 / k, 0.1 / k], "keep": 0.99}
    counts = rng.uniform(0.5, 2, 40).astype("f4")
    with gpuprims.use_determinism("device"):
        found, expected = (
            logistic_sgd(X, y, weights, order, sample_weight=counts, device=one, **how) for one in (device, "reference")
        )
    assert found.tobytes() == expected.tobytes()
