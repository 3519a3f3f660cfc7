"""Checks of sparse matrices: indices within their arrays, dtypes and shapes that fit together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpuprims.core.device import Device
from gpuprims.errors import ArgumentError, DtypeError, ShapeError
from gpuprims.primitives.reduce import reduce

_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
_INTEGERS = (np.dtype(np.int32), np.dtype(np.int64))


def check_indices(
    label: str, indices: Any, indptr: Any, stored: int, columns: int, device: Device | None = None
) -> None:
    """Raise for a sparse matrix by which a kernel would read outside its arrays, or another row's elements.

    Arrays of a device are looked at there.

    Raises
    ------
    ArgumentError
    """
    argmost, at = _ON_HOST if device is None else _on_device(device)
    first, last = at(indptr, 0), at(indptr, len(indptr) - 1)
    if first != 0:
        raise ArgumentError(f"{label}: indptr that begins at 0; got {first}")
    if len(indptr) > 1:
        row = argmost("argmax", indptr[1:], indptr[:-1])
        before, behind = at(indptr, row), at(indptr, row + 1)
        if behind < before:
            raise ArgumentError(f"{label}: indptr that never decreases; got {before} and then {behind} at row {row}")
    if last != stored:
        raise ArgumentError(f"{label}: indptr that ends at the number of stored elements, {stored}; got {last}")
    for extreme in ("argmin", "argmax") if stored else ():
        place = argmost(extreme, indices)
        if not 0 <= (column := at(indices, place)) < columns:
            rule = f"columns from 0 to {columns - 1}" if columns else "no elements where there are no columns"
            raise ArgumentError(f"{label}: {rule}; got indices[{place}] = {column}")


# Where an array has its extreme, or where the first of two is below the second; and an element.
_Look = tuple[Callable[..., int], Callable[[Any, int], int]]


def _argmost_on_host(op: str, *arrays: np.ndarray) -> int:
    values = arrays[0] if len(arrays) == 1 else arrays[0] < arrays[1]
    return int(getattr(np, op)(values))


_ON_HOST: _Look = (_argmost_on_host, lambda array, place: int(array[place]))


def _on_device(device: Device) -> _Look:
    def argmost(op: str, *arrays: Any) -> int:
        function = "where(behind < before, 1, 0)" if len(arrays) == 2 else None
        return int(device.to_host(reduce(*arrays, op=op, map=function, device=device)))

    return argmost, lambda array, place: int(device.to_host(array[place : place + 1])[0])


def check_arrays(label: str, arrays: list[tuple[np.dtype[Any], tuple[int, ...]]]) -> None:
    """Raise for dtypes and shapes that do not fit together."""
    (dtype, data), *integers, (other, dense) = arrays
    if dtype not in _FLOATS:
        raise DtypeError(f"{label}: data of float32 or float64; got dtype {dtype} (convert it, such as to float32)")
    if other != dtype:
        raise DtypeError(f"{label}: dense of the dtype of data, {dtype}; got {other}")
    for name, (own, _) in zip(("indices", "indptr"), integers, strict=True):
        if own not in _INTEGERS:
            raise DtypeError(f"{label}: {name} of int32 or int64; got dtype {own}")
    indices, indptr = (shape for _, shape in integers)
    if len(data) != 1 or indices != data:
        raise ShapeError(f"{label}: data and indices of one shape (stored,); got {data} and {indices}")
    if len(indptr) != 1 or indptr == (0,):
        raise ShapeError(f"{label}: indptr of shape (n + 1,), for n rows; got {indptr}")
    if len(dense) not in (1, 2):
        raise ShapeError(f"{label}: dense of shape (k,) or (k, outputs); got {dense}")
