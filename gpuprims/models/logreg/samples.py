"""Labelled samples on a device, checked as scikit-learn does."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_n_features, _check_sample_weight, column_or_1d, validate_data

from gpuprims.core.device import Device, pick_device
from gpuprims.core.operands import Operands, as_operands
from gpuprims.errors import ArgumentError, quoted
from gpuprims.expressions import computable
from gpuprims.expressions.masks import refuse_masked
from gpuprims.models.checks import OwnErrors
from gpuprims.models.device_arrays import device_operands, host_array, to_host
from gpuprims.models.logreg.features import DenseFeatures, Features, SparseFeatures, check_matrix, narrowed
from gpuprims.primitives.histogram import bincount
from gpuprims.primitives.map import map as map_elements
from gpuprims.primitives.reduce import reduce

_LABEL = "LogReg"
# Largest range of integer labels that are counted on a device.
_MAX_RANGE = 4096


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


def features_of(model: Any, X: Any, *, reset: bool) -> tuple[Operands, Features]:
    """Check features as scikit-learn does, and copy those of the host to the device.

    The operands say where results belong. ``reset`` is scikit-learn's: True in a fit.
    """
    if model.backend is not None and model.device is not None:
        raise ArgumentError(f"{_LABEL}: backend= or device=; got both, {model.backend!r} and {model.device!r}")
    asked = model.backend if model.device is None else model.device
    refuse_masked(f"{_LABEL}: X", getattr(X, "data", None) if issparse(X) else X)  # a DOK matrix has no .data
    on_device = device_operands(_LABEL, X, asked)
    if on_device is not None:
        array = _checked_on_device(model, on_device, reset=reset)
        return on_device.instead(array), DenseFeatures(on_device.device, array)
    X = host_array(X)
    if issparse(X):
        check_matrix(_LABEL, X)
    dtype = model.coef_.dtype if hasattr(model, "coef_") and not reset else (np.float64, np.float32)
    with OwnErrors(_LABEL):
        checked = validate_data(model, X, dtype=dtype, order="C", accept_sparse="csr", reset=reset)
    device = pick_device(None, asked)
    if issparse(checked):
        return as_operands(_LABEL, (checked.data,), device), SparseFeatures(device, narrowed(checked))
    operands = as_operands(_LABEL, (checked,), device)
    return operands, DenseFeatures(device, device.asarray(operands.natives[0]))


def _checked_on_device(model: Any, operands: Operands, *, reset: bool) -> Any:
    """Return features on a device in the dtype of the fit, after checking them without a copy to the host."""
    array = operands.natives[0]
    if len(array.shape) != 2 or 0 in array.shape:
        raise ArgumentError(f"{_LABEL}: X of shape (n_samples, n_features), neither of them 0; got shape {array.shape}")
    if array.dtype.kind == "c":
        raise ArgumentError(f"Complex data not supported: {_LABEL} takes real features; got dtype {array.dtype}")
    kept = np.dtype(np.float32) if array.dtype in (np.float32, np.float16) else np.dtype(np.float64)
    kept = kept if reset else model.coef_.dtype
    if array.dtype != kept:
        array = map_elements(lambda x: x.astype(kept), array, device=operands.device)
    if not bool(operands.to_host(reduce(array, map="isfinite(x)", op="all", device=operands.device))):
        raise ArgumentError(f"Input X contains NaN or infinity: {_LABEL} takes finite features (impute them first)")
    with OwnErrors(_LABEL):
        _check_n_features(model, array, reset=reset)
    return array


def samples_of(
    model: Any, X: Any, y: Any, sample_weight: Any, *, reset: bool = True, classes: np.ndarray | None = None
) -> Samples:
    """Check labelled samples and copy them to the device; set ``classes_`` of the model unless classes are given."""
    operands, features = features_of(model, X, reset=reset)
    device, count, dtype = operands.device, features.shape[0], np.dtype(operands.natives[0].dtype)
    plain = classes is None and sample_weight is None and model.class_weight is None
    found = _encoded_on_device(y, count, device, dtype) if plain else None
    if found is None:
        labels = host_labels(y, count)
        values, host_codes = _encoded(labels, classes)
        found = values, device.asarray(np.ascontiguousarray(host_codes, dtype))
    values, codes = found
    if classes is None:
        model.classes_ = values
        if len(values) < 2:
            raise ArgumentError(f"{_LABEL}: at least two classes; got one class, {values.tolist()[0]!r}")
    if model.feature_dtype is not None:
        if isinstance(features, SparseFeatures):
            got = f"{model.feature_dtype} (or pass X.toarray())"
            raise ArgumentError(f"{_LABEL}: feature_dtype=None for sparse samples; got {got}")
        features = features.quantised(computable(model.feature_dtype, _LABEL, stored=True))
    if plain:
        ones = map_elements("z + 1", device.driver.zeros((count,), dtype), device=device)
        return Samples(device, features, codes, ones, weighted=False, total=float(count))
    weights = _weights(model, labels, sample_weight)
    device_weights = device.asarray(np.ascontiguousarray(weights, dtype))
    return Samples(device, features, codes, device_weights, bool(np.any(weights != 1)), float(weights.sum()))


def host_labels(y: Any, count: int) -> np.ndarray:
    """Return labels on the host; raise ArgumentError for a wrong number of them or continuous ones."""
    given = to_host(_LABEL, y)
    with OwnErrors(_LABEL):
        labels: np.ndarray = column_or_1d(given, warn=True)
    if len(labels) != count:
        raise ArgumentError(f"{_LABEL}: a label for each sample; got {len(labels)} for {count} samples")
    with OwnErrors(_LABEL):
        check_classification_targets(labels)
    return labels


def _encoded(labels: np.ndarray, classes: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes and the index of each label's class; raise ArgumentError for a label of no given class."""
    if classes is None:
        return np.unique(labels, return_inverse=True)
    codes = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    unknown = classes[codes] != labels
    if np.any(unknown):
        known = ", ".join(map(repr, classes[:10].tolist())) + (", ..." if len(classes) > 10 else "")
        raise ArgumentError(f"{_LABEL}: labels among {known}; got {quoted(labels[unknown][:1].tolist()[0])}")
    return classes, codes


