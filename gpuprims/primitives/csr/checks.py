"""Checks of sparse matrices: dtypes and shapes that fit together, indices within the arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuprims.core.device import Device
from gpuprims.errors import ArgumentError, DtypeError, ShapeError
from gpuprims.primitives.reduce import reduce


def check_arrays(label: str, arrays: Sequence[Any]) -> None:
    """Raise unless the dtypes and shapes of data, indices, indptr and dense fit together."""
    data, indices, indptr, dense = arrays
    if data.dtype not in (np.float32, np.float64):
        rule = f"{label}: data of float32 or float64"
        raise DtypeError(f"{rule}; got dtype {data.dtype} (convert it, such as to float32)")
    if dense.dtype != data.dtype:
        raise DtypeError(f"{label}: dense of the dtype of data, {data.dtype}; got {dense.dtype}")
    for name, array in (("indices", indices), ("indptr", indptr)):
        if array.dtype not in (np.int32, np.int64):
            raise DtypeError(f"{label}: {name} of int32 or int64; got dtype {array.dtype}")
    if len(data.shape) != 1 or indices.shape != data.shape:
        raise ShapeError(f"{label}: data and indices of one shape (stored,); got {data.shape} and {indices.shape}")
    if len(indptr.shape) != 1 or indptr.shape == (0,):
        raise ShapeError(f"{label}: indptr of shape (n + 1,), for n rows; got {indptr.shape}")
    if len(dense.shape) not in (1, 2):
        raise ShapeError(f"{label}: dense of shape (k,) or (k, outputs); got {dense.shape}")


def check_indices(
    label: str, indices: Any, indptr: Any, stored: int, columns: int, device: Device | None = None
) -> None:
    """Raise if a kernel would read outside the arrays of a sparse matrix, or elements of another row.

    Arrays on a device stay there; the device finds the extremes.

    Raises
    ------
    ArgumentError
    """

    def place_of(extreme: Any, *arrays: Any) -> int:
        """Return where an array has its extreme, or where the first of two arrays is below the second."""
        if device is not None:
            below = "where(behind < before, 1, 0)" if len(arrays) == 2 else None
            return int(device.to_host(reduce(*arrays, op=extreme, map=below, device=device)))
        values = arrays[0] if len(arrays) == 1 else arrays[0] < arrays[1]
        return int(getattr(np, extreme)(values))

    def item(array: Any, place: int) -> int:
        return int(array[place] if device is None else device.to_host(array[place : place + 1])[0])

    first, last = item(indptr, 0), item(indptr, len(indptr) - 1)
    if first != 0:
        raise ArgumentError(f"{label}: indptr that begins at 0; got {first}")
    if len(indptr) > 1:
        row = place_of("argmax", indptr[1:], indptr[:-1])
        before, behind = item(indptr, row), item(indptr, row + 1)
        if behind < before:
            raise ArgumentError(f"{label}: indptr that never decreases; got {before} and then {behind} at row {row}")
    if last != stored:
        raise ArgumentError(f"{label}: indptr that ends at the number of stored elements, {stored}; got {last}")
    for extreme in ("argmin", "argmax") if stored and not _below(indices, columns) else ():
        place = place_of(extreme, indices)
        if not 0 <= (column := item(indices, place)) < columns:
            rule = f"columns from 0 to {columns - 1}" if columns else "no elements where there are no columns"
            raise ArgumentError(f"{label}: {rule}; got indices[{place}] = {column}")


def _below(indices: Any, columns: int) -> bool:
    """Return True if NumPy finds all of some host indices from 0 to below a number, by one pass over them."""
    if not isinstance(indices, np.ndarray) or indices.strides != (indices.itemsize,):
        return False
    return bool(indices.view(f"u{indices.itemsize}").max() < columns)  # unsigned, those below 0 are large
