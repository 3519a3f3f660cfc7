"""Gradient descent in one launch, of every kernel, held against NumPy in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_cases import Kernel, on_device, on_host
from logistic_cases import assert_descended, samples

import gpuprims
from gpuprims.errors import ArgumentError, DtypeError, NoVariantError, ShapeError
from gpuprims.primitives.descent import logistic_descent

FLOATS = ("float32", "float64")
RUNGS = ("sequential", "merged_loops", "work_items", "tree", "vec4")


def compute(kernel: Kernel, *arrays: Any, **how: Any) -> Any:
    return logistic_descent(*arrays, device=kernel.device, variant=kernel.variant.name, **how)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32])
def test_every_number_of_columns(descent_kernel: Kernel, k: int, dtype: str, rng: np.random.Generator) -> None:
    descent_kernel.need(dtype)
    X, y, weights = samples(rng, 200, k, dtype)
    how: dict[str, Any] = {"rate": 2.0**-9, "steps": 20}
    assert_descended(compute(descent_kernel, X, y, weights, **how), X, y, weights, **how)
    resident = [on_device(descent_kernel.device, a) for a in (X, y, weights)]
    got = compute(descent_kernel, *resident, **how)
    assert type(got) is type(resident[0])
    assert_descended(on_host(descent_kernel.device, got), X, y, weights, **how)


@pytest.mark.optimised
@pytest.mark.parametrize("n", [1, 2, 15, 16, 17, 127, 128, 129, 255, 256, 257, 2048, 2561])
def test_every_number_of_rows(descent_kernel: Kernel, n: int, rng: np.random.Generator) -> None:
    X, y, weights = samples(rng, n, 8, "f4")
    how: dict[str, Any] = {"rate": 0.5 / n, "steps": 10}
    assert_descended(compute(descent_kernel, X, y, weights, **how), X, y, weights, **how)


@pytest.mark.parametrize("steps", [1, 2, 300])
def test_any_number_of_steps_a_launch(descent_kernel: Kernel, steps: int, rng: np.random.Generator) -> None:
    X, y, weights = samples(rng, 131, 4, "f4", intercept=True)
    how: dict[str, Any] = {"rate": 2.0**-8, "steps": steps, "decay": 2.0**-10}
    assert_descended(compute(descent_kernel, X, y, weights, **how), X, y, weights, **how)


def test_as_many_samples_as_a_group_holds(descent_kernel: Kernel, rng: np.random.Generator) -> None:
    variant = descent_kernel.variant
    n = variant.block * variant.items // 8 if variant.word_items else 4000
    X, y, weights = samples(rng, n, 8, "f4")
    how: dict[str, Any] = {"rate": 0.5 / n, "steps": 5}
    assert_descended(compute(descent_kernel, X, y, weights, **how), X, y, weights, **how)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("decay", [0.0, 0.125])
def test_an_intercept_sample_weights_and_a_penalty(
    descent_kernel: Kernel, decay: float, dtype: str, rng: np.random.Generator
) -> None:
    descent_kernel.need(dtype)
    for k in (2, 8, 12):
        X, y, weights = samples(rng, 300, k, dtype, intercept=True)
        shares = rng.random(300).astype(dtype)
        how: dict[str, Any] = {"rate": 2.0**-8, "steps": 15, "decay": decay}
        assert_descended(compute(descent_kernel, X, y, weights, **how), X, y, weights, **how)
        got = compute(descent_kernel, X, y, weights, sample_weight=shares, **how)
        assert_descended(got, X, y, weights, shares, **how)
        got = compute(descent_kernel, X, y, weights[:k], sample_weight=shares, **how)
        assert_descended(got, X, y, weights[:k], shares, **how)


def test_small_steps_of_large_weights_are_not_rounded_off(descent_kernel: Kernel, rng: np.random.Generator) -> None:
    X, y, _ = samples(rng, 100, 3, "f4")
    weights, how = np.float32([1, -2, 3]), {"rate": 2.0**-26, "steps": 4096}  # a step is less than half a rounding
    got = compute(descent_kernel, X, y, weights, **how)
    assert np.all(got != weights)
    assert_descended(got, X, y, weights, **how)


def test_large_margins_do_not_overflow(descent_kernel: Kernel, rng: np.random.Generator) -> None:
    X, y, _ = samples(rng, 300, 2, "f4")
    X[:100], X[100:200] = [1e4, 0], [-1e4, 0]
    weights, how = np.float32([1, 0.5]), {"rate": 2.0**-20, "steps": 3}
    assert_descended(compute(descent_kernel, X, y, weights, **how), X, y, weights, **how)


def test_nan_propagates(descent_kernel: Kernel, rng: np.random.Generator) -> None:
    X, y, weights = samples(rng, 300, 7, "f4")
    X[211, 3] = np.nan
    assert np.isnan(compute(descent_kernel, X, y, weights, rate=0.01, steps=2)).all()


def test_the_same_bits_from_run_to_run(descent_kernel: Kernel, rng: np.random.Generator) -> None:
    X, y, weights = samples(rng, 2011, 9, "f4", intercept=True)
    first = compute(descent_kernel, X, y, weights, rate=1e-3, steps=50)
    for _ in range(5):
        assert compute(descent_kernel, X, y, weights, rate=1e-3, steps=50).tobytes() == first.tobytes()


def test_rungs_of_the_ladder_run_when_they_are_asked_for(device: gpuprims.Device) -> None:
    if device.backend == "reference":
        pytest.skip("the reference has one kernel of each primitive")
    for size in (100, 10**6):
        refused = dict(gpuprims.explain("descent", device, size=size, outputs=8).refusals)
        rungs = {variant.name: reason for variant, reason in refused.items() if variant.name in RUNGS}
        assert rungs.keys() == {*RUNGS}
        assert {*rungs.values()} == {"is for calls that ask for this rung of the articles' ladder by name"}
    wide = np.ones((30, 3000), "f4"), np.ones(30, "f4"), np.ones(3000, "f4")
    with pytest.raises(NoVariantError, match=r"tree.*needs .* of local memory"):
        logistic_descent(*wide, rate=0.1, steps=1, device=device, variant="tree")


def test_rows_that_lie_apart_and_given_arrays_are_left_alone(device: gpuprims.Device, rng: np.random.Generator) -> None:
    X, y, weights = samples(rng, 60, 10, "f4")
    kept = weights.copy()
    how: dict[str, Any] = {"rate": 0.01, "steps": 4}
    for apart in (np.asfortranarray(X), X[::-1], X.astype(">f4")):
        assert_descended(
            logistic_descent(apart, y, weights, device=device, **how),
            np.ascontiguousarray(apart, "f4"),
            y,
            weights,
            **how,
        )
    np.testing.assert_array_equal(weights, kept)


def test_what_does_not_fit_is_refused(device: gpuprims.Device) -> None:
    X, y, w = np.ones((4, 2), np.float32), np.ones(4, np.float32), np.ones(2, np.float32)
    with pytest.raises(ArgumentError, match="descent: steps, one or more; got 0"):
        logistic_descent(X, y, w, rate=0.1, steps=0, device=device)
    with pytest.raises(TypeError, match="float"):
        logistic_descent(X, y, w, rate=0.1, steps=2.5, device=device)  # type: ignore[arg-type]
    with pytest.raises(DtypeError, match="descent: y of the dtype of X, float32; got float64"):
        logistic_descent(X, y.astype("f8"), w, rate=0.1, steps=1, device=device)
    with pytest.raises(ShapeError, match=r"descent: weights of shape \(2,\) or \(3,\)"):
        logistic_descent(X, y, np.ones(4, "f4"), rate=0.1, steps=1, device=device)
    if device.backend != "reference":
        with pytest.raises(NoVariantError, match=r"holds up to .* numbers of float32; got 30000 rows of 20"):
            logistic_descent(np.ones((30000, 20), "f4"), np.ones(30000, "f4"), np.ones(20, "f4"), rate=0.1, steps=1,
                             device=device)  # fmt: skip
