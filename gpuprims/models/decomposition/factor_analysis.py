"""FactorAnalysis: hidden causes of features that each have a noise of their own."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from math import log, pi
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy import linalg
from sklearn.decomposition._factor_analysis import _ortho_rotation
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions

from gpuprims.core.device import Device
from gpuprims.errors import ArgumentError
from gpuprims.models.checks import named_parameters
from gpuprims.models.decomposition.gaussian import Gaussian
from gpuprims.models.decomposition.moments import Moments, checked_components, principal, with_fixed_signs

# The least variance of a feature's noise, and what is added to its deviation, as in scikit-learn.
_LEAST = 1e-12


@named_parameters
@dataclass(eq=False, repr=False)  # scikit-learn has its own
class FactorAnalysis(Gaussian):
    """Factor analysis: samples are linear in a few hidden values, and each feature has noise of its own variance.

    Parameters
    ----------
    n_components : int or None, default None
        Number of factors. By default, the number of features.
    tol : float, default 1e-2
        Stop when an iteration raises the log-likelihood by less.
    max_iter : int, default 1000
    noise_variance_init : array_like of shape (n_features,), optional
        The variances of the noise in the first iteration. Default: 1.
    rotation : {"varimax", "quartimax"} or None, default None
        Rotate the factors, so that few features have large loadings on each.
    backend, device : str or Device, optional
        Where to compute. Default: where the samples are, or the best device.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The element of largest magnitude of each row is positive.
    noise_variance_ : ndarray of shape (n_features,)
    loglike_ : list of float
        The log-likelihood after each iteration.
    mean_ : ndarray of shape (n_features,)
    n_iter_, n_features_in_ : int

    Notes
    -----
    The log-likelihood depends on the samples through their covariance alone, so the device goes over them once and each
    iteration works on n_features squared numbers: it finds the eigenvectors of the covariance in units of the noise,
    then the noise that the factors leave (D. Barber, "Bayesian Reasoning and Machine Learning", algorithm 21.1).
    scikit-learn decomposes all samples in each iteration instead. Results are those of
    :class:`sklearn.decomposition.FactorAnalysis` with ``svd_method="lapack"``, with fixed signs.

    Examples
    --------
    >>> import numpy as np
    >>> from gpuprims.models import FactorAnalysis
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((500, 1)) @ [[1.0, 2.0, 3.0]] + rng.standard_normal((500, 3)) * [1.0, 0.1, 0.5]
    >>> model = FactorAnalysis(n_components=1, device="reference").fit(X)
    >>> model.components_.shape, bool(model.noise_variance_.argmax() == 0)
    ((1, 3), True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 0, None, closed="left"), None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "noise_variance_init": ["array-like", None],
        "rotation": [StrOptions({"varimax", "quartimax"}), None],
        "backend": [str, Device, None],
        "device": [str, Device, None],
    }

    n_components: int | None = None
    _: KW_ONLY
    tol: float = 1e-2
    max_iter: int = 1000
    noise_variance_init: Any = None
    rotation: str | None = None
    backend: str | Device | None = None
    device: str | Device | None = None

    def _fit_moments(self, moments: Moments) -> None:
        covariance, k = moments.scatter / moments.size, moments.features
        kept = checked_components(self, self.n_components, k)
        noise, variances = self._first_noise(k), np.diag(covariance)
        constant = k * log(2 * pi) + kept
        self.loglike_: list[float] = []
        for _ in range(self.max_iter):
            scale = np.sqrt(noise) + _LEAST
            scaled = covariance / np.outer(scale, scale)
            values, rows = principal(scaled, kept) if kept else (np.zeros(0), np.zeros((0, k)))
            factors = np.sqrt(np.maximum(values - 1, 0))[:, None] * rows * scale
            unexplained = max(float(np.trace(scaled) - values.sum()), 0.0)
            with np.errstate(divide="ignore"):
                found = constant + float(np.log(values).sum() + np.log(noise).sum()) + unexplained
            self.loglike_.append(-moments.size / 2 * found)
            if len(self.loglike_) > 1 and self.loglike_[-1] - self.loglike_[-2] < self.tol:
                break
            noise = np.maximum(variances - (factors**2).sum(axis=0), _LEAST)
        else:
            rule = f"FactorAnalysis: a log-likelihood that rises by less than tol={self.tol} within"
            warnings.warn(f"{rule} max_iter={self.max_iter} iterations; got a larger rise (raise max_iter)",
                          ConvergenceWarning, stacklevel=3)  # fmt: skip
        if self.rotation is not None:
            factors = _ortho_rotation(factors.T, method=self.rotation)[:kept]
        self.components_ = with_fixed_signs(factors) if kept else factors
        self.mean_, self.noise_variance_, self.n_iter_ = moments.mean, noise, len(self.loglike_)

    def _first_noise(self, features: int) -> np.ndarray:
        if self.noise_variance_init is None:
            return np.ones(features)
        given = np.asarray(self.noise_variance_init, np.float64)
        if given.shape != (features,) or not np.all(given > 0) or not np.isfinite(given).all():
            rule = f"FactorAnalysis: noise_variance_init= {features} numbers above 0, one for each feature"
            raise ArgumentError(f"{rule}; got shape {given.shape}, {given.reshape(-1)[:4]}")
        return given

    def _projection(self) -> np.ndarray:
        factors = np.asarray(self.components_, np.float64)
        weighted = factors / np.asarray(self.noise_variance_, np.float64)
        found: np.ndarray = linalg.solve(np.eye(len(factors)) + weighted @ factors.T, weighted, assume_a="pos")
        return found
