"""The call of stencil that ``gpuprims tune`` measures."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from gpuprims.core.tuning_case import TuningCase, small_integers
from gpuprims.primitives.stencil import stencil

# One pass computes these: they are not the product of a column and a row.
_WEIGHTS = np.array([[1, 2, 1], [2, 3, 2], [1, 1, 2]])
_COLUMN = np.array([[1], [2], [1]])
# So long that kernels read it from memory.
_ROW = np.array([[1, *[0] * 20, 1, *[0] * 20, 1]])


def _elements(rng: np.random.Generator, dtype: np.dtype[Any], size: int) -> np.ndarray:
    """Return an odd number of rows. Long rows have a multiple of 64 elements, so that kernels read whole vectors."""
    rows = math.isqrt(size) | 1
    columns = max(size // rows, 1)
    columns -= columns % 64 if columns > 256 else 0
    return small_integers(rng, dtype, rows * columns).reshape(rows, columns)


def _weights(x: Any) -> np.ndarray:
    return _WEIGHTS / np.float32(16) if x.dtype.kind == "f" else _WEIGHTS


def _correlated(x: np.ndarray) -> np.ndarray:
    padded = np.pad(x, 1, mode="edge").astype(np.float64)
    total: np.ndarray = np.einsum("yxab,ab->yx", sliding_window_view(padded, (3, 3)), _weights(x))
    return total.astype(x.dtype)


def _above_and_below(x: np.ndarray) -> np.ndarray:
    padded = np.pad(x, ((1, 1), (0, 0)), mode="edge")
    total: np.ndarray = padded[:-2] + 2 * x + padded[2:]
    return total


def _far_beside(x: np.ndarray) -> np.ndarray:
    reach = _ROW.size // 2
    padded = np.pad(x, ((0, 0), (reach, reach)), mode="edge")
    total: np.ndarray = padded[:, : -2 * reach] + x + padded[:, 2 * reach :]
    return total


_BESIDE = TuningCase("stencil", _elements, stencil, lambda x: (x, _ROW), _far_beside, into=True)
_ABOVE = TuningCase("stencil", _elements, stencil, lambda x: (x, _COLUMN), _above_and_below, into=True)
CASE = replace(
    TuningCase("stencil", _elements, stencil, lambda x: (x, _weights(x)), _correlated, into=True),
    further={"a column": _ABOVE, "a long row": _BESIDE},
)
