"""Samples of Dask arrays and DataFrames, as blocks of rows."""

from __future__ import annotations

from itertools import accumulate
from typing import Any, NamedTuple

import dask
import dask.array as da
import numpy as np
from sklearn.utils.validation import _check_feature_names

from gpuprims.core.interop import short
from gpuprims.distributed.samples import LABEL
from gpuprims.errors import ArgumentError, ArrayError, ShapeError
from gpuprims.models.checks import OwnErrors


class Rows(NamedTuple):
    """Lazy blocks of rows: features, labels, and weights if there are any; as many of each."""

    X: list[Any]
    y: list[Any]
    weights: list[Any] | None


def rows_of(X: Any, y: Any, weights: Any) -> Rows:
    """Return the blocks of samples. Labels and weights of arrays in memory are cut as ``X`` is."""
    lengths = X.chunks[0] if is_array(X) else (np.nan,) * X.npartitions
    features = matrix_of(X) if is_array(X) else X
    return Rows(
        _blocks(features),
        _alike("y", y, lengths),
        None if weights is None else _alike("sample_weight", weights, lengths),
    )


def is_array(collection: Any) -> bool:
    """Return True for an array of Dask, False for a DataFrame or Series."""
    return isinstance(collection, da.Array)


def matrix_of(X: Any) -> Any:
    """Return samples as an array whose blocks have all features."""
    array = X if is_array(X) else X.to_dask_array()
    if array.ndim != 2:
        raise ShapeError(f"{LABEL}: X of shape (n_samples, n_features); got shape {array.shape}")
    return array.rechunk({1: -1}) if array.numblocks[1] != 1 else array


def check_names(model: Any, X: Any, *, reset: bool) -> None:
    """Set or check the names of features, as scikit-learn does for DataFrames."""
    with OwnErrors(LABEL):
        _check_feature_names(model, X._meta, reset=reset)


def labels_like(what: str, given: Any, lengths: tuple[float, ...]) -> Any:
    """Return labels or weights as an array of Dask, cut as the samples are."""
    if hasattr(type(given), "__dask_graph__"):
        array = given if is_array(given) else _of_series(given)
        if array.ndim == 2 and array.shape[1] == 1:
            array = array.reshape(-1)
        if array.ndim != 1:
            raise ShapeError(f"{LABEL}: {what} of shape (n_samples,); got shape {array.shape}")
        known = not any(map(np.isnan, (*lengths, *array.chunks[0])))
        if known and array.shape[0] != sum(lengths):
            raise ArgumentError(f"{LABEL}: {what} for each of {int(sum(lengths))} samples; got {array.shape[0]}")
        if known:
            return array.rechunk((tuple(map(int, lengths)),))
        if array.numblocks[0] != len(lengths):
            rule = f"{LABEL}: X and {what} in as many blocks, because their lengths are not known"
            hint = "write compute_chunk_sizes() of both"
            raise ShapeError(f"{rule}; got {len(lengths)} and {array.numblocks[0]} ({hint})")
        return array
    if given is None:
        raise ArgumentError(f"{LABEL}: y with a label for each sample; got None")
    whole = np.asarray(given)
    if any(map(np.isnan, lengths)):
        rule = f"{LABEL}: {what} of Dask beside samples in blocks whose lengths are not known"
        raise ArrayError(f"{rule}; got {short(given)} (or write X.to_dask_array(lengths=True))")
    if whole.shape != (sum(lengths),):
        raise ArgumentError(f"{LABEL}: {what} for each of {int(sum(lengths))} samples; got shape {whole.shape}")
    return da.from_array(whole, chunks=(tuple(map(int, lengths)),))


def _of_series(given: Any) -> Any:
    """Return a Series, or a DataFrame of one column, as an array of blocks whose lengths are not known."""
    like = given._meta.to_numpy()
    shape = (np.nan, *like.shape[1:])
    parts = [da.from_delayed(one, shape, like.dtype) for one in _blocks(given)]
    return da.concatenate(parts, allow_unknown_chunksizes=True)


def _alike(what: str, given: Any, lengths: tuple[float, ...]) -> list[Any]:
    if hasattr(type(given), "__dask_graph__") or given is None or any(map(np.isnan, lengths)):
        return _blocks(labels_like(what, given, lengths))
    whole = np.asarray(labels_like(what, given, lengths))
    ends = list(map(int, accumulate(lengths)))
    return [dask.delayed(whole[end - int(rows) : end]) for rows, end in zip(lengths, ends, strict=True)]


def _blocks(collection: Any) -> list[Any]:
    """Return the blocks along the first axis; those of DataFrames become arrays."""
    found = list(np.ravel(np.asarray(collection.to_delayed(), object)))
    return found if is_array(collection) else [dask.delayed(array_of)(one) for one in found]


def array_of(block: Any) -> Any:
    """Return the values of a pandas object."""
    return block.to_numpy()
