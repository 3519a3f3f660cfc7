"""The arrays of LogRegBatch: checked, in the dtype and order of the kernel; scores of fitted models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_array

from gpuprims.core.device import Device, pick_device
from gpuprims.core.interop import short
from gpuprims.core.operands import Operands
from gpuprims.errors import ArgumentError, ArrayError, DtypeError, ShapeError
from gpuprims.expressions.masks import refuse_masked
from gpuprims.models.checks import OwnErrors
from gpuprims.models.device_arrays import device_operands
from gpuprims.models.inputs import all_finite
from gpuprims.primitives.map import map as map_elements
from gpuprims.primitives.reduce import reduce

_LABEL = "LogRegBatch"


@dataclass(frozen=True)
class Batch:
    """The arguments of ``logistic_newton``."""

    device: Device
    arrays: tuple[Any, Any]
    C: Any
    offsets: Any
    weights: Any
    features: int
    label_dtype: np.dtype[Any]

    def to_host(self, array: Any) -> np.ndarray:
        """Copy a result to the host."""
        return array if isinstance(array, np.ndarray) else np.asarray(self.device.to_host(array))


def batch_of(model: Any, X: Any, y: Any, sample_weight: Any, offsets: Any) -> Batch:
    """Return the arguments of a fit."""
    operands, samples = _samples(model, X)
    device, dtype = pick_device(None, model.device) if operands is None else operands.device, samples.dtype
    shared = len(samples.shape) == 2 and offsets is None
    labels = _beside(device, operands, y, "y")
    given = np.dtype(labels.dtype)
    if given.kind not in "biuf":
        raise DtypeError(f'{_LABEL}: labels 0 and 1, or bools; got dtype {given} (compare with a class: y == "yes")')
    if given.kind == "f" and given != dtype:
        labels = _cast(labels, dtype, device)
    weights = None
    if sample_weight is not None:
        with OwnErrors(_LABEL, "sample_weight= with a number for each sample"):
            weights = _cast(_beside(device, operands, sample_weight, "sample_weight"), dtype, device)
        weights = weights.T if shared and len(weights.shape) == 2 else weights
    if shared and len(labels.shape) == 2:
        labels = labels.T
    with OwnErrors(_LABEL):
        _check_shapes(samples, labels, offsets)
    C = np.asarray(model.C, np.float64)
    if not np.all(C > 0):
        raise ArgumentError(f"{_LABEL}: C= above 0; got {C.min()}")
    return Batch(device, (samples, labels), C, offsets, weights, samples.shape[-1], given)


def predicted_scores(model: Any, X: Any, offsets: Any, finish: Callable[[Any, Device], Any]) -> Any:
    """Return a function of the scores of samples, in the caller's library."""
    operands, samples = _samples(model, X)
    device = pick_device(None, model.device) if operands is None else operands.device
    if samples.shape[-1] != model.n_features_in_:
        raise ShapeError(f"{_LABEL}: {model.n_features_in_} features, as in the fit; got {samples.shape[-1]}")
    coef, intercept = (np.ascontiguousarray(one, samples.dtype) for one in (model.coef_, model.intercept_))
    count = len(coef)
    if offsets is not None:
        counts = np.diff(np.asarray(offsets))
        if len(counts) != count or counts.sum() != samples.shape[0]:
            raise ShapeError(f"{_LABEL}: offsets of {count} problems and the rows of X; got {len(counts)}")
        coef, intercept = np.repeat(coef, counts, axis=0), np.repeat(intercept, counts)
    elif len(samples.shape) == 3 and samples.shape[0] != count:
        raise ShapeError(f"{_LABEL}: samples of {count} problems; got {samples.shape[0]}")
    elif len(samples.shape) == 3:
        coef, intercept = coef[:, None, :], intercept[:, None]
    else:
        samples, coef = samples[:, None, :], coef[None]
    place = device.asarray if operands is not None else np.ascontiguousarray
    scores = reduce(samples, place(coef), map="x*w", axis=len(samples.shape) - 1, device=device)
    if not all_finite(scores, device) and not all_finite(samples, device):  # problems without a fit have NaN too
        raise ArgumentError(f"{_LABEL}: finite features; got NaN or infinity (impute them first)")
    result = finish(map_elements("z + b", scores, place(intercept), device=device), device)
    return result if operands is None else operands.to_caller(result)


def _samples(model: Any, X: Any) -> tuple[Operands | None, Any]:
    """Return the operands of samples on a device, or None, and the samples in float32 or float64."""
    refuse_masked(f"{_LABEL}: X", X)
    operands = device_operands(_LABEL, X, model.device)
    if hasattr(X, "toarray"):
        raise ArrayError(f"{_LABEL}: dense samples; got {short(X)} (pass X.toarray(), or fit each problem by LogReg)")
    if operands is None:
        with OwnErrors(_LABEL):
            how = {"dtype": (np.float64, np.float32), "order": "C", "allow_nd": True, "ensure_2d": False}
            return None, _three(check_array(X, **how, ensure_all_finite=False))
    array = operands.natives[0]
    kept = np.dtype(np.float32) if array.dtype in (np.float32, np.float16) else np.dtype(np.float64)
    return operands, _three(_cast(array, kept, operands.device))


def _three(samples: Any) -> Any:
    if len(samples.shape) not in (2, 3) or 0 in samples.shape:
        rule = "X of shape (n_problems, n_samples, n_features) or (n_samples, n_features), none of them 0"
        raise ShapeError(f"{_LABEL}: {rule}; got {samples.shape}")
    return samples


def _beside(device: Device, operands: Operands | None, given: Any, name: str) -> Any:
    """Return labels or weights where the samples are."""
    refuse_masked(f"{_LABEL}: {name}", given)
    own = device_operands(_LABEL, given)
    if own is not None:
        return own.natives[0] if operands is not None else own.driver.to_host(own.natives[0])
    host = np.asarray(given)
    return host if operands is None or host.dtype.kind not in "biuf" else device.asarray(np.ascontiguousarray(host))


def _cast(array: Any, dtype: np.dtype[Any], device: Device) -> Any:
    if array.dtype == dtype:
        return array
    if isinstance(array, np.ndarray):
        return array.astype(dtype)
    return map_elements(lambda x: x.astype(dtype), array, device=device)


def _check_shapes(samples: Any, labels: Any, offsets: Any) -> None:
    """Raise ShapeError for labels that do not fit the samples."""
    n = samples.shape[-2]
    if not len(labels.shape) or labels.shape[-1] != n or len(labels.shape) > (1 if offsets is not None else 2):
        shapes = f"({n}, n_problems) or ({n},)" if len(samples.shape) == 2 else f"({samples.shape[0]}, {n}) or ({n},)"
        shapes = f"({n},)" if offsets is not None else shapes
        got = labels.shape[::-1] if len(samples.shape) == 2 else labels.shape
        raise ShapeError(f"{_LABEL}: y of shape {shapes}, for X of {samples.shape}; got {got}")
