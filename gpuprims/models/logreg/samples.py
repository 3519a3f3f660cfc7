"""Labelled samples, checked, on a device: what a fit and a prediction compute with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import _check_sample_weight, validate_data

from gpuprims.core.device import Device, pick_device
from gpuprims.core.operands import Operands, as_operands
from gpuprims.errors import ArgumentError
from gpuprims.expressions.masks import refuse_masked
from gpuprims.models.logreg.features import DenseFeatures, Features
from gpuprims.models.logreg.labels import classes_of, classes_there, codes_of, host_labels, resident, to_host
from gpuprims.models.logreg.sparse import SparseFeatures, check_matrix, narrowed
from gpuprims.primitives.map import map as map_elements
from gpuprims.primitives.reduce import reduce

_FLOATS = (np.float64, np.float32)
_LABEL = "LogReg"


@dataclass(frozen=True)
class Samples:
    """Samples on a device.

    Parameters
    ----------
    device : Device
    features : Features
        Of n samples, float32 or float64.
    codes : array of shape (n,)
        The number of each sample's class, of the features' dtype.
    weights : array of shape (n,)
        What each sample counts.
    weighted : bool
        Whether that is not 1 of each.
    total : float
        The sum of the weights.
    """

    device: Device
    features: Features
    codes: Any
    weights: Any
    weighted: bool
    total: float

    @property
    def size(self) -> int:
        """How many there are."""
        return self.features.shape[0]

    @property
    def shares(self) -> Any:
        """What each sample counts, or None for 1."""
        return self.weights if self.weighted else None

    def without(self, numbers: np.ndarray) -> Samples:
        """Return the same samples, of which some weigh nothing."""
        weights = np.array(self.device.to_host(self.weights))
        weights[numbers] = 0
        total = float(weights.sum(dtype=np.float64))
        return replace(self, weights=self.device.asarray(weights), weighted=True, total=total)

    def part(self, start: int, stop: int) -> Samples:
        """Return those from one number to another, in the same memory."""
        weights = self.weights[start:stop]
        total = float(np.sum(self.device.to_host(weights), dtype=np.float64))
        features, codes = self.features.part(start, stop), self.codes[start:stop]
        return replace(self, features=features, codes=codes, weights=weights, total=total)

    def widened(self) -> Samples:
        """Return the same samples for computing in float64; dense features are not copied."""
        codes, weights = (
            map_elements(lambda x: x.astype(np.float64), one, device=self.device) for one in (self.codes, self.weights)
        )
        return replace(self, features=self.features.widened(), codes=codes, weights=weights)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of all that is computed from features on the device."""
        found: np.dtype[Any] = np.dtype(self.codes.dtype)
        return found


def features_of(model: Any, X: Any, asked: str | Device | None, *, reset: bool) -> tuple[Operands, Features]:
    """Check features, as scikit-learn does those of the host, and bring them to their device.

    Returns
    -------
    Operands
        Whose device it is, and whether results are the host's.
    Features

    Raises
    ------
    ValueError
        Other than two axes, NaN or infinity, another number of features than the model has seen; a sparse matrix whose
        indices lead out of it.
    """
    refuse_masked(f"{_LABEL}: X", getattr(X, "data", None) if issparse(X) else X)  # a DOK matrix has no .data
    if resident(X):
        operands = _resident_features(model, X, asked, reset=reset)
        return operands, DenseFeatures(operands.device, operands.natives[0])
    if issparse(X):
        check_matrix(_LABEL, X)
    dtype = model.coef_.dtype if hasattr(model, "coef_") and not reset else _FLOATS
    checked = validate_data(model, X, dtype=dtype, order="C", accept_sparse="csr", reset=reset)
    device = pick_device(None, asked)
    if issparse(checked):
        return as_operands(_LABEL, (checked.data,), device), SparseFeatures(device, narrowed(checked))
    operands = as_operands(_LABEL, (checked,), device)
    return operands, DenseFeatures(device, device.asarray(operands.natives[0]))


