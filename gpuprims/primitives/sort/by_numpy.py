"""Sorts of few elements by NumPy, with the bits of the kernels.

NumPy's fastest sort is not stable, and may write other zeros than it read, or other NaN. So it sorts numbers whose
equals have the same bits. For indices of stable sorts it sorts integers that have a key above and its index below.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any, Literal

import numpy as np

from gpuprims.core.by_numpy import ByNumPy, Few
from gpuprims.core.layout import Form

# What a sort returns: sorted keys, their indices, or keys and the values beside them.
Wanted = Literal["keys", "indices", "pairs"]
# Bits of an index beside a key in 63 bits, and of the key.
_INDEX_BITS, _KEY_BITS = 16, 47
_ZERO = np.float32(0)
_MAGNITUDE, _INFINITY = np.int32(0x7FFFFFFF), 0x7F800000
_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
_KEYS = Few(near=2**15, woken=2**16)  # rows: by_numpy
_INDICES = Few(near=2**13, woken=2**15)  # rows: by_numpy
_STABLE_INDICES = Few(near=2**10, woken=2**11)  # rows: by_numpy
_FEW_FIRSTS, _FEW_STABLE_FIRSTS = Few(near=0, woken=2**14), Few(near=0, woken=2**10)  # rows: by_numpy-firsts


def sorts_by_numpy(wanted: Wanted, axis: int | None, descending: bool, forms: tuple[Form, ...]) -> ByNumPy | None:
    """Return how NumPy sorts real keys without a comparison of the caller's own, if it does."""
    form, flat = forms[0], len(forms[0].shape) == 1
    if not form.shape:
        return None
    if form.dtype.kind not in "iub" and form.dtype not in _FLOATS:
        return None
    if wanted == "keys":
        sorts = _sorted_floats if form.dtype.kind == "f" else _sorted
        return ByNumPy(partial(sorts, axis=axis, descending=descending), _KEYS)
    if not flat or form.shape[0] > 1 << _INDEX_BITS:
        return None
    indices = _indices_of(form.dtype, descending=descending)
    few = _STABLE_INDICES if form.dtype == np.float64 else _INDICES
    return ByNumPy(indices if wanted == "indices" else partial(_pairs, indices), few)


def _sorted(x: np.ndarray, *, axis: int | None, descending: bool) -> np.ndarray:
    """Return sorted integers; NumPy sorts narrow ones faster by digits, which is its stable way."""
    ordered, along = (x.flatten(), -1) if axis is None else (x.copy(), axis)
    ordered.sort(along, "stable" if x.itemsize <= 2 else None)
    return np.flip(ordered, along).copy() if descending else ordered


def _sorted_floats(x: np.ndarray, *, axis: int | None, descending: bool) -> Any:
    """Return sorted floats; NotImplemented with NaN, or zeros of both signs."""
    ordered = _sorted(x, axis=axis, descending=False)
    along = -1 if axis is None else axis
    if ordered.ndim == 1:
        low, high = ordered[0], ordered[-1]
        sure = low > 0 or high < 0
        ordinary = low <= high
    else:
        sure, ordinary = False, not np.isnan(ordered.take(-1, along)).any()
    if not ordinary or not (sure or _have_one_sign(x[x == 0])):
        return NotImplemented
    return np.flip(ordered, along).copy() if descending else ordered


def _have_one_sign(zeros: np.ndarray) -> bool:
    signs = np.signbit(zeros)
    return not signs.any() or bool(signs.all())


def _pairs(indices: Callable[[np.ndarray], Any], keys: np.ndarray, values: np.ndarray) -> Any:
    order = indices(keys)
    return NotImplemented if order is NotImplemented else (keys.take(order), values.take(order))


