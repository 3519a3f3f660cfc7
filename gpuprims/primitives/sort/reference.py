"""sort in NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from gpuprims.primitives.sort.spec import SortSpec


def sort_numpy(
    spec: SortSpec,
    memories: Sequence[np.ndarray],
    layout: np.ndarray,
    rows: int,
    n: int,
    *begins: int,
) -> None:
    """Sort the rows' keys as unsigned integers, by NumPy's stable sort."""

    def rows_of(k: int, dtype: np.dtype[Any]) -> np.ndarray:
        memory, end = memories[k], begins[k] + rows * n
        if memory.itemsize == dtype.itemsize:  # rows lie side by side, whatever the order of the array's axes
            memory = as_strided(memory, (end,), (dtype.itemsize,))
        return memory.view(dtype)[begins[k] : end].reshape(rows, n)

    keys = rows_of(0, spec.keys.word)
    order = np.argsort(spec.keys.of(keys), axis=1, kind="stable")
    if spec.keeps_keys:
        rows_of(2, spec.keys.word)[...] = np.take_along_axis(keys, order, 1)
    if spec.carried is not None and spec.kept is not None:
        kept = order if spec.indices else np.take_along_axis(rows_of(1, spec.carried), order, 1)
        rows_of(3, spec.kept)[...] = kept