def _resident_features(model: Any, X: Any, asked: str | Device | None, *, reset: bool) -> Operands:
    """Check features that lie on a device, there."""
    operands = as_operands(_LABEL, (X,), asked)
    array = operands.natives[0]
    if len(array.shape) != 2 or 0 in array.shape:
        raise ValueError(f"{_LABEL}: samples of shape (n_samples, n_features), one or more; got shape {array.shape}")
    if not reset and array.shape[1] != model.n_features_in_:
        raise ValueError(
            f"X has {array.shape[1]} features, but {_LABEL} is expecting {model.n_features_in_} features as input"
        )
    if array.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {_LABEL} takes real features; got dtype {array.dtype}")
    kept = np.dtype(np.float32) if array.dtype in (np.float32, np.float16) else np.dtype(np.float64)
    kept = kept if reset else model.coef_.dtype
    if array.dtype != kept:
        array = map_elements(lambda x: x.astype(kept), array, device=operands.device)
    if not bool(operands.fetch(reduce(array, map="isfinite(x)", op="all", device=operands.device))):
        raise ValueError(f"Input X contains NaN or infinity: {_LABEL} takes finite features (impute them first)")
    if reset:
        model.n_features_in_ = array.shape[1]
    return operands.instead(array)


def samples_of(
    model: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    asked: str | Device | None,
    *,
    reset: bool = True,
    classes: np.ndarray | None = None,
) -> Samples:
    """Check labelled samples, and bring to the device what is not there; sets ``classes_`` unless they are given."""
    operands, features = features_of(model, X, asked, reset=reset)
    device, count, dtype = operands.device, features.shape[0], np.dtype(operands.natives[0].dtype)
    plain = classes is None and sample_weight is None and model.class_weight is None
    found = classes_there(y, count, device, dtype) if plain else None
    if found is None:
        labels = host_labels(y, count)
        found = classes_of(labels, device, dtype) if classes is None else codes_of(labels, classes, device, dtype)
    if classes is None:
        model.classes_ = found.each
        if len(found.each) < 2:
            raise ValueError(f"{_LABEL}: samples of two classes or more; got one class, {found.each.tolist()[0]!r}")
    if model.feature_dtype is not None:
        features = _in_fewer_bits(features, np.dtype(model.feature_dtype))
    if plain:
        ones = map_elements("z + 1", device.driver.zeros((count,), dtype), device=device)
        return Samples(device, features, found.codes, ones, weighted=False, total=float(count))
    weights = _weights(model, labels, sample_weight)
    counts = device.asarray(np.ascontiguousarray(weights, dtype))
    return Samples(device, features, found.codes, counts, bool(np.any(weights != 1)), float(weights.sum()))


def _in_fewer_bits(features: Features, kept: np.dtype[Any]) -> Features:
    if not isinstance(features, DenseFeatures):
        raise ArgumentError(f"{_LABEL}: feature_dtype=None for sparse samples; got {kept.name} (or pass X.toarray())")
    return features.in_fewer_bits(kept)


def _weights(model: Any, labels: np.ndarray, sample_weight: Any) -> np.ndarray:
    given = None if sample_weight is None else to_host(sample_weight)
    like = np.broadcast_to(np.zeros(1), (len(labels), 1))
    weights: np.ndarray = _check_sample_weight(given, like, dtype=np.float64, ensure_non_negative=True)
    if model.class_weight is not None:
        how = {"sample_weight": weights} if model.class_weight == "balanced" else {}
        of_class = compute_class_weight(model.class_weight, classes=model.classes_, y=labels, **how)
        weights = weights * of_class[np.searchsorted(model.classes_, labels)]
    if not weights.sum() > 0:
        raise ValueError(f"{_LABEL}: sample weights whose sum is positive; got {weights.sum()}")
    return weights
