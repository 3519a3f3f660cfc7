"""Labelled samples on a device, checked as scikit-learn does."""

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
from gpuprims.models.device_arrays import on_device, to_host
from gpuprims.models.logreg.features import DenseFeatures, Features
from gpuprims.models.logreg.labels import encode, find_classes, find_classes_on_device, host_labels
from gpuprims.models.logreg.sparse import SparseFeatures, check_matrix, narrowed
from gpuprims.primitives.map import map as map_elements
from gpuprims.primitives.reduce import reduce

_LABEL = "LogReg"


@dataclass(frozen=True)
class Samples:
    """Labelled samples on a device."""

    device: Device
    features: Features
    codes: Any  # the class of each sample, of shape (n,), in the dtype of all products
    weights: Any  # of shape (n,)
    weighted: bool  # False if all weights are 1
    total: float  # the sum of the weights

    @property
    def size(self) -> int:
        """Number of samples."""
        return self.features.shape[0]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of scores, losses and gradients."""
        found: np.dtype[Any] = np.dtype(self.codes.dtype)
        return found

    @property
    def sample_weight(self) -> Any:
        """The sample weights, or None if all are 1."""
        return self.weights if self.weighted else None

    def with_zero_weight(self, rows: np.ndarray) -> Samples:
        """Return the samples with zero weight for the given rows."""
        weights = np.array(self.device.to_host(self.weights))
        weights[rows] = 0
        total = float(weights.sum(dtype=np.float64))
        return replace(self, weights=self.device.asarray(weights), weighted=True, total=total)

    def rows(self, start: int, stop: int) -> Samples:
        """Return samples ``start`` to ``stop``, without a copy."""
        weights = self.weights[start:stop]
        total = float(np.sum(self.device.to_host(weights), dtype=np.float64))
        features, codes = self.features.rows(start, stop), self.codes[start:stop]
        return replace(self, features=features, codes=codes, weights=weights, total=total)

    def as_float64(self) -> Samples:
        """Return the samples for computing in float64; dense features are not copied."""
        codes, weights = (
            map_elements(lambda x: x.astype(np.float64), one, device=self.device) for one in (self.codes, self.weights)
        )
        return replace(self, features=self.features.as_float64(), codes=codes, weights=weights)


def features_of(model: Any, X: Any, device: str | Device | None, *, reset: bool) -> tuple[Operands, Features]:
    """Check features as scikit-learn does, and copy those of the host to the device.

    The operands tell the device and whether results belong on the host. ``reset`` is scikit-learn's: True in a fit.

    Raises
    ------
    ValueError
        Not two axes, NaN or infinity, another number of features than in the fit, sparse indices out of bounds.
    """
    refuse_masked(f"{_LABEL}: X", getattr(X, "data", None) if issparse(X) else X)  # a DOK matrix has no .data
    if on_device(_LABEL, X):
        operands = _check_device_features(model, X, device, reset=reset)
        return operands, DenseFeatures(operands.device, operands.natives[0])
    if issparse(X):
        check_matrix(_LABEL, X)
    dtype = model.coef_.dtype if hasattr(model, "coef_") and not reset else (np.float64, np.float32)
    checked = validate_data(model, X, dtype=dtype, order="C", accept_sparse="csr", reset=reset)
    found = pick_device(None, device)
    if issparse(checked):
        return as_operands(_LABEL, (checked.data,), found), SparseFeatures(found, narrowed(checked))
    operands = as_operands(_LABEL, (checked,), found)
    return operands, DenseFeatures(found, found.asarray(operands.natives[0]))


def _check_device_features(model: Any, X: Any, device: str | Device | None, *, reset: bool) -> Operands:
    """Check features on a device without copying them to the host."""
    operands = as_operands(_LABEL, (X,), device)
    array = operands.natives[0]
    if len(array.shape) != 2 or 0 in array.shape:
        raise ValueError(f"{_LABEL}: X of shape (n_samples, n_features), neither of them 0; got shape {array.shape}")
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
    if not bool(operands.to_host(reduce(array, map="isfinite(x)", op="all", device=operands.device))):
        raise ValueError(f"Input X contains NaN or infinity: {_LABEL} takes finite features (impute them first)")
    if reset:
        model.n_features_in_ = array.shape[1]
    return operands.instead(array)


def samples_of(
    model: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    device: str | Device | None,
    *,
    reset: bool = True,
    classes: np.ndarray | None = None,
) -> Samples:
    """Check labelled samples and copy them to the device; set ``classes_`` of the model unless classes are given."""
    operands, features = features_of(model, X, device, reset=reset)
    found, count, dtype = operands.device, features.shape[0], np.dtype(operands.natives[0].dtype)
    plain = classes is None and sample_weight is None and model.class_weight is None
    encoded = find_classes_on_device(y, count, found, dtype) if plain else None
    if encoded is None:
        labels = host_labels(y, count)
        encoded = find_classes(labels, found, dtype) if classes is None else encode(labels, classes, found, dtype)
    if classes is None:
        model.classes_ = encoded.values
        if len(encoded.values) < 2:
            raise ValueError(f"{_LABEL}: at least two classes; got one class, {model.classes_.tolist()[0]!r}")
    if model.feature_dtype is not None:
        features = _quantised(features, np.dtype(model.feature_dtype))
    if plain:
        ones = map_elements("z + 1", found.driver.zeros((count,), dtype), device=found)
        return Samples(found, features, encoded.codes, ones, weighted=False, total=float(count))
    weights = _weights(model, labels, sample_weight)
    device_weights = found.asarray(np.ascontiguousarray(weights, dtype))
    return Samples(found, features, encoded.codes, device_weights, bool(np.any(weights != 1)), float(weights.sum()))


def _quantised(features: Features, kept: np.dtype[Any]) -> Features:
    if not isinstance(features, DenseFeatures):
        raise ArgumentError(f"{_LABEL}: feature_dtype=None for sparse samples; got {kept.name} (or pass X.toarray())")
    return features.quantised(kept)


def _weights(model: Any, labels: np.ndarray, sample_weight: Any) -> np.ndarray:
    """Return the product of sample weights and class weights, in float64."""
    given = None if sample_weight is None else to_host(_LABEL, sample_weight)
    like = np.broadcast_to(np.zeros(1), (len(labels), 1))
    weights: np.ndarray = _check_sample_weight(given, like, dtype=np.float64, ensure_non_negative=True)
    if model.class_weight is not None:
        how = {"sample_weight": weights} if model.class_weight == "balanced" else {}
        of_class = compute_class_weight(model.class_weight, classes=model.classes_, y=labels, **how)
        weights = weights * of_class[np.searchsorted(model.classes_, labels)]
    if not weights.sum() > 0:
        raise ValueError(f"{_LABEL}: sample weights with a positive sum; got {weights.sum()}")
    return weights
