"""Expectation-maximisation of probabilistic principal components, by products on the device."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gpuprims.errors import ArgumentError
from gpuprims.models.decomposition.products import centred_product
from gpuprims.models.features import DenseFeatures
from gpuprims.primitives.reduce import reduce


class Maximum(NamedTuple):
    """Where expectation-maximisation ended."""

    mean: np.ndarray
    factors: np.ndarray  # of shape (components, features)
    noise: float
    iterations: int
    converged: bool


def maximise(
    features: DenseFeatures, components: int, tol: float, max_iter: int, random: np.random.RandomState
) -> Maximum:
    """Return the factors and the noise of greatest likelihood.

    Each iteration takes the expected hidden values of all samples, and the factors that then fit best (M. E. Tipping
    and C. M. Bishop, "Mixtures of probabilistic principal component analysers", 1999, appendix B). Both are products of
    the samples with a matrix of few columns.
    """
    device, (n, k) = features.device, features.shape
    if n < 2:
        raise ArgumentError("PPCA: at least two samples; got n_samples=1")
    mean = device.to_host(reduce(features.array, op="mean", axis=0, device=device)).astype(np.float64)
    there = device.asarray(mean.astype(features.array.dtype).reshape(1, k))
    squares = reduce(features.array, there, map="(x - m) * (x - m)", axis=0, device=device)
    total = float(device.to_host(squares).astype(np.float64).sum())
    noise = total / (n * k)
    factors = random.standard_normal((components, k)) * np.sqrt(noise)
    for iteration in range(1, max_iter + 1):
        inner = factors @ factors.T + noise * np.eye(components)
        hidden = DenseFeatures(device, centred_product(features, mean, np.linalg.lstsq(inner, factors)[0]))
        sums = hidden.centred_gram(np.zeros(components))
        spread = n * noise * np.linalg.pinv(inner, hermitian=True) + sums[:components, :components]
        mixed = _crossed(features, hidden, mean, sums[components, :components])
        before, factors = factors, np.linalg.lstsq(spread, mixed)[0]
        left = total - 2 * np.sum(mixed * factors) + np.sum((spread @ factors) * factors)
        noise = max(float(left), 0.0) / (n * k)
        if np.linalg.norm(factors - before) <= tol * np.linalg.norm(factors):
            return Maximum(mean, factors, noise, iteration, converged=True)
    return Maximum(mean, factors, noise, max_iter, converged=False)


def _crossed(features: DenseFeatures, hidden: DenseFeatures, mean: np.ndarray, sums: np.ndarray) -> np.ndarray:
    """Return ``hidden.T @ (X - mean)`` on the host in float64, for hidden values with these sums."""
    device, components = features.device, hidden.shape[1]
    found: Any = device.driver.empty((components, features.shape[1]), features.array.dtype)
    features.write_gradient(hidden.array, found)
    return device.to_host(found).astype(np.float64) - np.outer(sums, mean)
