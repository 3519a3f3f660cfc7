"""PPCA: probabilistic principal components."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy import linalg
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from gpuprims.core.device import Device
from gpuprims.models.checks import named_parameters, unchanged_if_refused
from gpuprims.models.decomposition.expectation import maximise
from gpuprims.models.decomposition.gaussian import Gaussian
from gpuprims.models.decomposition.moments import Moments, checked_components, with_fixed_signs
from gpuprims.models.decomposition.wide import WideMoments, narrow_or_wide
from gpuprims.models.features import DenseFeatures
from gpuprims.models.inputs import dense_features_of


@named_parameters
@dataclass(eq=False, repr=False)  # scikit-learn has its own
class PPCA(Gaussian):
    """Probabilistic principal components: factor analysis with the same noise in each feature.

    Parameters
    ----------
    n_components : int or None, default None
        Number of hidden values. By default, the number of features; the noise is then zero.
    method : {"eigen", "em"}, default "eigen"
        "eigen" finds the maximum of the likelihood from the covariance, which the device computes by one pass over the
        samples. "em" is expectation-maximisation by products of the samples with n_components columns, two in each
        iteration; it needs no matrix of n_features squared, so it suits many features.
    tol : float, default 1e-6
        "em" stops when an iteration changes the factors by less, relative to their length.
    max_iter : int, default 1000
        Most iterations of "em".
    random_state : int, RandomState instance or None, default None
        Chooses the factors from which "em" begins.
    backend, device : str or Device, optional
        Where to compute. Default: where the samples are, or the best device.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The factors: orthogonal rows. The element of largest magnitude of each is positive.
    noise_variance_ : float
    mean_ : ndarray of shape (n_features,)
    n_components_, n_iter_, n_features_in_ : int

    Notes
    -----
    M. E. Tipping and C. M. Bishop, "Probabilistic principal component analysis", 1999: the factors are principal axes
    of length ``sqrt(variance - noise_variance_)``, where variances are divided by the number of samples, and the noise
    is the mean variance of the other directions. ``transform`` gives the expected hidden values, which are smaller
    than projections by PCA.

    Examples
    --------
    >>> import numpy as np
    >>> from gpuprims.models import PPCA
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((2000, 1)) @ [[3.0, 4.0, 0.0]] + 0.5 * rng.standard_normal((2000, 3))
    >>> model = PPCA(n_components=1, device="reference").fit(X)
    >>> model.components_.round(1), round(model.noise_variance_, 2)
    (array([[3., 4., 0.]]), 0.25)
    >>> model.sample(2, random_state=0).shape
    (2, 3)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "method": [StrOptions({"eigen", "em"})],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "backend": [str, Device, None],
        "device": [str, Device, None],
    }

    n_components: int | None = None
    _: KW_ONLY
    method: str = "eigen"
    tol: float = 1e-6
    max_iter: int = 1000
    random_state: Any = None
    backend: str | Device | None = None
    device: str | Device | None = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the model; see :meth:`PCA.fit`."""
        if self.method != "em":
            return super().fit(X, y)
        self._validate_params()
        with unchanged_if_refused(self):
            _, features = dense_features_of(self, X, reset=True)
        kept = checked_components(self, self.n_components, min(features.shape))
        random = check_random_state(self.random_state)
        found = maximise(features, kept, float(self.tol), int(self.max_iter), random)
        if not found.converged:
            rule = f"PPCA: factors that change by less than tol={self.tol} within max_iter={self.max_iter} iterations"
            warnings.warn(f"{rule}; got a larger change (raise max_iter)", ConvergenceWarning, stacklevel=2)
        lengths, rows = linalg.svd(found.factors, full_matrices=False)[1:]
        self._store(found.mean, lengths[:, None] * rows, found.noise, found.iterations)
        self._keep_as(features.array.dtype)
        return self

    def _moments_of(self, features: DenseFeatures) -> Moments | WideMoments | None:
        return narrow_or_wide(features)

    def _fit_moments(self, moments: Moments | WideMoments) -> None:
        k = moments.features
        kept = checked_components(self, self.n_components, min(moments.size, k))
        squares, rows = moments.principal(kept)
        variances = squares / moments.size
        left_out = max(moments.total / moments.size - float(variances.sum()), 0.0)
        noise = left_out / (k - kept) if kept < k else 0.0
        self._store(moments.mean, np.sqrt(np.maximum(variances - noise, 0))[:, None] * rows, noise, 1)

    def _store(self, mean: np.ndarray, factors: np.ndarray, noise: float, iterations: int) -> None:
        self.components_, self.n_components_ = with_fixed_signs(factors), len(factors)
        self.mean_, self.noise_variance_, self.n_iter_ = mean, noise, iterations

    def _projection(self) -> np.ndarray:
        factors = np.asarray(self.components_, np.float64)
        inner = factors @ factors.T + self.noise_variance_ * np.eye(len(factors))
        found: np.ndarray = linalg.lstsq(inner, factors)[0]
        return found
