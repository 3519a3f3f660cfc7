"""Logistic gradients and gradient descent under Oclgrind and compute-sanitizer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_cases import Kernel, on_device, on_host, random_values
from logistic_cases import assert_descended, assert_logistic, logistic_oracle
from newton_cases import assert_fitted
from watched_kernels import each, of

from gpuprims.primitives.descent import logistic_descent
from gpuprims.primitives.logistic import logistic_gradient
from gpuprims.primitives.newton import logistic_newton

pytestmark = pytest.mark.oclgrind

LOGISTICS = [variant for variant in of("logistic") if not variant.name.endswith("fixed_point")]


@each(LOGISTICS)
def test_logistic_gradients(kernel: Kernel, rng: np.random.Generator) -> None:
    for n, k in ((1, 3), (130, 5), (40, 40)):
        for shares in (None, rng.random(n).astype("f4")):
            X, y = random_values(rng, np.float32, (n, k)), (rng.random(n) < 0.4).astype("f4")
            weights = random_values(rng, np.float32, k + 1)
            where = {"device": kernel.device, "variant": kernel.variant.name}
            assert_logistic(logistic_gradient(X, y, weights, sample_weight=shares, **where), X, y, weights, shares)


@each([variant for variant in of("logistic") if variant.name.endswith(("fixed_point", "fused"))])
def test_logistic_gradients_of_bytes(kernel: Kernel, rng: np.random.Generator) -> None:
    for n, k in ((1, 3), (130, 8), (40, 40)):
        X, y = rng.integers(-127, 128, (n, k)).astype(np.int8), (rng.random(n) < 0.4).astype("f4")
        weights = random_values(rng, np.float32, k + 1) / 127
        got = logistic_gradient(X, y, weights, device=kernel.device, variant=kernel.variant.name)
        expected = logistic_oracle(X, y, weights)
        np.testing.assert_allclose(got[0], expected[0], rtol=1e-2)
        np.testing.assert_allclose(got[1], expected[1], rtol=0, atol=1e-2 * np.abs(X.astype("f8")).sum())


@each(LOGISTICS)
def test_logistic_gradients_on_the_device(kernel: Kernel, rng: np.random.Generator) -> None:
    n, k = 1500, 8  # rows of whole vectors, more than two groups take in one pass
    X, y = random_values(rng, np.float32, (n, k)), (rng.random(n) < 0.4).astype("f4")
    weights = random_values(rng, np.float32, k)
    resident = [on_device(kernel.device, a) for a in (X, y, weights)]
    got = logistic_gradient(*resident, variant=kernel.variant.name)
    assert_logistic([on_host(kernel.device, one) for one in got], X, y, weights)


@each([variant for variant in LOGISTICS if variant.word_items])
def test_logistic_gradients_of_rows_that_a_whole_group_holds(kernel: Kernel, rng: np.random.Generator) -> None:
    X, y = random_values(rng, np.float32, (3, 1100)), np.float32([0, 1, 1])
    weights = random_values(rng, np.float32, 1100) / 33
    got = logistic_gradient(X, y, weights, device=kernel.device, variant=kernel.variant.name)
    assert_logistic(got, X, y, weights)


@each(of("descent"))
def test_descents(kernel: Kernel, rng: np.random.Generator) -> None:
    how: dict[str, Any] = {"rate": 0.01, "steps": 3, "decay": 0.125}
    for n, k in ((1, 3), (130, 5), (70, 11)):
        for shares in (None, rng.random(n).astype("f4")):
            X, y = random_values(rng, np.float32, (n, k)), (rng.random(n) < 0.4).astype("f4")
            weights = random_values(rng, np.float32, k + 1)
            given = [on_device(kernel.device, a) for a in (X, y, weights)]
            held = None if shares is None else on_device(kernel.device, shares)
            got = logistic_descent(*given, sample_weight=held, variant=kernel.variant.name, **how)
            assert_descended(on_host(kernel.device, got), X, y, weights, shares, **how)


@each(of("newton"))
def test_batches(kernel: Kernel, rng: np.random.Generator) -> None:
    for n, k, weighted in ((40, 1, False), (70, 5, True)):  # one tile of rows, and several
        shares = 0.5 + rng.random(n).astype("f4") if weighted else None
        X, y = random_values(rng, np.float32, (2, n, k)), rng.random((2, n)) < 0.4
        given = [on_device(kernel.device, a) for a in (X, y)]
        held = None if shares is None else on_device(kernel.device, shares)
        got = logistic_newton(*given, sample_weight=held, variant=kernel.variant.name)
        assert_fitted([on_host(kernel.device, one) for one in got], X, y, sample_weight=shares)
