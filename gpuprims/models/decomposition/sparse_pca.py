"""SparsePCA: components with few features each."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy import linalg
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from gpuprims.core.device import Device
from gpuprims.models.checks import named_parameters
from gpuprims.models.decomposition.dictionary import learn
from gpuprims.models.decomposition.latent import Latent
from gpuprims.models.decomposition.moments import Moments, checked_components, with_fixed_signs


@named_parameters
@dataclass(eq=False, repr=False)  # scikit-learn has its own
class SparsePCA(Latent):
    """Sparse principal components: directions of large variance in which most features are exactly zero.

    Parameters
    ----------
    n_components : int or None, default None
        By default the number of features.
    alpha : float, default 1.0
        Penalty on the magnitudes of components; larger ones have more zeros.
    ridge_alpha : float, default 0.01
        Penalty on squares when ``transform`` solves for hidden values.
    max_iter : int, default 1000
    tol : float, default 1e-8
        Stop when an iteration lowers the objective by less, relative to it.
    random_state : int, RandomState instance or None, default None
        Chooses the feature from which a component that became zero begins anew.
    backend, device : str or Device, optional
        Where to compute. Default: where the samples are, or the best device.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Rows of length 1, or 0. The element of largest magnitude of each is positive.
    error_ : list of float
        The objective after each iteration.
    mean_ : ndarray of shape (n_features,)
    n_components_, n_iter_, n_features_in_ : int

    Notes
    -----
    The objective is ``|X - mean - U V|^2 / 2 + alpha * sum(abs(V))``, with columns of ``U`` of length 1 at most. Given
    ``V``, the best ``U`` is a combination of the features, so the objective depends on the samples through their
    covariance alone. The device goes over them once, and each iteration works on n_features squared numbers: a lasso
    for each feature by coordinate descent, then a pass over the columns of ``U`` (J. Mairal and others, "Online
    dictionary learning for sparse coding", 2009). Results are those of :class:`sklearn.decomposition.SparsePCA`, which
    begins from the same principal components.

    Examples
    --------
    >>> import numpy as np
    >>> from gpuprims.models import SparsePCA
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 2)) @ [[3.0, 3.0, 0.0, 0.0], [0.0, 0.0, 2.0, 2.0]]
    >>> X += 0.1 * rng.standard_normal((200, 4))
    >>> model = SparsePCA(n_components=2, alpha=2.0, device="reference").fit(X)
    >>> (model.components_ != 0).astype(int)
    array([[1, 1, 0, 0],
           [0, 0, 1, 1]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "ridge_alpha": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
        "backend": [str, Device, None],
        "device": [str, Device, None],
    }

    n_components: int | None = None
    _: KW_ONLY
    alpha: float = 1.0
    ridge_alpha: float = 0.01
    max_iter: int = 1000
    tol: float = 1e-8
    random_state: Any = None
    backend: str | Device | None = None
    device: str | Device | None = None

    def _fit_moments(self, moments: Moments) -> None:
        kept = checked_components(self, self.n_components, moments.features)
        random = check_random_state(self.random_state)
        codes, self.error_ = learn(moments, kept, float(self.alpha), float(self.tol), int(self.max_iter), random)
        lengths = linalg.norm(codes, axis=0)
        self.components_ = with_fixed_signs((codes / np.where(lengths > 0, lengths, 1)).T)
        self.mean_, self.n_components_, self.n_iter_ = moments.mean, kept, len(self.error_)

    def _projection(self) -> np.ndarray:
        rows = np.asarray(self.components_, np.float64)
        found: np.ndarray = linalg.lstsq(rows @ rows.T + self.ridge_alpha * np.eye(len(rows)), rows)[0]
        return found
