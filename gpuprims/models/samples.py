"""Labelled samples, checked, on a device: what a fit and a prediction compute with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, column_or_1d, validate_data

from gpuprims.arrays import Operands, as_operands
from gpuprims.device import Device, device_of, pick_device
from gpuprims.errors import ArgumentError
from gpuprims.models.features import DenseFeatures, Features
from gpuprims.models.sparse import SparseFeatures, check_matrix, narrowed
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

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of all that is computed from features on the device."""
        found: np.dtype[Any] = np.dtype(self.codes.dtype)
        return found


def resident(X: Any) -> bool:
    """Whether an array lies on a device, in the class of its vendor or of another library."""
    if isinstance(X, np.ndarray) or not (hasattr(X, "__dlpack_device__") or device_of(X) is not None):
        return False
    return device_of(X) is not None or not as_operands(_LABEL, (X,), None).on_host


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
    device, count = operands.device, features.shape[0]
    labels = column_or_1d(_to_host(y), warn=True)
    if len(labels) != count:
        raise ValueError(f"{_LABEL}: a label for each sample; got {len(labels)} for {count} samples")
    check_classification_targets(labels)
    if classes is None:
        model.classes_, codes = np.unique(labels, return_inverse=True)
        if len(model.classes_) < 2:
            raise ValueError(
                f"{_LABEL}: samples of two classes or more; got one class, {model.classes_[:1].tolist()[0]!r}"
            )
    else:
        codes = codes_of(labels, classes)
    weights = _weights(model, labels, codes, sample_weight)
    if model.feature_dtype is not None:
        features = _in_fewer_bits(features, np.dtype(model.feature_dtype))
    dtype = np.dtype(operands.natives[0].dtype)
    numbers, counts = (device.asarray(np.ascontiguousarray(part, dtype)) for part in (codes, weights))
    return Samples(device, features, numbers, counts, bool(np.any(weights != 1)), float(weights.sum()))


def _in_fewer_bits(features: Features, kept: np.dtype[Any]) -> Features:
    if not isinstance(features, DenseFeatures):
        raise ArgumentError(f"{_LABEL}: feature_dtype=None for sparse samples; got {kept.name} (or pass X.toarray())")
    return features.in_fewer_bits(kept)


def codes_of(labels: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the number of each label's class."""
    codes = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    strange = classes[codes] != labels
    if np.any(strange):
        known = ", ".join(map(repr, classes[:10].tolist())) + (", ..." if len(classes) > 10 else "")
        raise ValueError(f"{_LABEL}: labels among {known}; got {labels[strange][:1].tolist()[0]!r}")
    return codes


def _weights(model: Any, labels: np.ndarray, codes: np.ndarray, sample_weight: Any) -> np.ndarray:
    given = None if sample_weight is None else _to_host(sample_weight)
    like = np.broadcast_to(np.zeros(1), (len(labels), 1))
    weights: np.ndarray = _check_sample_weight(given, like, dtype=np.float64, ensure_non_negative=True)
    if model.class_weight is not None:
        of_class = compute_class_weight(
            model.class_weight, classes=model.classes_, y=labels, **_weighted(model.class_weight, weights)
        )
        weights = weights * of_class[codes]
    if not weights.sum() > 0:
        raise ValueError(f"{_LABEL}: sample weights whose sum is positive; got {weights.sum()}")
    return weights


def _weighted(class_weight: Any, weights: np.ndarray) -> dict[str, Any]:
    return {"sample_weight": weights} if class_weight == "balanced" else {}


def _to_host(given: Any) -> Any:
    """Return labels or weights as the host's: they are few beside the features."""
    return as_operands(_LABEL, (given,), None).as_numpy().natives[0] if resident(given) else given
