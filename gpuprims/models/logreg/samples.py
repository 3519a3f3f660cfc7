"""Labelled samples on a device, checked as scikit-learn does."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, column_or_1d

from gpuprims.core.determinism import asks_for_device
from gpuprims.core.device import Device
from gpuprims.core.operands import is_plain
from gpuprims.errors import ArgumentError, quoted
from gpuprims.expressions import computable
from gpuprims.models import host_algebra
from gpuprims.models.checks import OwnErrors
from gpuprims.models.composed import composed
from gpuprims.models.device_arrays import device_operands, to_host
from gpuprims.models.inputs import features_of
from gpuprims.models.logreg.labels import (
    encoded,
    encoded_on_device,
    encoded_texts,
    has_many_classes,
    surely_classes,
)  # fmt: skip
from gpuprims.models.sparse_features import Features, SparseFeatures
from gpuprims.primitives.map import map as map_elements

# Fewest labels of the host that are encoded on a GPU: fewer are encoded before a launch ends.
_FEWEST_THERE = 1 << 16


@dataclass(frozen=True)
class Samples:
    """Labelled samples on a device."""

    device: Device
    features: Features
    codes: Any  # the class of each sample, of shape (n,), in the dtype of all products
    sample_weight: Any  # of shape (n,); None if all are 1
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

    @cached_property
    def weights(self) -> Any:
        """The sample weights, of shape (n,); if all are 1, the array is made when it is first needed."""
        if self.sample_weight is not None:
            return self.sample_weight
        return map_elements("z + 1", self.features.home.zeros((self.size,), self.dtype), device=self.device)

    def with_zero_weight(self, rows: np.ndarray) -> Samples:
        """Return the samples with zero weight for the given rows."""
        weights = np.array(self.device.to_host(self.weights))
        weights[rows] = 0
        total = host_algebra.total(weights)
        return replace(self, sample_weight=self.features.home.asarray(weights), total=total)

    def rows(self, start: int, stop: int) -> Samples:
        """Return samples ``start`` to ``stop``, without a copy."""
        weights, total = self.sample_weight, float(stop - start)
        if weights is not None:
            weights = weights[start:stop]
            total = host_algebra.total(self.device.to_host(weights))
        features, codes = self.features.rows(start, stop), self.codes[start:stop]
        return replace(self, features=features, codes=codes, sample_weight=weights, total=total)

    def as_float64(self) -> Samples:
        """Return the samples for computing in float64; dense features are not copied."""
        codes, weights = (
            one if one is None else map_elements(lambda x: x.astype(np.float64), one, device=self.device)
            for one in (self.codes, self.sample_weight)
        )
        return replace(self, features=self.features.as_float64(), codes=codes, sample_weight=weights)


def samples_of(
    model: Any, X: Any, y: Any, sample_weight: Any, *, reset: bool = True, classes: np.ndarray | None = None
) -> Samples:
    """Check labelled samples and copy them to the device; set ``classes_`` of the model unless classes are given."""
    label = type(model).__name__
    operands, features = features_of(model, X, reset=reset, in_place=True)
    device, count, dtype = operands.device, features.shape[0], np.dtype(operands.natives[0].dtype)
    plain = classes is None and sample_weight is None and model.class_weight is None
    there = _labels_there(label, y, count, device) if plain and not features.home.on_host else None
    found = None if there is None else encoded_on_device(there, device, dtype)
    if found is None:
        values, host_codes, labels = _encoded_on_host(label, y, count, classes, weighted=not plain)
        found = values, features.home.asarray(np.ascontiguousarray(host_codes, dtype))
    values, codes = found
    if classes is None:
        if len(values) < 2:
            raise ArgumentError(f"{label}: at least two classes; got one class, {values.tolist()[0]!r}")
        model.classes_ = values
    if model.feature_dtype is not None:
        if isinstance(features, SparseFeatures):
            got = f"{model.feature_dtype} (or pass X.toarray())"
            raise ArgumentError(f"{label}: feature_dtype=None for sparse samples; got {got}")
        features = features.quantised(computable(model.feature_dtype, label, stored=True))
    if getattr(model, "composed", False) or asks_for_device():  # other products have other bits elsewhere
        features = composed(features)
    if plain:
        return Samples(device, features, codes, None, total=float(count))
    weights = _weights(model, labels, sample_weight)
    given = features.home.asarray(np.ascontiguousarray(weights, dtype)) if np.any(weights != 1) else None
    return Samples(device, features, codes, given, total=host_algebra.total(weights))


def _encoded_on_host(
    label: str, y: Any, count: int, classes: np.ndarray | None, *, weighted: bool
) -> tuple[np.ndarray, np.ndarray, Any]:
    """Return classes, the index of each label's class, and if ``weighted`` the labels as an array."""
    texts = encoded_texts(y) if classes is None else None
    if texts is None or len(y) != count or has_many_classes(*texts):  # an error, or a warning
        labels = host_labels(label, y, count)
        return *encoded(label, labels, classes), labels
    values, codes = texts
    return values, codes, values[codes] if weighted else None


