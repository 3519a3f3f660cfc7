"""Features of a model's samples: checked as scikit-learn does, and copied to the device."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from scipy.sparse import csr_array, csr_matrix, issparse
from sklearn.utils import get_tags
from sklearn.utils.validation import _check_n_features, validate_data

from gpuprims.core.device import Device, pick_device
from gpuprims.core.operands import Operands, as_operands, is_plain
from gpuprims.errors import ArgumentError, DtypeError
from gpuprims.expressions.masks import refuse_masked
from gpuprims.models.checks import OwnErrors
from gpuprims.models.device_arrays import device_operands, host_array
from gpuprims.models.features import DenseFeatures
from gpuprims.models.in_place import reads_in_place
from gpuprims.models.sparse_features import Features, SparseFeatures
from gpuprims.primitives.csr import check_indices
from gpuprims.primitives.map import map as map_elements
from gpuprims.primitives.reduce import reduce

# Most elements of a host array in which NumPy looks for NaN before a launch would end (measurements.md, few elements).
_FEW = 1 << 14
# Elements of an array on the host that NumPy checks at once (measurements.md, finite elements).
_BLOCK = 1 << 20
# Sparse matrices that are read as they are; a class derived from one may mean more than its arrays.
_CSR = csr_array, csr_matrix


def features_of(
    model: Any, X: Any, *, reset: bool, finite: bool = True, in_place: bool = False
) -> tuple[Operands, Features]:
    """Check features as scikit-learn does, and copy those of the host to the device.

    The operands say where results belong. ``reset`` is scikit-learn's: True in a fit. Unless ``finite`` is True, NaN
    and infinity pass. With ``in_place``, a CPU reads the features where they lie, without a copy. The model has
    ``backend``, ``device`` and, once fitted, ``fit_dtype``; its tags say whether samples may be sparse.
    """
    label = type(model).__name__
    if model.backend is not None and model.device is not None:
        raise ArgumentError(f"{label}: backend= or device=; got both, {model.backend!r} and {model.device!r}")
    asked = model.backend if model.device is None else model.device
    refuse_masked(f"{label}: X", getattr(X, "data", None) if issparse(X) else X)  # a DOK matrix has no .data
    on_device = device_operands(label, X, asked)
    if on_device is not None:
        array = _checked_on_device(model, on_device, reset=reset, finite=finite)
        return on_device.instead(array), DenseFeatures(on_device.device, array)
    X, device = host_array(label, X), pick_device(None, asked)
    if issparse(X):
        _check_matrix(label, X)
    checked = X if _needs_no_checks(model, X, reset=reset) else _checked_on_host(model, X, reset=reset)
    if issparse(checked):
        sparse = SparseFeatures(device, _narrowed(checked))
        operands, features = as_operands(label, (checked.data,), device), cast("Features", sparse)
        stored = sparse.elements
    else:
        operands = as_operands(label, (checked,), device)
        given = operands.natives[0]
        features = DenseFeatures(device, given if in_place and reads_in_place(device) else device.asarray(given))
        stored = features.array
    few = isinstance(checked, np.ndarray) and checked.size <= _FEW
    if finite and not all_finite(checked if few else stored, device):
        _checked_on_host(model, X, reset=reset, finite=True)  # raises, with scikit-learn's words
        raise ArgumentError(f"{label}: finite features; got NaN or infinity, which the host does not find")
    return operands, features


def dense_features_of(model: Any, X: Any, *, reset: bool, finite: bool = True) -> tuple[Operands, DenseFeatures]:
    """Return what :func:`features_of` does, for a model whose tags say that samples are dense."""
    operands, features = features_of(model, X, reset=reset, finite=finite)
    if not isinstance(features, DenseFeatures):
        raise DtypeError(f"{type(model).__name__}: dense features; got a sparse matrix (pass X.toarray())")
    return operands, features


def _needs_no_checks(model: Any, X: Any, *, reset: bool) -> bool:
    """Return True for a plain array or CSR matrix of the fit's dtype and features; set what checks set in the model.

    scikit-learn's checks take longer than a fit of few samples.
    """
    if type(X) in _CSR:
        plain = X.ndim == 2 and 0 not in X.shape and get_tags(model).input_tags.sparse
    else:
        plain = is_plain(X) and X.ndim == 2 and bool(X.size)
    if not plain or X.dtype not in (np.float32, np.float64):
        return False
    if not reset:
        known = X.shape[1] == model.n_features_in_ and not hasattr(model, "feature_names_in_")
        return known and X.dtype == model.fit_dtype
    model.n_features_in_ = X.shape[1]
    if hasattr(model, "feature_names_in_"):
        del model.feature_names_in_
    return True


def _checked_on_host(model: Any, X: Any, *, reset: bool, finite: bool = False) -> Any:
    """Return features of the host as a C-contiguous array or a CSR matrix in the dtype of the fit."""
    label = type(model).__name__
    if isinstance(X, np.ndarray) and X.dtype.kind in ("m", "M"):
        raise DtypeError(f"{label}: features that are numbers; got dtype {X.dtype} (choose a unit: (X - start) / unit)")
    dtype = model.fit_dtype if not reset and hasattr(model, "fit_dtype") else (np.float64, np.float32)
    accepted = "csr" if get_tags(model).input_tags.sparse else False
    how = {"dtype": dtype, "order": "C", "accept_sparse": accepted, "ensure_all_finite": finite}
    with OwnErrors(label):
        return validate_data(model, X, reset=reset, **how)


def all_finite(array: Any, device: Device) -> bool:
    """Return True if an array has no NaN or infinity: NumPy searches those on the host, by blocks of rows."""
    if isinstance(array, np.ndarray) and array.size:
        rows = max(_BLOCK * len(array) // array.size, 1)
        return all(bool(np.isfinite(array[start : start + rows]).all()) for start in range(0, len(array), rows))
    return not array.size or bool(device.to_host(reduce(array, map="isfinite(x)", op="all", device=device)))


def _checked_on_device(model: Any, operands: Operands, *, reset: bool, finite: bool) -> Any:
    """Return features on a device in the dtype of the fit, after checking them without a copy to the host."""
    label, array = type(model).__name__, operands.natives[0]
    if len(array.shape) != 2 or 0 in array.shape:
        raise ArgumentError(f"{label}: X of shape (n_samples, n_features), neither of them 0; got shape {array.shape}")
    if array.dtype.kind == "c":
        raise ArgumentError(f"{label}: real features; got dtype {array.dtype} (Complex data not supported)")
    kept = np.dtype(np.float32) if array.dtype in (np.float32, np.float16) else np.dtype(np.float64)
    kept = kept if reset else model.fit_dtype
    if array.dtype != kept:
        array = map_elements(lambda x: x.astype(kept), array, device=operands.device)
    if finite and not all_finite(array, operands.device):
        raise ArgumentError(f"{label}: finite features; got NaN or infinity in X (impute or drop these samples)")
    with OwnErrors(label):
        _check_n_features(model, array, reset=reset)
    return array


def _check_matrix(label: str, X: Any) -> None:
    """Raise ArgumentError for a sparse matrix with indices out of bounds, before conversions and kernels read it."""
    if X.format in ("csr", "csc") and X.ndim == 2:  # others are converted, or refused
        stored, across = len(X.data), X.shape[X.format == "csr"]
        check_indices(label, np.asarray(X.indices), np.asarray(X.indptr), stored, across)


def _narrowed(matrix: Any) -> Any:
    """Return a CSR matrix with 32-bit indices where these suffice, to read half the bytes."""
    if matrix.indices.dtype == np.int32 == matrix.indptr.dtype or max(*matrix.shape, matrix.nnz) >= 2**31:
        return matrix
    stored = matrix.data, matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
    return csr_array(stored, matrix.shape)
