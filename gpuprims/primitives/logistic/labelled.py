"""Labelled samples: checks of their arrays, the sigmoid, and a row's loss and residual."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from gpuprims.errors import DtypeError, ShapeError
from gpuprims.expressions import TypedExpr, trace, typed

_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
_INTEGERS = (np.dtype(np.int8), np.dtype(np.int16))


def check_samples(label: str, arrays: Sequence[Any], *, integers: bool = False) -> None:
    """Raise unless samples, labels, weights and any sample weights have one dtype, and shapes that fit together.

    With ``integers``, samples may be int8 or int16 beside others of a float dtype.
    """
    dtype, shape = arrays[0].dtype, arrays[0].shape
    if integers and dtype in _INTEGERS:
        dtype = arrays[1].dtype
    if dtype not in _FLOATS:
        raise DtypeError(f"{label}: X of float32 or float64; got dtype {dtype} (convert it, such as to float32)")
    if len(shape) != 2 or 0 in shape:
        raise ShapeError(f"{label}: X of shape (n, k), of at least one sample and one feature; got {shape}")
    n, k = shape
    rules = {"y": [(n,)], "weights": [(k,), (k + 1,)], "sample_weight": [(n,)]}
    for (name, shapes), array in zip(rules.items(), arrays[1:], strict=False):
        if array.dtype != dtype:
            raise DtypeError(f"{label}: {name} of the dtype of X, {dtype}; got {array.dtype}")
        if array.shape not in shapes:
            wanted = " or ".join(map(str, shapes))
            raise ShapeError(f"{label}: {name} of shape {wanted}, for X of {shape}; got {array.shape}")


def sigmoid(score: Any) -> Any:
    """Return ``1 / (1 + exp(-score))``; no exponential is above 1."""
    return _sigmoid(score, np.exp(-np.abs(score)))


def _sigmoid(score: Any, small: Any) -> Any:
    return np.where(score >= 0, 1, small) / (1 + small)


def curvature_of_row(score: Any, weight: Any) -> Any:
    """Return the second derivative of a row's loss with respect to its score."""
    return weight * sigmoid(score) * sigmoid(-score)


def loss_and_residual(score: Any, label: Any, weight: Any) -> tuple[Any, Any]:
    """Return a row's loss and residual; no exponential is above 1."""
    small = np.exp(-np.abs(score))
    loss = np.maximum(score, 0) - label * score + np.log1p(small)
    return weight * loss, weight * (_sigmoid(score, small) - label)


@lru_cache(maxsize=2)
def typed_loss(dtype: np.dtype[Any]) -> TypedExpr:
    """Return :func:`loss_and_residual`, typed for kernels."""
    return typed(trace(loss_and_residual, 3), (dtype,) * 3, (dtype,) * 2)
