"""PCA: principal components, by one pass over the samples."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.decomposition._pca import _infer_dimension
from sklearn.utils._param_validation import Interval, StrOptions

from gpuprims.core.device import Device
from gpuprims.errors import ArgumentError
from gpuprims.models.checks import named_parameters
from gpuprims.models.decomposition.gaussian import Gaussian
from gpuprims.models.decomposition.moments import Moments, checked_components, with_fixed_signs
from gpuprims.models.decomposition.wide import WideMoments, narrow_or_wide
from gpuprims.models.features import DenseFeatures


@named_parameters
@dataclass(eq=False, repr=False)  # scikit-learn has its own
class PCA(Gaussian):
    """Principal components: the directions in which samples vary most.

    Parameters
    ----------
    n_components : int, float, "mle" or None, default None
        How many components to keep: this number, as many as explain this share of the variance (from 0 to 1), or
        Minka's estimate ("mle"). None keeps all, which are as many as samples or features, whichever are fewer.
    whiten : bool, default False
        Divide hidden values by their standard deviation.
    backend, device : str or Device, optional
        Where to compute, such as ``"cuda"`` or ``"opencl:cpu"``. Default: where the samples are, or the best device.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal rows, by falling variance. The element of largest magnitude of each is positive.
    explained_variance_, explained_variance_ratio_, singular_values_ : ndarray of shape (n_components,)
    mean_ : ndarray of shape (n_features,)
    n_components_ : int
    noise_variance_ : float
        Mean variance of the directions that were left out.
    n_samples_, n_features_in_ : int

    Notes
    -----
    The device goes over the samples once, for the mean and the covariance around it; the host finds the eigenvectors of
    the covariance in float64, as scikit-learn's solver "covariance_eigh". If there are fewer samples than features, it
    uses the samples' inner products instead. Results are those of :class:`sklearn.decomposition.PCA`, signs included.
    Memory on the host is that of a matrix of n_features squared, or of n_samples squared if these are fewer.

    Examples
    --------
    >>> import numpy as np
    >>> from gpuprims.models import PCA
    >>> X = np.array([[-2.0, -1.9], [-1.0, -1.1], [1.0, 0.9], [2.0, 2.1]])
    >>> model = PCA(n_components=1, device="reference").fit(X)
    >>> model.components_.round(1)
    array([[0.7, 0.7]])
    >>> model.transform([[3.0, 3.0]]).round(2)
    array([[4.24]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="neither"),
            StrOptions({"mle"}),
            None,
        ],
        "whiten": ["boolean"],
        "backend": [str, Device, None],
        "device": [str, Device, None],
    }

    n_components: Any = None
    _: KW_ONLY
    whiten: bool = False
    backend: str | Device | None = None
    device: str | Device | None = None

    def _moments_of(self, features: DenseFeatures) -> Moments | WideMoments | None:
        return narrow_or_wide(features)

    def _fit_moments(self, moments: Moments | WideMoments) -> None:
        most, asked = min(moments.size, moments.features), self.n_components
        chosen_by_variance = isinstance(asked, str | float) and not isinstance(asked, Integral)
        kept = most if chosen_by_variance else checked_components(self, asked, most)
        total = moments.total / (moments.size - 1)
        squares, rows = moments.principal(kept)
        variances = squares / (moments.size - 1)
        if chosen_by_variance:
            kept = self._count(variances, total, moments)
        left_out = max(total - float(variances[:kept].sum()), 0.0)
        self.n_components_, self.n_samples_ = kept, moments.size
        self.noise_variance_ = left_out / (most - kept) if kept < most else 0.0
        self.explained_variance_ = variances[:kept]
        self.explained_variance_ratio_ = self.explained_variance_ / total if total else np.zeros(kept)
        self.singular_values_ = np.sqrt(self.explained_variance_ * (moments.size - 1))
        self.mean_, self.components_ = moments.mean, with_fixed_signs(rows[:kept])

    def _count(self, variances: np.ndarray, total: float, moments: Moments | WideMoments) -> int:
        """Return the number of components that a share of the variance or Minka's estimate asks for."""
        if not isinstance(self.n_components, str):
            reached = np.cumsum(variances) / total if total else np.ones(len(variances))
            return int(np.searchsorted(reached, self.n_components, side="right")) + 1
        if moments.size < moments.features:
            got = f"{moments.size} samples of {moments.features} features"
            raise ArgumentError(f'PCA: as many samples as features for n_components="mle"; got {got}')
        return int(_infer_dimension(variances, moments.size))

    def _projection(self) -> np.ndarray:
        rows = np.asarray(self.components_, np.float64)
        return rows / self._deviations()[:, None] if self.whiten else rows

    def _loadings(self) -> np.ndarray:
        rows = np.asarray(self.components_, np.float64)
        return rows * self._deviations()[:, None] if self.whiten else rows

    def _deviations(self) -> np.ndarray:
        """Return the standard deviation of each hidden value, above zero."""
        found = np.sqrt(np.asarray(self.explained_variance_, np.float64))
        found[found == 0] = np.finfo(self.fit_dtype).eps
        return found

    def _factors(self) -> np.ndarray:
        above = np.maximum(np.asarray(self.explained_variance_, np.float64) - self.noise_variance_, 0)
        found: np.ndarray = np.sqrt(above)[:, None] * np.asarray(self.components_, np.float64)
        return found
