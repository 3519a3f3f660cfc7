"""MatchingNet: a vote of the fitted samples, weighted by their similarity."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from gpuprims.core.device import Device
from gpuprims.models.checks import named_parameters, unchanged_if_refused
from gpuprims.models.features import DenseFeatures
from gpuprims.models.few_shot.similarity import METRICS, BySimilarity, Rows, of_class
from gpuprims.models.logreg.samples import samples_of
from gpuprims.primitives.map import map as map_elements
from gpuprims.primitives.reduce import reduce
from gpuprims.primitives.take import take
from gpuprims.primitives.top_k import top_k


@named_parameters
@dataclass(eq=False, repr=False)  # scikit-learn has its own
class MatchingNet(BySimilarity):
    """Classify by a vote of the fitted samples, weighted by the softmax of their similarities.

    Parameters
    ----------
    metric : {"cosine", "l2", "dot"}, default "cosine"
        Cosines, negative squared distances, or inner products.
    scale : float or "auto", default "auto"
        Factor of similarities in the softmax. The larger it is, the more the nearest samples weigh. "auto" is 10 for
        cosines, else 1.
    n_neighbors : int, optional
        Number of most similar samples that vote. Default: all.
    backend, device : str or Device, optional
        Where to compute. Default: where the samples are, or the best device.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    support_ : ndarray of shape (n_samples, n_features)
        The fitted samples.
    support_codes_ : ndarray of shape (n_samples,)
        The index of each sample's class.
    n_features_in_ : int

    Notes
    -----
    O. Vinyals and others, "Matching networks for one shot learning", 2016, without the network: samples are embeddings.
    The probability of a class is the sum of its votes: a reduction over the support of a map of similarities.

    Examples
    --------
    >>> from gpuprims.models import MatchingNet
    >>> model = MatchingNet(device="reference").fit([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]], ["a", "a", "b"])
    >>> model.predict([[1.0, 0.2], [0.1, 3.0]]).tolist()
    ['a', 'b']
    >>> model.predict_proba([[1.0, 1.0]]).round(1)
    array([[0.8, 0.2]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "metric": [StrOptions(set(METRICS))],
        "scale": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), None],
        "backend": [str, Device, None],
        "device": [str, Device, None],
    }
    _fitted_array: ClassVar[str] = "support_"

    metric: str = "cosine"
    _: KW_ONLY
    scale: Any = "auto"
    n_neighbors: int | None = None
    backend: str | Device | None = None
    device: str | Device | None = None

    def fit(self, X: Any, y: Any) -> Self:
        """Keep the samples.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Embeddings, on the host or a device.
        y : array_like of shape (n_samples,)
            Labels of at least two classes.

        Returns
        -------
        self

        Raises
        ------
        ArgumentError
            ``X`` has NaN or infinity, or there is a single class.
        DeviceMismatchError
            The samples are on another device than the one asked for.
        """
        self._validate_params()
        with unchanged_if_refused(self):
            samples = samples_of(self, X, y, None)
        self.support_ = np.array(samples.device.to_host(samples.features.dense))
        self.support_codes_ = samples.device.to_host(samples.codes).astype(np.int32)
        return self

    def _class_scores(self, features: DenseFeatures, rows: Rows) -> Any:
        """Return the logarithm of each class' share of the vote."""
        device, (n, _) = features.device, features.shape
        near = self._similarities(features, rows)
        codes = device.asarray(self.support_codes_)
        if self.n_neighbors is not None and self.n_neighbors < len(self.support_):
            near, places = top_k(near, int(self.n_neighbors), axis=1, device=device)
            codes = take(codes, places, device=device).reshape(n, -1, 1)
        else:
            codes = codes.reshape(1, -1, 1)
        largest = reduce(near, op="max", axis=1, keepdims=True, device=device)
        votes = map_elements("exp(s - m)", near, largest, device=device)
        classes = device.asarray(np.arange(len(self.classes_), dtype=np.int32).reshape(1, 1, -1))
        shares = reduce(votes.reshape(n, -1, 1), codes, classes, map=of_class, axis=1, device=device)
        least = np.finfo(self.fit_dtype).tiny
        return map_elements(lambda p: np.log(np.maximum(p, least)), shares, device=device)
