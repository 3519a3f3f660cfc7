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
from gpuprims.core.operands import Operands, as_operands, is_plain
from gpuprims.errors import ArgumentError
from gpuprims.expressions import computable
from gpuprims.expressions.masks import refuse_masked
from gpuprims.models.checks import OwnErrors
from gpuprims.models.device_arrays import device_operands, host_array, to_host
from gpuprims.models.logreg.features import DenseFeatures, Features, SparseFeatures, check_matrix, narrowed
from gpuprims.models.logreg.labels import encoded, encoded_on_device, surely_classes
from gpuprims.primitives.map import map as map_elements
from gpuprims.primitives.reduce import reduce

_LABEL = "LogReg"
# Fewest labels of the host that are encoded on a GPU: fewer are encoded before a launch ends.
_FEWEST_THERE = 1 << 16


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


def features_of(model: Any, X: Any, *, reset: bool, finite: bool = True) -> tuple[Operands, Features]:
    """Check features as scikit-learn does, and copy those of the host to the device.

    The operands say where results belong. ``reset`` is scikit-learn's: True in a fit. Unless ``finite``, NaN and
    infinity pass.
    """
    if model.backend is not None and model.device is not None:
        raise ArgumentError(f"{_LABEL}: backend= or device=; got both, {model.backend!r} and {model.device!r}")
    asked = model.backend if model.device is None else model.device
    refuse_masked(f"{_LABEL}: X", getattr(X, "data", None) if issparse(X) else X)  # a DOK matrix has no .data
    on_device = device_operands(_LABEL, X, asked)
    if on_device is not None:
        array = _checked_on_device(model, on_device, reset=reset, finite=finite)
        return on_device.instead(array), DenseFeatures(on_device.device, array)
    X, device = host_array(X), pick_device(None, asked)
    if issparse(X):
        check_matrix(_LABEL, X)
    checked = X if _needs_no_checks(model, X, reset=reset) else _checked_on_host(model, X, reset=reset)
    if issparse(checked):
        operands, sparse = as_operands(_LABEL, (checked.data,), device), SparseFeatures(device, narrowed(checked))
        features: Features = sparse
        stored = sparse.elements
    else:
        operands = as_operands(_LABEL, (checked,), device)
        stored = device.asarray(operands.natives[0])
        features = DenseFeatures(device, stored)
    if finite and not all_finite(stored, device):
        _checked_on_host(model, X, reset=reset, finite=True)  # raises, with scikit-learn's words
        raise ArgumentError(f"{_LABEL}: finite features; got NaN or infinity, which the host does not find")
    return operands, features


def _needs_no_checks(model: Any, X: Any, *, reset: bool) -> bool:
    """Return True for a plain array of the fit's dtype and features, and do what scikit-learn's checks do to the model.

    These take longer than a fit of few samples.
    """
    if not is_plain(X) or X.ndim != 2 or not X.size or X.dtype not in (np.float32, np.float64):
        return False
    if not reset:
        known = X.shape[1] == model.n_features_in_ and not hasattr(model, "feature_names_in_")
        return known and X.dtype == model.coef_.dtype
    model.n_features_in_ = X.shape[1]
    if hasattr(model, "feature_names_in_"):
        del model.feature_names_in_
    return True


def _checked_on_host(model: Any, X: Any, *, reset: bool, finite: bool = False) -> Any:
    """Return features of the host as a C-contiguous array or a CSR matrix in the dtype of the fit."""
    dtype = model.coef_.dtype if hasattr(model, "coef_") and not reset else (np.float64, np.float32)
    how = {"dtype": dtype, "order": "C", "accept_sparse": "csr", "ensure_all_finite": finite}
    with OwnErrors(_LABEL):
        return validate_data(model, X, reset=reset, **how)


def all_finite(array: Any, device: Device) -> bool:
    """Return True if a device finds no NaN or infinity in an array there."""
    return not array.size or bool(device.to_host(reduce(array, map="isfinite(x)", op="all", device=device)))


def _checked_on_device(model: Any, operands: Operands, *, reset: bool, finite: bool) -> Any:
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
    if finite and not all_finite(array, operands.device):
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
    there = _labels_there(y, count, device) if plain else None
    found = None if there is None else encoded_on_device(there, device, dtype)
    if found is None:
        labels = host_labels(y, count)
        values, host_codes = encoded(_LABEL, labels, classes)
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
    labels: np.ndarray = to_host(_LABEL, y)
    if type(labels) is not np.ndarray or labels.ndim != 1:
        with OwnErrors(_LABEL):
            labels = column_or_1d(labels, warn=True)
    if len(labels) != count:
        raise ArgumentError(f"{_LABEL}: a label for each sample; got {len(labels)} for {count} samples")
    if not surely_classes(labels):
        with OwnErrors(_LABEL):
            check_classification_targets(labels)
    return labels


def _labels_there(y: Any, count: int, device: Device) -> Any:
    """Return numbers as labels on the samples' device; None if the host encodes them."""
    operands = device_operands(_LABEL, y)
    if operands is not None:
        labels = operands.natives[0]
        fits = operands.device is device and labels.shape == (count,) and np.dtype(labels.dtype).kind in "biuf"
        return labels if fits else None
    if count < _FEWEST_THERE or device.capabilities.kind != "gpu":
        return None
    return device.asarray(y) if is_plain(y) and y.shape == (count,) and y.dtype.kind in "biuf" else None


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
