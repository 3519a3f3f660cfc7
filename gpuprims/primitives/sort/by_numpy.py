"""Sorts of few elements by NumPy or in C, with the bits of the kernels.

NumPy's fastest sort is not stable and may change the sign of zeros and the bits of NaN, so these are written again.
C finds the indices of stable sorts. Without the C module, NumPy sorts integers whose high bits are a key and whose low
bits are its index.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any, Literal

import numpy as np

from gpuprims.core.by_numpy import ByNumPy, Compute, Few, noticed
from gpuprims.core.device import Device
from gpuprims.core.layout import Form
from gpuprims.core.operands import Operands
from gpuprims.primitives.few_orders import (
    indices_in_c,
    indices_of_trends,
    orders_in_c,
    packs_in_c,
    rows_back,
    rows_last,
)
from gpuprims.primitives.floats_by_numpy import has_nan
from gpuprims.primitives.halves import HALF, WORD, halves_of, has_others, words_of

# What a sort returns: sorted keys, their indices, or keys and the values beside them.
Wanted = Literal["keys", "indices", "pairs"]
# Bits of an index, and of the key beside it, which share 63 bits.
INDEX_BITS, _KEY_BITS = 16, 47
_ZERO = np.float32(0)
_MAGNITUDE, _INFINITY = np.int32(0x7FFFFFFF), 0x7F800000
_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
# NumPy sorts keys of 4 and 8 bytes by vectors, those of 2 by digits; in short rows it takes narrow ones as int32. On
# processors of which NumPy knows AVX512_ICL, it also sorts keys of 2 bytes by vectors; no public name tells.
_WIDE, _SHORT, _SHORT_NARROW = np.dtype(np.int32), 2**14, {1: 2**8, 2: 2**10}  # rows: by_numpy-keys
_KEYS_OF_SHORT, _KEYS = Few(near=2**24, woken=2**24), Few(near=2**20, woken=2**20)  # rows: by_numpy-keys
_FEATURES: dict[str, bool] = getattr(
    getattr(getattr(np, "_core", None), "_multiarray_umath", None), "__cpu_features__", {}
)
_BY_VECTORS = {2} if _FEATURES.get("AVX512_ICL") else set()  # rows: by_numpy-words
_KEYS_OF_BYTES = {  # rows: by_numpy, by_numpy-keys
    1: Few(near=2**15, woken=2**16), 2: Few(near=2**18, woken=2**18), 4: Few(near=2**21, woken=2**21),
}  # fmt: skip
_INDICES = Few(near=2**13, woken=2**15)  # rows: by_numpy
STABLE_INDICES = Few(near=2**10, woken=2**11)  # rows: by_numpy
# The same in C, for at most 2^16 elements of a row, and by NumPy's digits.
INDICES_IN_C, _PACKED_IN_C = Few(near=2**15, woken=2**16), Few(near=2**22, woken=2**22)  # rows: by_numpy-orders, packs
NARROW, _NARROW_INDICES = 2, Few(near=2**16, woken=2**16)  # rows: by_numpy-digits, lexsort-warm
_SEGMENTS = Few(near=2**13, woken=2**14)  # rows: by_numpy-segments
_OFFSETS = frozenset(map(np.dtype, (np.int32, np.uint32, np.int64)))
_SORTED_ALREADY = Few(near=2**27, woken=2**27)  # rows: trends
# From keys to the indices of their stable sort; NotImplemented if the bits may differ.
Indices = Callable[[np.ndarray], Any]


def sorts_by_numpy(
    device: Device, wanted: Wanted, axis: int | None, descending: bool, forms: tuple[Form, ...]
) -> ByNumPy | None:
    """Return how NumPy sorts real keys without a comparison of the caller's own, if it does."""
    form, flat = forms[0], len(forms[0].shape) == 1
    if form.dtype == HALF and form.shape:
        found = sorts_by_numpy(device, wanted, axis, descending, (form._replace(dtype=WORD), *forms[1:]))
        return found and found._replace(compute=partial(_HALVES[wanted], found.compute))
    if not form.shape or not is_ordered(form):
        return None
    length = math.prod(form.shape) if axis is None else form.shape[axis]
    if wanted == "keys":
        sorts, size = _sorted_floats if form.dtype.kind == "f" else _sorted, form.dtype.itemsize
        few = _KEYS_OF_SHORT if length <= _SHORT_NARROW.get(size, _SHORT) else _KEYS_OF_BYTES.get(size, _KEYS)
        few = _KEYS_OF_SHORT if size in _BY_VECTORS else few
        return ByNumPy(partial(sorts, axis=axis, descending=descending), few)
    in_c = orders_in_c(device, form.dtype) is not None
    if length > 1 << INDEX_BITS or not (flat or (in_c and wanted == "indices")):
        return _sorted_already(device, wanted, axis, descending, form)
    indices = indices_by_numpy(device, form.dtype, axis, descending=descending)
    few = INDICES_IN_C if in_c else STABLE_INDICES if form.dtype == np.float64 else _INDICES
    few = _PACKED_IN_C if packs_in_c(device, form.dtype) else few
    few = _NARROW_INDICES if flat and form.dtype.itemsize <= NARROW else few
    return ByNumPy(indices if wanted == "indices" else partial(_pairs, indices), few)