def host_labels(label: str, y: Any, count: int) -> np.ndarray:
    """Return labels on the host; raise ArgumentError for a wrong number of them or continuous ones."""
    labels: np.ndarray = to_host(label, y)
    kind = labels.dtype.kind if type(labels) is np.ndarray else ""
    if kind == "c":
        raise ArgumentError(f"{label}: y of classes, integers or texts; got dtype {labels.dtype}")
    if kind == "T":  # NumPy's strings of any length, which scikit-learn does not know
        labels = labels.astype(object)
    if type(labels) is not np.ndarray or labels.ndim != 1:
        with OwnErrors(label):
            labels = column_or_1d(labels, warn=True)
    if len(labels) != count:
        raise ArgumentError(f"{label}: a label for each sample; got {len(labels)} for {count} samples")
    if not surely_classes(labels):
        if labels.dtype.kind == "f" and np.isnan(labels).any():  # scikit-learn's check converts it first, and warns
            raise ArgumentError(f"{label}: labels that are not missing; got NaN (drop samples without a label)")
        with OwnErrors(label):
            check_classification_targets(labels)
    return labels


def _labels_there(label: str, y: Any, count: int, device: Device) -> Any:
    """Return numbers as labels on the samples' device; None if the host encodes them."""
    operands = device_operands(label, y)
    if operands is not None:
        labels = operands.natives[0]
        fits = operands.device is device and labels.shape == (count,) and np.dtype(labels.dtype).kind in "biuf"
        return labels if fits else None
    if count < _FEWEST_THERE or device.capabilities.kind != "gpu":
        return None
    return device.asarray(y) if is_plain(y) and y.shape == (count,) and y.dtype.kind in "biuf" else None


def _weights(model: Any, labels: np.ndarray, sample_weight: Any) -> np.ndarray:
    """Return the product of sample weights and class weights, in float64."""
    label = type(model).__name__
    given = None if sample_weight is None else to_host(label, sample_weight)
    with OwnErrors(label, "sample_weight= with a number for each sample"):
        weights: np.ndarray = _check_sample_weight(given, labels, dtype=np.float64, ensure_non_negative=True)
    if model.class_weight is not None:
        how = {"sample_weight": weights} if model.class_weight == "balanced" else {}
        with OwnErrors(label, "class_weight= of a number for each class"):
            of_class = compute_class_weight(model.class_weight, classes=model.classes_, y=labels, **how)
        if not np.all((of_class >= 0) & (of_class < np.inf)):
            got = dict(zip(model.classes_.tolist(), of_class.tolist(), strict=True))
            raise ArgumentError(f"{label}: class_weight= of finite numbers that are not negative; got {quoted(got)}")
        weights = weights * of_class[np.searchsorted(model.classes_, labels)]
    if not weights.sum() > 0:
        raise ArgumentError(f"{label}: sample weights with a positive sum; got {weights.sum()}")
    return weights
