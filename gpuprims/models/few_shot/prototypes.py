"""Prototypes: the class whose mean is most similar."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from gpuprims.core.device import Device
from gpuprims.errors import ArgumentError, quoted
from gpuprims.models.checks import named_parameters, unchanged_if_refused
from gpuprims.models.features import DenseFeatures
from gpuprims.models.few_shot.similarity import METRICS, BySimilarity, Rows, of_class
from gpuprims.models.logreg.samples import samples_of
from gpuprims.primitives.map import map as map_elements
from gpuprims.primitives.reduce import reduce


@named_parameters
@dataclass(eq=False, repr=False)  # scikit-learn has its own
class Prototypes(BySimilarity):
    """Classify by the most similar class mean, as prototypical networks do with their embeddings.

    Parameters
    ----------
    metric : {"cosine", "l2", "dot"}, default "cosine"
        Cosines, negative squared distances, or inner products.
    scale : float or "auto", default "auto"
        Factor of similarities in the softmax of ``predict_proba``. "auto" is 10 for cosines, else 1.
    backend, device : str or Device, optional
        Where to compute, such as ``"cuda"`` or ``"opencl:cpu"``. Default: where the samples are, or the best device.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    prototypes_ : ndarray of shape (n_classes, n_features)
        The mean of each class.
    n_features_in_ : int

    Notes
    -----
    J. Snell, K. Swersky and R. Zemel, "Prototypical networks for few-shot learning", 2017, without the network: samples
    are embeddings. Means are reductions over samples, similarities are reductions over features, and probabilities are
    maps of similarities.

    Examples
    --------
    >>> from gpuprims.models import Prototypes
    >>> model = Prototypes(metric="l2", device="reference").fit([[0.0, 0.0], [0.0, 2.0], [5.0, 1.0]], ["a", "a", "b"])
    >>> model.prototypes_
    array([[0., 1.],
           [5., 1.]])
    >>> model.predict([[1.0, 0.0], [4.0, 4.0]]).tolist()
    ['a', 'b']
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "metric": [StrOptions(set(METRICS))],
        "scale": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "backend": [str, Device, None],
        "device": [str, Device, None],
    }
    _fitted_array: ClassVar[str] = "prototypes_"

    metric: str = "cosine"
    _: KW_ONLY
    scale: Any = "auto"
    backend: str | Device | None = None
    device: str | Device | None = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Keep the mean of each class.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Embeddings, on the host or a device.
        y : array_like of shape (n_samples,)
            Labels of at least two classes.
        sample_weight : array_like of shape (n_samples,), optional
            By default, 1 for each sample.

        Returns
        -------
        self

        Raises
        ------
        ArgumentError
            ``X`` has NaN or infinity, there is a single class, weights are negative, or those of a class are all 0.
        DeviceMismatchError
            The samples are on another device than the one asked for.
        """
        self._validate_params()
        with unchanged_if_refused(self):
            samples = samples_of(self, X, y, sample_weight)
        features, device, count = samples.features, samples.device, len(self.classes_)
        home = features.home
        codes, numbers = samples.codes.reshape(-1, 1), np.arange(count, dtype=samples.dtype).reshape(1, -1)
        weights = samples.weights.reshape(-1, 1)
        members = map_elements(of_class, weights, codes, home.asarray(numbers), device=device)
        sums = home.empty((count, features.shape[1]), samples.dtype)
        features.write_gradient(members, sums)
        totals = device.to_host(reduce(members, axis=0, device=device)).astype(np.float64)
        if not totals.all():
            empty = self.classes_[totals == 0].tolist()[0]
            raise ArgumentError(f"Prototypes: a positive sample weight in each class; got none in {quoted(empty)}")
        self.prototypes_ = (device.to_host(sums).astype(np.float64) / totals[:, None]).astype(samples.dtype)
        return self

    def _class_scores(self, features: DenseFeatures, rows: Rows) -> Any:
        return self._similarities(features, rows)