def _sorted_already(device: Device, wanted: Wanted, axis: int | None, descending: bool, form: Form) -> ByNumPy | None:
    """Return how C finds the indices of rows that lie together and rise or fall; other rows are left to kernels."""
    one, trends = len(form.shape) == 1, indices_of_trends(device, form.dtype)
    if trends is None or not (one or (wanted == "indices" and axis in (None, len(form.shape) - 1))):
        return None

    def indices(keys: np.ndarray) -> Any:
        return trends(keys.ravel() if axis is None else keys, descending) if keys.flags.c_contiguous else NotImplemented

    return ByNumPy(indices if wanted == "indices" else partial(_pairs, indices), _SORTED_ALREADY)


def _sorted_halves(sort: Compute, x: np.ndarray) -> Any:
    """Return sorted float16; NotImplemented with NaN, and with negative zeros."""
    words = words_of(x)
    return NotImplemented if has_others(x, words) else halves_of(sort(words))


def _indices_of_halves(indices: Indices, x: np.ndarray) -> Any:
    """Return the indices of sorted float16."""
    return indices(words_of(x))


def _pairs_of_halves(pairs: Compute, keys: np.ndarray, values: np.ndarray) -> Any:
    """Return sorted float16 and the values beside them; NotImplemented with NaN, and with negative zeros."""
    words = words_of(keys)
    if has_others(keys, words) or (found := pairs(words, values)) is NotImplemented:
        return NotImplemented
    return halves_of(found[0]), found[1]


# rows: by_numpy-halves
_HALVES: dict[str, Callable[..., Any]] = {
    "keys": _sorted_halves, "indices": _indices_of_halves, "pairs": _pairs_of_halves,
}  # fmt: skip


def is_ordered(form: Form) -> bool:
    """Return True for real numbers of the dtypes that NumPy orders as kernels do."""
    return form.dtype.kind in "iub" or form.dtype in _FLOATS


def segments_by_numpy(operands: Operands, places: bool, descending: bool) -> Compute | None:
    """Return the function from elements and offsets to sorted segments, or their ``places``, in C; None without it."""
    if not operands.in_place:
        return None
    (x,) = operands.natives
    if x.ndim != 1 or not 0 < x.size <= _SEGMENTS.most(operands.driver):
        return None
    calls = orders_in_c(operands.device, x.dtype)
    if calls is None:
        return None
    compute = partial(_segments, calls.segments, places=places, descending=descending)
    return noticed(operands.driver, operands.label, compute)


def _segments(indices: Callable[..., Any], x: np.ndarray, offsets: Any, *, places: bool, descending: bool) -> Any:
    """Return sorted segments, or their places; NotImplemented for wrong offsets."""
    if type(offsets) is not np.ndarray or offsets.ndim != 1 or not offsets.size or offsets.dtype not in _OFFSETS:
        return NotImplemented
    keys = np.ascontiguousarray(x)
    order = indices(keys, np.ascontiguousarray(offsets, np.int64), descending)
    if order is None:
        return NotImplemented
    return order if places else keys.take(order)


def _sorted(x: np.ndarray, *, axis: int | None, descending: bool) -> np.ndarray:
    """Return sorted keys; NumPy's stable sort takes narrow ones by digits, which is faster for long rows."""
    given, along = (x.ravel(), -1) if axis is None else (x, axis)
    by_vectors = x.itemsize in _BY_VECTORS
    if not by_vectors and given.shape[along] <= _SHORT_NARROW.get(x.itemsize, 0):
        wide = given.astype(_WIDE, order="C")
        wide.sort(along)
        ordered = wide.astype(x.dtype)
    else:
        ordered = given.copy()
        ordered.sort(along, "stable" if x.itemsize in _SHORT_NARROW and not by_vectors else None)
    return _turned(ordered, along) if descending else ordered


def _turned(ordered: np.ndarray, axis: int) -> np.ndarray:
    """Return elements in reverse order along an axis."""
    return (ordered[::-1] if ordered.ndim == 1 else np.flip(ordered, axis)).copy()


