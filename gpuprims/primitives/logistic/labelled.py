"""Labelled samples: checks of them, their sigmoid, and their loss and residual."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from gpuprims.errors import DtypeError, ShapeError
from gpuprims.expressions import TypedExpr, trace, typed

_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
_NAMES = ("X", "y", "weights", "sample_weight")


def check_samples(label: str, arrays: Sequence[Any]) -> None:
    """Raise for samples, labels, weights and sample weights that are not of one dtype, or of shapes that do not fit."""
    dtype, shape = arrays[0].dtype, arrays[0].shape
    if dtype not in _FLOATS:
        raise DtypeError(f"{label}: X of float32 or float64; got dtype {dtype} (convert it, such as to float32)")
    if len(shape) != 2 or 0 in shape:
        raise ShapeError(f"{label}: X of shape (n, k), of at least one sample and one feature; got {shape}")
    n, k = shape
    rules = {"y": ((n,),), "weights": ((k,), (k + 1,)), "sample_weight": ((n,),)}
    for name, array in zip(_NAMES[1:], arrays[1:], strict=False):
        own, found = array.dtype, array.shape
        if own != dtype:
            raise DtypeError(f"{label}: {name} of the dtype of X, {dtype}; got {own}")
        if found not in rules[name]:
            wanted = " or ".join(str(rule) for rule in rules[name])
            raise ShapeError(f"{label}: {name} of shape {wanted}, for X of {shape}; got {found}")


def sigmoid(score: Any) -> Any:
    """Return ``1 / (1 + exp(-score))``; no exponential is above 1."""
    return _sigmoid(score, np.exp(-np.abs(score)))


def _sigmoid(score: Any, small: Any) -> Any:
    return np.where(score >= 0, 1, small) / (1 + small)


def loss_and_residual(score: Any, label: Any, weight: Any) -> tuple[Any, Any]:
    """Return a row's loss and residual; no exponential is above 1."""
    small = np.exp(-np.abs(score))
    loss = np.maximum(score, 0) - label * score + np.log1p(small)
    return weight * loss, weight * (_sigmoid(score, small) - label)


@lru_cache(maxsize=2)
def typed_loss(dtype: np.dtype[Any]) -> TypedExpr:
    """Return :func:`loss_and_residual`, typed for kernels."""
    return typed(trace(loss_and_residual, 3), (dtype,) * 3, (dtype,) * 2)
