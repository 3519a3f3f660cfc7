"""Sorts by several keys, of several values, and of complex elements: by sorts of indices, one key after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.operands import as_operands
from gpuprims.errors import ArgumentError, DtypeError, ShapeError, quoted
from gpuprims.primitives.map import map as map_elements
from gpuprims.primitives.sort.plan import Wanted
from gpuprims.primitives.take import take

Order = Callable[[Any], Any]
# Bytes of the widest values that are moved with their keys.
_MOVED = 8


def by_key(
    keys: Any,
    values: Sequence[Any],
    axis: int | None,
    device: str | Device | None,
    pairs: Callable[[Any, Any], tuple[Any, Any]],
    order: Order,
) -> tuple[Any, ...]:
    """Sort keys with one value by ``pairs``; else put all arrays in the order of the keys' indices."""
    if not values:
        raise ArgumentError("sort_by_key: keys and one or more arrays of values; got no values")
    checked = as_operands("sort_by_key", (keys, *values), device)
    first, *rest = [(native.shape, native.dtype.itemsize) for native in checked.natives]
    for shape, _ in rest:
        if shape != first[0]:
            raise ShapeError(f"sort_by_key: values of the keys' shape, {first[0]}; got {shape}")
    flat = len(first[0]) == 1 or axis is None
    if not is_complex(keys) and (len(values) == 1 or not flat):
        wide = [size for _, size in rest if size > _MOVED]
        if not wide:
            found = [pairs(keys, value) for value in values]
            return (found[0][0], *(beside for _, beside in found))
        if not flat:
            raise DtypeError("sort_by_key: values of at most 64 bits beside keys of several axes; got complex128")
    indices = order(keys)
    return tuple(take(array, indices, mode="clip", device=device) for array in (keys, *values))


def by_keys(keys: Any, device: str | Device | None, order: Order) -> Any:
    """Return the indices that sort by several keys, the last one first."""
    given = list(keys)
    if not given:
        raise ArgumentError("lexsort: one or more keys; got none")
    shapes = [native.shape for native in as_operands("lexsort", tuple(given), device).natives]
    if len(shapes[0]) != 1 or set(shapes) != {shapes[0]}:
        raise ShapeError(f"lexsort: keys of one axis and one length; got the shapes {quoted(shapes)}")
    indices = order(given[0])
    for key in given[1:]:
        indices = take(indices, order(take(key, indices, mode="clip", device=device)), mode="clip", device=device)
    return indices


def is_complex(array: Any) -> bool:
    """Return True for arrays of complex elements, of any library."""
    return "complex" in str(getattr(array, "dtype", "")) or isinstance(array, complex)


def by_complex(
    label: str, arrays: Sequence[Any], axis: int | None, out: Any, device: str | Device | None, order: Order
) -> Callable[[Wanted], Any]:
    """Sort complex elements as NumPy: those without NaN first, by the real parts, then by the imaginary ones."""
    (native,) = as_operands(label, (arrays[0],), device).natives
    if native.ndim != 1 or axis not in (0, -1, None):
        raise DtypeError(f"{label}: complex elements along one axis; got shape {native.shape} (sort one row at a time)")
    if out is not None:
        raise ArgumentError(f"{label}: no out= for complex elements; got one")
    x = arrays[0]
    parts = map_elements(
        lambda z: (z.imag, z.real, np.where(np.isnan(z.real), 2, 0) + np.where(np.isnan(z.imag), 1, 0)),
        x,
        device=device,
    )

    def found(wanted: Wanted) -> Any:
        indices = by_keys(parts, device, order)
        if wanted == "indices":
            return indices
        if wanted == "keys":
            return take(x, indices, mode="clip", device=device)
        return tuple(take(one, indices, mode="clip", device=device) for one in arrays)

    return found