def _sorted_floats(x: np.ndarray, *, axis: int | None, descending: bool) -> Any:
    """Return sorted floats; NotImplemented for rows with NaN, or zeros of both signs."""
    ordered = _sorted(x, axis=axis, descending=False)
    along = -1 if axis is None else axis
    if ordered.ndim == 1:
        _write_equals(x.ravel(), ordered, descending=descending)
    elif _has_negative_zero(x) or has_nan(ordered.take(-1, along)):
        return NotImplemented
    return _turned(ordered, along) if descending else ordered


def _write_equals(x: np.ndarray, ordered: np.ndarray, *, descending: bool) -> None:
    """Write the NaN and zeros of a sort again, in the order of the input; in reverse if the sort will be reversed."""
    step = -1 if descending else 1
    if ordered[-1] != ordered[-1]:
        nan = x[x != x]
        ordered[len(x) - len(nan) :] = nan[::step]
    if not (ordered[0] > 0 or ordered[-1] < 0) and _has_negative_zero(x):
        zeros, begin = x[x == 0], ordered.searchsorted(0)
        ordered[begin : begin + len(zeros)] = zeros[::step]


def _has_negative_zero(x: np.ndarray) -> bool:
    """Return True if an array of floats has -0.0, whose bits are those of the smallest integer."""
    bits, least = (np.int32, -(2**31)) if x.itemsize == 4 else (np.int64, -(2**63))
    return int(np.minimum.reduce(x.view(bits), None)) == least


def _pairs(indices: Indices, keys: np.ndarray, values: np.ndarray) -> Any:
    order = indices(keys)
    return NotImplemented if order is NotImplemented else (keys.take(order), values.take(order))


def indices_by_numpy(device: Device, dtype: np.dtype[Any], axis: int | None, *, descending: bool) -> Indices:
    """Return the function from keys to the indices of their stable sort; without C, from keys of one axis."""
    indices = indices_in_c(device, dtype)
    if indices is None:
        return packed_indices(dtype, descending=descending, most=None)

    def found(keys: np.ndarray) -> np.ndarray:
        rows = rows_last(keys, axis)
        if rows.ndim == 1 and dtype.itemsize <= NARROW:
            return _by_stable_sort(rows, descending=descending, most=None)
        return rows_back(indices(rows, descending), axis)

    return found


def packed_indices(dtype: np.dtype[Any], *, descending: bool, most: int | None) -> Indices:
    """Return the function from keys along one axis to the indices of their stable sort, or to the ``most`` first."""
    if dtype == np.float32:
        return partial(_by_packed_floats, descending=descending, most=most)
    if dtype.itemsize <= 2 or dtype == np.float64:
        return partial(_by_stable_sort, descending=descending, most=most)
    packed = _by_packed_words if dtype.itemsize == 4 else _by_packed_range
    return partial(packed, descending=descending, most=most)


def _by_stable_sort(keys: np.ndarray, *, descending: bool, most: int | None) -> np.ndarray:
    """Return the indices by NumPy's stable sort; for descending order it sorts the reversed keys."""
    if not descending:
        return keys.argsort(kind="stable")[:most].copy() if most else keys.argsort(kind="stable")
    found = keys[::-1].argsort(kind="stable")[::-1]
    return np.subtract(len(keys) - 1, found[:most])


def _by_packed_words(keys: np.ndarray, *, descending: bool, most: int | None) -> np.ndarray:
    """Return the indices of keys of 32 bits."""
    return _unpacked(_packed(keys.astype(np.int64), descending=descending, most=most))


def _by_packed_range(keys: np.ndarray, *, descending: bool, most: int | None) -> Any:
    """Return the indices of keys of 64 bits that lie close to each other; NotImplemented if many do not."""
    low = keys.min()
    if int(keys.max()) - int(low) >> _KEY_BITS:
        few = len(keys) <= STABLE_INDICES.near
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
    low, high = int(packed[0]) >> INDEX_BITS, int(largest) >> INDEX_BITS
    if low < -_INFINITY - 1 or high > _INFINITY:
        return NotImplemented
    return _unpacked(packed)


@cache
def _indices() -> np.ndarray:
    return np.arange(1 << INDEX_BITS)


def _packed(keys: np.ndarray, *, descending: bool, most: int | None) -> np.ndarray:
    """Return sorted integers of a key, inverted for descending order, above its index; or the ``most`` first."""
    if descending:
        np.invert(keys, keys)
    keys <<= INDEX_BITS
    keys |= _indices()[: len(keys)]
    if most is not None:
        keys.partition(most - 1)
        keys = keys[:most].copy()
    keys.sort()
    return keys


def _unpacked(packed: np.ndarray) -> np.ndarray:
    packed &= (1 << INDEX_BITS) - 1
    return packed