def _encoded_on_device(y: Any, count: int, device: Device, dtype: np.dtype[Any]) -> tuple[np.ndarray, Any] | None:
    """Return the classes of labels on the samples' device, and the index of each label's class on the device.

    None if the host must find them: for labels elsewhere, labels that are not integers, and many or scattered classes.
    """
    operands = device_operands(_LABEL, y)
    if operands is None:
        return None
    labels = operands.natives[0]
    given = np.dtype(labels.dtype)
    if operands.device is not device or labels.shape != (count,) or given.kind not in "biuf":
        return None
    if given.kind == "b":  # bools have no differences
        labels = map_elements(lambda y: y.astype(np.uint8), labels, device=device)
    if given.kind == "f" and not bool(operands.to_host(reduce(labels, map="y == rint(y)", op="all", device=device))):
        return None
    low, high = (int(operands.to_host(reduce(labels, op=op, device=device))) for op in ("min", "max"))
    if high - low >= _MAX_RANGE:
        return None
    first, last = (np.dtype(labels.dtype).type(one) for one in (low, high))
    counts = operands.to_host(bincount(map_elements(lambda y: (y - first).astype(np.int32), labels, device=device)))
    found = np.flatnonzero(counts)
    if len(found) not in (2, high - low + 1):
        return None
    values = (found + low).astype(given)
    if len(values) == 2:
        return values, map_elements(lambda y: (y == last).astype(dtype), labels, device=device)
    return values, map_elements(lambda y: (y - first).astype(dtype), labels, device=device)


def _weights(model: Any, labels: np.ndarray, sample_weight: Any) -> np.ndarray:
    """Return the product of sample weights and class weights, in float64."""
    given = None if sample_weight is None else to_host(_LABEL, sample_weight)
    with OwnErrors(_LABEL):
        weights: np.ndarray = _check_sample_weight(given, labels, dtype=np.float64, ensure_non_negative=True)
    if model.class_weight is not None:
        how = {"sample_weight": weights} if model.class_weight == "balanced" else {}
        with OwnErrors(_LABEL):
            of_class = compute_class_weight(model.class_weight, classes=model.classes_, y=labels, **how)
        weights = weights * of_class[np.searchsorted(model.classes_, labels)]
    if not weights.sum() > 0:
        raise ArgumentError(f"{_LABEL}: sample weights with a positive sum; got {weights.sum()}")
    return weights
