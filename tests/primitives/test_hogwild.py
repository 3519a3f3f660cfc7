"""Descent by many workers at once: alone, one takes sgd's steps; together they come near the optimum."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_cases import Kernel, on_device, on_host
from logistic_cases import assert_descent, logistic_oracle, samples
from scipy import optimize

import gpuprims
from gpuprims.errors import ArgumentError, DtypeError
from gpuprims.primitives.hogwild import logistic_hogwild

FLOATS = ("float32", "float64")
# On both sides of a few work-items to a sample, and of a warp.
FEATURES = (1, 3, 8, 31, 32, 33, 100, 300)


def compute(kernel: Kernel, *arrays: Any, **how: Any) -> Any:
    if kernel.device.backend == "reference":  # which has neither
        how = {name: value for name, value in how.items() if name not in ("workers", "threads_per_datapoint")}
    return logistic_hogwild(*arrays, device=kernel.device, variant=kernel.variant.name, **how)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("threads", [None, 1, 8, 64])
def test_one_worker_takes_the_steps_of_sgd(
    hogwild_kernel: Kernel, threads: int | None, dtype: str, rng: np.random.Generator
) -> None:
    hogwild_kernel.need(dtype)
    for k in FEATURES:
        X, y, weights = samples(rng, 40, k, dtype, intercept=k % 2 == 0)
        shares, order = rng.random(40).astype(dtype), rng.integers(0, 40, 60).astype(np.int32)
        how = {"rate": [0.3 / k, 0.1 / k, 0.2 / k], "keep": [0.99, 1, 0.9]}
        asked = {"workers": 1, "threads_per_datapoint": threads}
        got = compute(hogwild_kernel, X, y, weights, order, **asked, **how)
        assert_descent(got, X, y, weights, order, **how)
        got = compute(hogwild_kernel, X, y, weights, order, sample_weight=shares, **asked, **how)
        assert_descent(got, X, y, weights, order, shares=shares, **how)


@pytest.mark.optimised
@pytest.mark.parametrize("workers", [None, 2, 7, 40])
def test_workers_come_near_the_optimum(hogwild_kernel: Kernel, workers: int | None, rng: np.random.Generator) -> None:
    X, y, weights = samples(rng, 800, 6, "f4", intercept=True)
    y = (X @ np.float32([1, -2, 0.5, 0, 0, 1]) + rng.standard_normal(800) > 0).astype("f4")
    order = np.concatenate([rng.permutation(800) for _ in range(30)]).astype(np.int32)
    how = {"rate": 0.1 / np.sqrt(1 + np.arange(30)), "keep": 1 - 1e-6}
    resident = [on_device(hogwild_kernel.device, a) for a in (X, y, weights, order)]
    got = on_host(hogwild_kernel.device, compute(hogwild_kernel, *resident, workers=workers, **how))
    best = optimize.minimize(lambda w: logistic_oracle(X, y, w), np.zeros(7), jac=True).fun
    assert logistic_oracle(X, y, got)[0] < 1.03 * best
    assert logistic_oracle(X, y, weights)[0] > 1.5 * best


@pytest.mark.optimised
def test_every_sample_is_met_once(hogwild_kernel: Kernel, rng: np.random.Generator) -> None:
    X, y = np.eye(300, dtype="f4"), np.ones(300, "f4")  # which meet at no weight, so that the order is nothing to them
    order = rng.permutation(300).astype(np.int32)
    for n in (1, 31, 32, 33, 299, 300):
        expected = np.zeros(300, "f4")
        expected[order[:n]] = 0.25
        for workers in (None, 1, 3, 64):
            got = compute(hogwild_kernel, X, y, expected * 0, order[:n], rate=0.5, workers=workers)
            np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_plain_additions_are_asked_for_and_may_be_lost(device: gpuprims.Device, rng: np.random.Generator) -> None:
    if device.backend == "reference":
        pytest.skip("the reference has one kernel of each primitive")
    reasons = {variant.name: reason for variant, reason in gpuprims.explain("hogwild", device).refusals}
    assert reasons["racy"] == "is for calls that ask for it by name, because it loses some changes"
    # Each step adds the same to one weight: what is missing was lost, and nothing else can happen to it.
    n, rate = 4000, np.float32(2.0**-20)
    X, y, order = np.ones((n, 1), "f4"), np.ones(n, "f4"), np.arange(n, dtype=np.int32)
    how: dict[str, Any] = {"rate": rate, "device": device, "variant": "racy"}
    alone = logistic_hogwild(X, y, np.zeros(1, "f4"), order, workers=1, **how)
    assert_descent(alone, X, y, np.zeros(1, "f4"), order, rate=rate)
    together = logistic_hogwild(X, y, np.zeros(1, "f4"), order, workers=64, **how)
    assert 0 < together[0] <= alone[0] * 1.001
    with pytest.raises(ArgumentError, match="workers= one or more; got 0"):
        logistic_hogwild(X, y, np.zeros(1, "f4"), order, workers=0, **how)


def test_what_no_sample_touches_stays(hogwild_kernel: Kernel) -> None:
    X, y, weights = np.zeros((4, 40), "f4"), np.zeros(4, "f4"), np.arange(41, dtype="f4")
    got = compute(hogwild_kernel, X, y, weights, np.zeros(0, np.int32), rate=0.5)
    np.testing.assert_array_equal(got, weights)
    got = compute(hogwild_kernel, X, y, weights[:40], np.zeros(9, np.int32), rate=0.5)
    np.testing.assert_array_equal(got, weights[:40])


def test_nan_propagates_and_large_margins_do_not_overflow(hogwild_kernel: Kernel, rng: np.random.Generator) -> None:
    X, y, weights = samples(rng, 90, 5, "f4")
    X[0], X[1] = 1e20, -1e20
    order = np.arange(90, dtype=np.int32)
    assert np.isfinite(compute(hogwild_kernel, X, y, weights, order, rate=1e-20)).all()
    X[2, 3] = np.nan
    racy = hogwild_kernel.variant.name == "racy"  # which may lose a change to that of another sample
    assert np.isnan(compute(hogwild_kernel, X, y, weights, order[2:3] if racy else order[2:], rate=0.1)[3])


def test_results_are_said_to_differ(device: gpuprims.Device) -> None:
    explained = gpuprims.explain("hogwild", device)
    assert explained.chosen is not None
    assert explained.chosen.deterministic == (device.backend == "reference")


def test_wrong_arguments(device: gpuprims.Device, rng: np.random.Generator) -> None:
    X, y, weights = samples(rng, 20, 3, "f4")
    order = np.arange(20, dtype=np.int32)

    def refused(error: type[Exception], words: str, *arrays: Any, **how: Any) -> None:
        with pytest.raises(error, match=words):
            logistic_hogwild(*arrays, **{"rate": 0.1, "device": device} | how)

    refused(DtypeError, "hogwild: X of float32 or float64; got dtype int64", X.astype(int), y, weights, order)
    refused(ArgumentError, "hogwild: order of numbers from 0 to 19; got 1 to 20", X, y, weights, order + 1)
    refused(ArgumentError, "workers= one or more; got 0", X, y, weights, order, workers=0)
    refused(ArgumentError, "workers= one or more; got 1.5", X, y, weights, order, workers=1.5)
    refused(ArgumentError, "threads_per_datapoint= a power of two up to 1024; got True", X, y, weights, order,
            threads_per_datapoint=True)  # fmt: skip
    if device.backend == "reference":
        refused(ArgumentError, "workers= only for kernels whose .* got hogwild/numpy", X, y, weights, order, workers=2)
