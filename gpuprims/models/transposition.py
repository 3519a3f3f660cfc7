"""The transposed form of a CSR matrix, by sorting its elements on a device."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuprims.core.device import Device
from gpuprims.primitives.grouping.run_length import run_length_decode
from gpuprims.primitives.histogram import bincount
from gpuprims.primitives.sort import sort_by_key


def transposed(
    device: Device, data: Any, indices: Any, indptr: np.ndarray, columns: int
) -> tuple[Any, Any, np.ndarray]:
    """Return data, indices and ``indptr`` of the transposed matrix; ``indptr`` is on the host, the others stay there.

    The sort is stable, so rows stay in order within a column.
    """
    if not indptr[-1]:
        return data, indices, np.zeros(columns + 1, indptr.dtype)
    kept, lengths = np.dtype(indices.dtype), np.diff(indptr)
    numbers = device.asarray(np.arange(len(lengths), dtype=kept))
    rows = run_length_decode(numbers, device.asarray(np.ascontiguousarray(lengths)), device=device)
    counts = device.to_host(bincount(indices, minlength=columns, device=device))
    _, rows, stored = sort_by_key(indices, rows, data, device=device)
    return stored, rows, np.concatenate([[0], np.cumsum(counts)]).astype(indptr.dtype)
