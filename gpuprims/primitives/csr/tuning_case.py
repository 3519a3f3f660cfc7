"""The call of csr that ``gpuprims.testing`` checks; sums of small integers are exact."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from gpuprims.core.tuning_case import TuningCase, small_integers
from gpuprims.primitives.csr import csr_product
from gpuprims.primitives.rows import beside

_COLUMNS = 41


def _matrix(size: int, dtype: Any, outputs: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return indices, indptr and the dense matrix for ``size`` stored elements; some rows are empty."""
    rng = np.random.default_rng(size)
    indptr = np.sort(np.concatenate([[0, size], rng.integers(0, size + 1, size // 5)])).astype(np.int32)
    dense = small_integers(rng, np.dtype(dtype), _COLUMNS * int(np.prod(outputs))).reshape(_COLUMNS, *outputs)
    return rng.integers(0, _COLUMNS, size, np.int32), indptr, dense


def _case(*outputs: int) -> TuningCase:
    def expected(x: np.ndarray) -> np.ndarray:
        columns, indptr, dense = _matrix(x.size, x.dtype, outputs)
        products = (x.astype(np.float64) * dense[columns].T.astype(np.float64)).T
        totals = np.concatenate([np.zeros((1, *outputs)), np.cumsum(products, axis=0)])
        return np.asarray(np.diff(totals[indptr], axis=0), x.dtype)

    return TuningCase(
        "csr",
        small_integers,
        csr_product,
        lambda x: beside(x, *_matrix(x.size, x.dtype, outputs)),
        expected,
        into=False,
        dtypes=("float32", "float64"),
    )


CASE = replace(_case(), further={"five columns": _case(5)})
