"""Models that give samples a normal distribution: its covariance, log-likelihoods, and samples from it."""

from __future__ import annotations

from math import log, pi
from typing import Any

import numpy as np
from scipy import linalg
from sklearn.utils import check_random_state

from gpuprims.core.device import pick_device
from gpuprims.errors import ArgumentError, quoted
from gpuprims.models.checks import check_fitted
from gpuprims.models.decomposition.latent import Latent, given_back
from gpuprims.models.decomposition.moments import moments_of
from gpuprims.models.decomposition.products import centred_product
from gpuprims.models.inputs import all_finite, dense_features_of
from gpuprims.primitives.philox import random
from gpuprims.primitives.reduce import reduce


class Gaussian(Latent):
    """Base of models in which hidden values are standard normal, and noise is normal and independent."""

    noise_variance_: Any

    def _factors(self) -> np.ndarray:
        """Return the matrix F with a covariance of ``F.T @ F`` plus the noise, in float64."""
        return np.asarray(self.components_, np.float64)

    def get_covariance(self) -> np.ndarray:
        """Return the model's covariance of the features, of shape (n_features, n_features)."""
        check_fitted(self)
        factors = self._factors()
        found: np.ndarray = factors.T @ factors
        found[np.diag_indices(len(found))] += self.noise_variance_
        return found

    def get_precision(self) -> np.ndarray:
        """Return the inverse of :meth:`get_covariance`."""
        lower = self._lower()
        inverse: np.ndarray = linalg.cho_solve((lower, True), np.eye(len(lower)))
        return inverse

    def score_samples(self, X: Any) -> Any:
        """Return the log-likelihood of each sample, of shape (n_samples,), where the samples are."""
        check_fitted(self)
        lower = self._lower()
        operands, features = dense_features_of(self, X, reset=False, finite=False)
        whitening = linalg.solve_triangular(lower, np.eye(len(lower)), lower=True)
        with np.errstate(over="ignore", invalid="ignore"):
            whitened = centred_product(features, self.mean_, whitening)
        constant = features.array.dtype.type(_constant(lower))
        found = reduce(
            whitened, map="-0.5 * z * z", axis=1, device=features.device, initial=constant
        )  # the constant joins each row's sum
        if not all_finite(found, features.device):
            dense_features_of(self, X, reset=False)
        return given_back(X, operands, found)

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log-likelihood of the samples, by one pass over them; ``y`` is ignored."""
        check_fitted(self)
        lower = self._lower()
        _, features = dense_features_of(self, X, reset=False, finite=False)
        with np.errstate(over="ignore", invalid="ignore"):
            moments = moments_of(features)
        if moments is None:
            dense_features_of(self, X, reset=False)
            return -np.inf  # of squares that overflow
        away = moments.mean - self.mean_
        spread = moments.scatter / moments.size + np.outer(away, away)
        return _constant(lower) - float(np.trace(linalg.cho_solve((lower, True), spread))) / 2

    def sample(self, n_samples: int = 1, random_state: Any = None, *, noise: bool = True) -> np.ndarray:
        """Draw samples from the model.

        Parameters
        ----------
        n_samples : int, default 1
        random_state : int, RandomState instance or None, default None
        noise : bool, default True
            Add the noise. Without it, samples lie on the plane of the components.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Equal random states draw equal hidden values on every device.

        Raises
        ------
        ArgumentError
            A number of samples that is not positive.
        """
        check_fitted(self)
        label = f"{type(self).__name__}.sample"
        _check_call(label, n_samples, noise)
        device = pick_device(None, self.backend if self.device is None else self.device)
        seed = int(check_random_state(random_state).randint(2**31))
        factors, dtype = self._factors(), self.fit_dtype
        hidden = random((seed, 0), (int(n_samples), len(factors)), "normal", dtype=dtype, device=device)
        found: np.ndarray = hidden @ factors.astype(dtype) + self.mean_
        if noise:
            shape = found.shape
            found += random((seed, 1), shape, "normal", dtype=dtype, device=device) * np.sqrt(self.noise_variance_)
        return found

    def _lower(self) -> np.ndarray:
        """Return the Cholesky factor of the covariance; raise ArgumentError for samples that are all equal.

        Directions without variance get the variance that rounding may leave. So samples have a likelihood even if some
        features depend on others: a high one on the plane of the samples, and nearly none off it.
        """
        found = self.get_covariance()
        rounding = len(found) * np.finfo(np.float64).eps * float(np.trace(found))
        if not rounding:
            raise ArgumentError(f"{type(self).__name__}: samples that vary, for likelihoods; got equal ones")
        found[np.diag_indices(len(found))] += rounding
        lower: np.ndarray = linalg.cholesky(found, lower=True)
        return lower


def _check_call(label: str, n_samples: Any, noise: Any) -> None:
    if not isinstance(n_samples, int | np.integer) or isinstance(n_samples, bool) or n_samples < 1:
        raise ArgumentError(f"{label}: n_samples= a whole number above 0; got {quoted(n_samples)}")
    if not isinstance(noise, bool | np.bool_):
        raise ArgumentError(f"{label}: noise= True or False; got {quoted(noise)}")


def _constant(lower: np.ndarray) -> float:
    """Return the log of the normal density at its mean."""
    return -float(len(lower) * log(2 * pi) / 2 + np.log(np.diag(lower)).sum())
