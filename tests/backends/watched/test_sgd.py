"""Descent by single samples under Oclgrind and compute-sanitizer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_cases import Kernel, on_device, on_host, random_values
from logistic_cases import assert_descent
from watched_kernels import each, of

from gpuprims.primitives.hogwild import logistic_hogwild
from gpuprims.primitives.sgd import logistic_sgd

pytestmark = pytest.mark.oclgrind

TURNS = [
    variant for variant in of("sgd") if getattr(variant, "takes_turns", False)
]  # slow here: a barrier for each step
DESCENTS = [variant for variant in of("sgd") if variant not in TURNS]
FREE = of("hogwild")


def _problem(rng: np.random.Generator, n: int, k: int, steps: int, dtype: Any = "f4") -> list[np.ndarray]:
    """Return X, y, weights with an intercept, and an order of samples with repetitions."""
    X, y = random_values(rng, dtype, (n, k)), (rng.random(n) < 0.4).astype(dtype)
    return [X, y, random_values(rng, dtype, k + 1) / np.sqrt(k).astype(dtype), rng.integers(0, n, steps).astype("i4")]


@each(DESCENTS)
def test_steps_by_single_samples(kernel: Kernel, rng: np.random.Generator) -> None:
    where = {"device": kernel.device, "variant": kernel.variant.name}
    # Kernels compile weights of samples, and the intercept, in or out: each pair of these once.
    both = (False, True)
    cases = ((1, 3, 1, True, (False,)), (40, 20, 66, False, both), (9, 70, 40, True, (True,)))
    for n, k, steps, together, weights_of_samples in cases:
        for weighted in weights_of_samples:
            X, y, weights, order = _problem(rng, n, k, steps)
            shares = rng.random(n).astype("f4") if weighted else None
            initial = weights if weighted == together else weights[:k]
            how = {"rate": 0.1 if steps == 1 else [0.1, 0.05], "keep": 0.97}
            got = logistic_sgd(X, y, initial, order, sample_weight=shares, **how, **where)
            assert_descent(got, X, y, initial, order, shares=shares, **how)


@each(DESCENTS)
def test_steps_by_single_samples_on_the_device(kernel: Kernel, rng: np.random.Generator) -> None:
    arrays = _problem(rng, 30, 64, 70, "f8")  # rows of whole vectors
    resident = [on_device(kernel.device, a) for a in arrays]
    got = logistic_sgd(*resident, rate=0.05, variant=kernel.variant.name)
    assert_descent(on_host(kernel.device, got), *arrays, rate=0.05)


@each([variant for variant in DESCENTS if variant.scratch == "products"])
def test_steps_of_groups_as_asked_for(kernel: Kernel, rng: np.random.Generator) -> None:
    arrays = _problem(rng, 30, 40, 21)
    for threads, rows in ((1, 1), (2, 16), (16, 8)):
        how = {"device": kernel.device, "variant": kernel.variant.name}
        got = logistic_sgd(*arrays, rate=0.05, threads_per_datapoint=threads, datapoints_per_block=rows, **how)
        assert_descent(got, *arrays, rate=0.05)


@each(TURNS)
def test_steps_of_teams_in_turn(kernel: Kernel, rng: np.random.Generator) -> None:
    arrays = _problem(rng, 9, 11, 6)
    for threads, rows in ((3, 5), (40, 2)):
        how = {"device": kernel.device, "variant": kernel.variant.name}
        got = logistic_sgd(*arrays, rate=0.05, threads_per_datapoint=threads, datapoints_per_block=rows, **how)
        assert_descent(got, *arrays, rate=0.05)


@each(FREE)
def test_steps_without_locks(kernel: Kernel, rng: np.random.Generator) -> None:
    where = {"device": kernel.device, "variant": kernel.variant.name}
    for dtype, lanes in (("f4", (None, 8, 64)), ("f8", (8,))):
        arrays = _problem(rng, 30, 40, 22, dtype)
        for threads in lanes:
            got = logistic_hogwild(*arrays, rate=0.05, keep=0.97, workers=1, threads_per_datapoint=threads, **where)
            assert_descent(got, *arrays, rate=0.05, keep=0.97)
            if kernel.variant.name == "racy":  # its workers race
                continue
            together = logistic_hogwild(*arrays, rate=1e-4, workers=5, threads_per_datapoint=threads, **where)
            np.testing.assert_allclose(together, arrays[2], atol=0.05)
            none = np.full((30, 40), np.nan, dtype)  # NaN must not make a step write elsewhere
            few = [*arrays[1:3], arrays[3][:3]]
            assert np.isnan(logistic_hogwild(none, *few, rate=1, threads_per_datapoint=threads, **where)).all()
