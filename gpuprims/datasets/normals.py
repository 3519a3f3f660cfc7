"""Points of two normal distributions."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gpuprims.errors import ArgumentError, quoted

_LABEL = "two_normals"


def two_normals(
    samples: int = 2048,
    *,
    means: npt.ArrayLike = ((-1.0, -1.0), (1.0, 1.0)),
    covariances: npt.ArrayLike | None = None,
    share: float = 0.5,
    seed: int = 0,
    dtype: npt.DTypeLike = np.float32,
) -> tuple[np.ndarray, np.ndarray]:
    """Draw labelled points from two multivariate normal distributions, as the first article does.

    Parameters
    ----------
    samples : int, default 2048
    means : array_like of shape (2, n_features)
        The middle of each distribution.
    covariances : array_like of shape (n_features, n_features) or (2, n_features, n_features), optional
        Of both distributions, or of each. Default: 1 along each axis.
    share : float, default 0.5
        Share of the samples of the second distribution, whose label is 1.
    seed : int, default 0
        Equal seeds give equal points.
    dtype : dtype, default float32

    Returns
    -------
    (ndarray of shape (samples, n_features), ndarray of int32 of shape (samples,))
        Points and labels 0 and 1, in random order.

    Raises
    ------
    ArgumentError
        Shapes that do not fit, a covariance that is none, or a share that leaves no samples of a label.

    Examples
    --------
    >>> from gpuprims.datasets import two_normals
    >>> X, y = two_normals(1000, means=[[0, 0, 0], [3, 0, 0]])
    >>> X.shape, int(y.sum()), X[y == 1].mean(axis=0).round().tolist()
    ((1000, 3), 500, [3.0, 0.0, 0.0])
    """
    second = _second(samples, share)
    middles = np.asarray(means, np.float64)
    if middles.ndim != 2 or len(middles) != 2 or not middles.size or not np.isfinite(middles).all():
        raise ArgumentError(f"{_LABEL}: means= finite numbers of shape (2, n_features); got shape {middles.shape}")
    factors = _factors(covariances, middles.shape[1])
    rng = np.random.default_rng(seed)
    drawn = rng.standard_normal((samples, middles.shape[1]))
    labels = (np.arange(samples) < second).astype(np.int32)
    rng.shuffle(labels)
    for label in (0, 1):
        rows = labels == label
        drawn[rows] = drawn[rows] @ factors[label].T + middles[label]
    return drawn.astype(dtype), labels


def _second(samples: Any, share: Any) -> int:
    """Return the number of samples with label 1."""
    if not isinstance(samples, int | np.integer) or isinstance(samples, bool):
        raise ArgumentError(f"{_LABEL}: samples= a whole number; got {quoted(samples)}")
    second = round(float(samples * share))
    if not 0 < second < samples:
        raise ArgumentError(f"{_LABEL}: samples of both labels; got {second} of {samples} with label 1")
    return second


def _factors(covariances: Any, features: int) -> np.ndarray:
    """Return the Cholesky factor of each distribution's covariance."""
    given = np.eye(features) if covariances is None else np.asarray(covariances, np.float64)
    if given.shape not in ((features, features), (2, features, features)):
        shapes = f"({features}, {features}) or (2, {features}, {features})"
        raise ArgumentError(f"{_LABEL}: covariances= of shape {shapes}, as the means; got shape {given.shape}")
    both = np.broadcast_to(given, (2, features, features))
    if not np.allclose(both, both.transpose(0, 2, 1)):
        raise ArgumentError(f"{_LABEL}: symmetric covariances=; got others")
    try:
        return np.linalg.cholesky(both)
    except np.linalg.LinAlgError as error:
        raise ArgumentError(f"{_LABEL}: positive definite covariances=; got others") from error
