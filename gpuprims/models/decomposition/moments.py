"""Mean and scatter of samples by one pass over them, and the principal directions of a scatter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from scipy import linalg

from gpuprims.errors import ArgumentError, quoted
from gpuprims.models.checks import unchanged_if_refused
from gpuprims.models.features import DenseFeatures
from gpuprims.models.inputs import dense_features_of
from gpuprims.primitives.reduce import reduce

# Rows whose mean is the centre of all sums. It only has to lie among the samples. Zero does so if each mean is at most
# so many deviations from it: squares are then up to five times the variance, which costs less than a digit.
_CENTRE_ROWS, _NEAR = 4096, 2.0
Found = TypeVar("Found")


class Moments(NamedTuple):
    """The mean of samples, the products of their deviations from it, summed, and their number."""

    mean: np.ndarray
    scatter: np.ndarray
    size: int

    @property
    def features(self) -> int:
        """Number of features."""
        return len(self.mean)

    @property
    def total(self) -> float:
        """The sum of all squares."""
        return float(np.trace(self.scatter))

    def principal(self, most: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the ``most`` largest eigenvalues of the scatter, not below 0, and their vectors as rows."""
        return principal(self.scatter, most)


def fitted_samples(model: Any, X: Any, find: Callable[[DenseFeatures], Found | None]) -> tuple[DenseFeatures, Found]:
    """Check the samples of a fit; return them on the device with the result of ``find``, which is None for NaN."""
    label = type(model).__name__
    with unchanged_if_refused(model):
        _, features = dense_features_of(model, X, reset=True, finite=False)
        if features.shape[0] < 2:
            raise ArgumentError(f"{label}: at least two samples; got n_samples=1")
        with np.errstate(over="ignore", invalid="ignore"):
            found = find(features)
        if found is None:  # as with NaN or infinity in a sample, whose checks read them again
            dense_features_of(model, X, reset=True)
            raise ArgumentError(f"{label}: features whose squares are finite; got larger ones (scale them first)")
        return features, found


def moments_of(features: DenseFeatures) -> Moments | None:
    """Return the moments of samples, by one pass over them; None if they are not finite.

    Sums are those of deviations from a centre near the mean, so that features far from zero keep their digits (T. F.
    Chan, G. H. Golub, R. J. LeVeque, "Algorithms for computing the sample variance", 1983).
    """
    count, k = features.shape
    centre = _centre(features)
    sums = features.centred_gram(centre)
    if not np.isfinite(sums).all():
        return None
    shift = sums[k, :k] / count
    return Moments(centre + shift, sums[:k, :k] - count * np.outer(shift, shift), count)


def _centre(features: DenseFeatures) -> np.ndarray:
    """Return a centre among the samples: zero if that is near, else the mean of the first rows."""
    first, device = features.array[:_CENTRE_ROWS], features.device
    mean, deviation = (device.to_host(reduce(first, op=op, axis=0, device=device)) for op in ("mean", "std"))
    near = np.abs(mean) <= _NEAR * deviation
    return np.zeros_like(mean) if near.all() else mean.astype(features.array.dtype)


def checked_components(model: Any, n_components: Any, most: int) -> int:
    """Return a number of components, ``most`` for None; raise ArgumentError for more."""
    if n_components is None:
        return most
    if not n_components <= most:
        rule = f"{type(model).__name__}: n_components= up to {most}"
        raise ArgumentError(f"{rule} for these samples; got {quoted(n_components)}")
    return int(n_components)


def principal(matrix: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the ``most`` largest eigenvalues of a symmetric matrix, not below 0, and their vectors as rows."""
    k = len(matrix)
    values, vectors = linalg.eigh(matrix, subset_by_index=[k - most, k - 1]) if most < k else linalg.eigh(matrix)
    return np.maximum(values[::-1], 0), vectors[:, ::-1].T


def with_fixed_signs(rows: np.ndarray) -> np.ndarray:
    """Return rows whose elements of largest magnitude are positive, as scikit-learn's components."""
    largest = np.take_along_axis(rows, np.abs(rows).argmax(axis=1)[:, None], axis=1)
    return rows * np.where(largest < 0, -1.0, 1.0) + 0.0  # without negative zeros