def firsts_by_numpy(form: Form, most: int, *, descending: bool) -> ByNumPy | None:
    """Return how NumPy finds the ``most`` first of sorted elements along one axis, and their indices, if it does."""
    if len(form.shape) != 1 or form.shape[0] > 1 << _INDEX_BITS or not most:
        return None
    if form.dtype.kind not in "iub" and form.dtype not in _FLOATS:
        return None
    indices = _indices_of(form.dtype, descending=descending, most=most)
    stable = form.dtype.itemsize <= 2 or form.dtype == np.float64
    return ByNumPy(partial(_firsts, indices), _FEW_STABLE_FIRSTS if stable else _FEW_FIRSTS)


def _firsts(indices: Callable[[np.ndarray], Any], keys: np.ndarray) -> Any:
    """Return elements and their indices; NotImplemented with NaN."""
    order = indices(keys)
    if order is NotImplemented:
        return NotImplemented
    if keys.dtype == np.float64 and (largest := np.maximum.reduce(keys)) != largest:
        return NotImplemented
    return keys.take(order), order


def _indices_of(dtype: np.dtype[Any], *, descending: bool, most: int | None = None) -> Callable[[np.ndarray], Any]:
    """Return the function from keys along one axis to the indices of their stable sort, or to the ``most`` first."""
    if dtype == np.float32:
        return partial(_by_packed_floats, descending=descending, most=most)
    if dtype.itemsize <= 2 or dtype == np.float64:
        return partial(_by_stable_sort, descending=descending, most=most)
    packed = _by_packed_words if dtype.itemsize == 4 else _by_packed_range
    return partial(packed, descending=descending, most=most)


def _by_stable_sort(keys: np.ndarray, *, descending: bool, most: int | None) -> np.ndarray:
    """Return the indices by NumPy's stable sort; in descending order, of keys read from their end."""
    if not descending:
        return keys.argsort(kind="stable")[:most].copy() if most else keys.argsort(kind="stable")
    found = keys[::-1].argsort(kind="stable")[::-1]
    return np.subtract(len(keys) - 1, found[:most])


def _by_packed_words(keys: np.ndarray, *, descending: bool, most: int | None) -> np.ndarray:
    """Return the indices of keys of 32 bits."""
    return _unpacked(_packed(keys.astype(np.int64), descending=descending, most=most))


def _by_packed_range(keys: np.ndarray, *, descending: bool, most: int | None) -> Any:
    """Return the indices of keys of 64 bits that lie close to each other; NotImplemented for many that do not."""
    low = keys.min()
    if int(keys.max()) - int(low) >> _KEY_BITS:
        few = len(keys) <= _STABLE_INDICES.near
        return _by_stable_sort(keys, descending=descending, most=most) if few else NotImplemented
    return _unpacked(_packed((keys - low).astype(np.int64, copy=False), descending=descending, most=most))


def _by_packed_floats(keys: np.ndarray, *, descending: bool, most: int | None) -> Any:
    """Return the indices of float32, by integers in the same order; NotImplemented with NaN."""
    bits = np.add(keys, _ZERO).view(np.int32)  # zeros become positive
    flipped = bits >> 31
    flipped &= _MAGNITUDE
    bits ^= flipped
    every = bits.astype(np.int64)
    packed = _packed(every, descending=descending, most=most)
    largest = packed[-1] if most is None else np.maximum.reduce(every)
    low, high = int(packed[0]) >> _INDEX_BITS, int(largest) >> _INDEX_BITS
    if low < -_INFINITY - 1 or high > _INFINITY:
        return NotImplemented
    return _unpacked(packed)


@cache
def _indices() -> np.ndarray:
    return np.arange(1 << _INDEX_BITS)


def _packed(keys: np.ndarray, *, descending: bool, most: int | None) -> np.ndarray:
    """Return sorted integers of a key, inverted for descending order, above its index; or the ``most`` first."""
    if descending:
        np.invert(keys, keys)
    keys <<= _INDEX_BITS
    keys |= _indices()[: len(keys)]
    if most is not None:
        keys.partition(most - 1)
        keys = keys[:most].copy()
    keys.sort()
    return keys


def _unpacked(packed: np.ndarray) -> np.ndarray:
    packed &= (1 << _INDEX_BITS) - 1
    return packed
