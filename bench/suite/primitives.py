"""Benchmarks of the primitives of elements, neighbours and samples."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy import ndimage, sparse

import gpuprims
from gpuprims.primitives.csr import csr_product
from gpuprims.primitives.descent import logistic_descent
from gpuprims.primitives.hogwild import logistic_hogwild
from gpuprims.primitives.logistic import logistic_gradient
from gpuprims.primitives.newton import logistic_newton
from gpuprims.primitives.sgd import logistic_sgd

from .. import oracles
from ..elements import SEED
from ..elements import Elements as Drawn
from ..elements import Samples as DrawnSamples
from .timed import Timed, kernels_of

near = partial(np.testing.assert_allclose, rtol=1e-4, atol=1e-4)
same = np.testing.assert_array_equal


class Elements:
    """Primitives of one array of elements."""

    @kernels_of("map")
    def test_map(self, timed: Timed, variant: str | None) -> None:
        (x,) = Drawn().host(timed.size)
        near(timed(partial(gpuprims.map, "2*x + 1", variant=variant), x, nbytes=2 * x.nbytes), 2 * x + 1)

    @kernels_of("reduce")
    def test_reduce(self, timed: Timed, variant: str | None) -> None:
        (x,) = Drawn().host(timed.size)
        near(timed(partial(gpuprims.reduce, variant=variant), x, nbytes=x.nbytes), x.sum(dtype=np.float64))

    @kernels_of("reduce")
    def test_reduce_columns(self, timed: Timed, variant: str | None) -> None:
        (x,) = Drawn(shape="square").host(timed.size)
        near(timed(partial(gpuprims.reduce, axis=0, variant=variant), x, nbytes=x.nbytes), x.sum(0, np.float64))

    @kernels_of("reduce")
    def test_argmax(self, timed: Timed, variant: str | None) -> None:
        (x,) = Drawn().host(timed.size)
        same(timed(partial(gpuprims.reduce, op="argmax", variant=variant), x, nbytes=x.nbytes), x.argmax())

    @kernels_of("scan")
    def test_scan(self, timed: Timed, variant: str | None) -> None:
        (x,) = Drawn(spread="steps").host(timed.size)
        same(timed(partial(gpuprims.scan, variant=variant), x, nbytes=2 * x.nbytes), oracles.running_sum(x))

    @kernels_of("segments")
    def test_reduce_segments(self, timed: Timed, variant: str | None) -> None:
        x, offsets = Drawn(spread="steps", beside="segments").host(timed.size)
        same(timed(partial(_by_segments, gpuprims.reduce, variant), x, offsets), oracles.of_segments(x, offsets))

    @kernels_of("segscan")
    def test_scan_segments(self, timed: Timed, variant: str | None) -> None:
        x, offsets = Drawn(spread="steps", beside="segments").host(timed.size)
        same(timed(partial(_by_segments, gpuprims.scan, variant), x, offsets), oracles.within_segments(x, offsets))

    @kernels_of("compact")
    def test_compact_by_a_mask(self, timed: Timed, variant: str | None) -> None:
        x, mask = Drawn(beside="mask").host(timed.size)
        same(timed(partial(gpuprims.compact, variant=variant), x, mask, nbytes=7 * x.size), x[mask])

    @kernels_of("compact")
    def test_compact_by_a_function(self, timed: Timed, variant: str | None) -> None:
        (x,) = Drawn().host(timed.size)
        same(timed(lambda x: gpuprims.compact(x, "x > 0.5", variant=variant), x, nbytes=6 * x.size), x[x > 0.5])

    @kernels_of("histogram")
    def test_histogram(self, timed: Timed, variant: str | None) -> None:
        (x,) = Drawn().host(timed.size)
        counts = timed(lambda x: gpuprims.histogram(x, 256, (0, 1), variant=variant)[0], x, nbytes=x.nbytes)
        same(counts, oracles.added_up(partial(oracles.counts, 256), x))

    @kernels_of("histogram")
    def test_bincount(self, timed: Timed, variant: str | None) -> None:
        (x,) = Drawn("int32").host(timed.size)
        same(timed(partial(gpuprims.bincount, variant=variant), x, nbytes=x.nbytes), np.bincount(x))

    @kernels_of("take")
    def test_take(self, timed: Timed, variant: str | None) -> None:
        (x,), indices = Drawn().host(timed.size), _places(timed.size)
        same(timed(partial(gpuprims.take, variant=variant), x, indices, nbytes=12 * x.size), x[indices])

    @kernels_of("philox")
    def test_random(self, timed: Timed, variant: str | None) -> None:
        device, size = timed.device, timed.size
        x = timed(lambda: gpuprims.random(SEED, size, device=device, variant=variant), nbytes=4 * size)
        assert 0 <= x.min() < 0.01 < 0.49 < x.mean() < 0.51


class Neighbours:
    """Primitives of an image."""

    @kernels_of("stencil")
    def test_gaussian(self, timed: Timed, variant: str | None) -> None:
        (x,) = Drawn(shape="square").host(timed.size)
        soft = timed(partial(gpuprims.blur, kind="gaussian", sigma=2, variant=variant), x, nbytes=2 * x.nbytes)
        oracles.near_blur(soft, oracles.first_and_last(oracles.gaussian_2, x))

    @kernels_of("stencil")
    def test_weights(self, timed: Timed, variant: str | None) -> None:
        (x,), weights = (
            Drawn(shape="square").host(timed.size),
            np.array([[1, 2, 1], [0, 0, 0], [-1, -2, -1]], np.float32),
        )
        edges = timed(lambda x: gpuprims.stencil(x, weights, variant=variant), x, nbytes=2 * x.nbytes)
        near(edges, ndimage.correlate(x, weights, mode="nearest"))


class Samples:
    """Primitives of labelled samples: each solver's kernel."""

    @kernels_of("logistic")
    def test_gradient(self, timed: Timed, variant: str | None) -> None:
        X, y, weights = DrawnSamples(100).host(timed.size // 64)
        found = timed(partial(logistic_gradient, variant=variant), X, y, weights, nbytes=X.nbytes)
        oracles.near_gradient(found, oracles.loss_gradient_in_float64(X, y, weights))

    @kernels_of("descent")
    def test_descent(self, timed: Timed, variant: str | None) -> None:
        X, y, weights = DrawnSamples(8, at_zero=True).host(2048)
        found = timed(partial(logistic_descent, rate=1e-3, steps=200, variant=variant), X, y, weights)
        oracles.near_weights(found, oracles.descended_in_float64(1e-3, 200, X, y, weights))

    @kernels_of("newton")
    def test_newton(self, timed: Timed, variant: str | None) -> None:
        X, y, _ = DrawnSamples(8).host(2048)
        problems = np.ascontiguousarray(X.reshape(8, 256, 8)), y.reshape(8, 256)
        weights, *_ = timed(lambda X, y: logistic_newton(X, y, variant=variant), *problems)
        assert weights.shape == (8, 2, 9)  # weights, then standard errors
        assert np.isfinite(weights).all()

    @kernels_of("sgd")
    def test_sgd(self, timed: Timed, variant: str | None) -> None:
        X, y, weights = DrawnSamples(64, at_zero=True).host(2000)
        order = _places(len(y))
        near(timed(partial(logistic_sgd, rate=0.05, variant=variant), X, y, weights, order), _stepped(X, y, order))

    @kernels_of("hogwild")
    def test_hogwild(self, timed: Timed, variant: str | None) -> None:
        X, y, weights = DrawnSamples(64, at_zero=True).host(2000)
        order = _places(len(y))
        found = timed(partial(logistic_hogwild, rate=0.05, variant=variant), X, y, weights, order)
        error = np.mean((X @ found > 0) != y)  # workers change the weights in no order
        assert error < 0.25

    @kernels_of("csr")
    def test_csr(self, timed: Timed, variant: str | None) -> None:
        matrix = sparse.random_array((timed.size // 64, 1000), density=0.02, format="csr", dtype=np.float32, rng=SEED)
        dense = np.random.default_rng(SEED).random(1000, np.float32)
        given = matrix.data, matrix.indices, matrix.indptr, dense
        near(timed(partial(csr_product, variant=variant), *given), matrix @ dense)


def _by_segments(function: Any, variant: str | None, x: Any, offsets: Any) -> Any:
    return function(x, segments=offsets, variant=variant)


def _places(size: int) -> np.ndarray:
    return np.random.default_rng(SEED).permutation(size).astype(np.int32)


def _stepped(X: np.ndarray, y: np.ndarray, order: np.ndarray) -> np.ndarray:
    weights = np.zeros(X.shape[1])
    for k in order:
        weights -= 0.05 * (1 / (1 + np.exp(-X[k] @ weights)) - y[k]) * X[k]
    return weights
