"""The classes of labels and the index of each label's class, found without sorting the labels where possible."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from gpuprims.core.device import Device
from gpuprims.errors import ArgumentError, quoted
from gpuprims.models.checks import OwnErrors
from gpuprims.primitives.grouping.unique import unique
from gpuprims.primitives.histogram import bincount
from gpuprims.primitives.map import map as map_elements
from gpuprims.primitives.reduce import reduce

# Largest range of integer labels that are counted.
_MAX_RANGE = 4096
# Bits of a hash that number the entries of a table of strings, and an odd factor that spreads characters over a hash.
_TABLE_BITS, _FACTOR = 14, np.uint64(0x9E3779B97F4A7C15)
_CHARACTER = np.dtype(np.uint32)


def encoded(label: str, labels: np.ndarray, classes: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes and the index of each label's class; raise ArgumentError for a label of no given class.

    The labels are on the host. Without given ``classes`` the result is that of ``np.unique``.
    """
    if classes is None:
        found = _counted(labels) or _hashed(labels) or np.unique(labels, return_inverse=True)
        if 2 * len(found[0]) > len(labels):
            with OwnErrors(label):
                check_classification_targets(labels)  # warns of so many classes
        return found
    codes = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    unknown = classes[codes] != labels
    if np.any(unknown):
        known = ", ".join(map(repr, classes[:10].tolist())) + (", ..." if len(classes) > 10 else "")
        raise ArgumentError(f"{label}: labels among {known}; got {quoted(labels[unknown][:1].tolist()[0])}")
    return classes, codes


def surely_classes(labels: np.ndarray) -> bool:
    """Return True for labels whose dtype says that they are classes, so that their elements need no check."""
    return labels.dtype.kind in "biuU" or (labels.dtype.kind == "O" and _are_texts(labels))


def _are_texts(labels: np.ndarray) -> bool:
    try:
        return all(type(one) is str for one in dict.fromkeys(labels.tolist()))
    except TypeError:  # elements without a hash
        return False


def _counted(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Return classes and codes of bools, or of integers of a small range, by counting; None for others."""
    if labels.dtype.kind not in "biu" or not labels.size:
        return None
    numbers = labels.view(np.uint8) if labels.dtype.kind == "b" and labels.flags.c_contiguous else labels
    low, high = int(numbers.min()), int(numbers.max())
    if high - low >= _MAX_RANGE:
        return None
    # A difference below the largest range overflows in no dtype of 4 bytes or more.
    numbers = numbers if numbers.itemsize >= 4 else numbers.astype(np.int32)
    lowest = numbers.dtype.type(low)
    if high - low <= 1:  # no table is needed
        values = np.arange(high - low + 1).astype(numbers.dtype) + lowest
        return values.astype(labels.dtype), (labels == high) & (high > low)
    places = (numbers - lowest).astype(np.intp)
    found = np.flatnonzero(np.bincount(places))
    ranks = np.zeros(high - low + 1, np.intp)
    ranks[found] = np.arange(len(found))
    return (found.astype(numbers.dtype) + lowest).astype(labels.dtype), ranks[places]


def _hashed(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Return classes and codes of strings by a table; None for other labels, and for strings that share an entry."""
    if labels.dtype.kind == "O":
        return _hashed_texts(labels) if _are_texts(labels) else None
    if labels.dtype.kind != "U" or not labels.dtype.isnative or not labels.size or not labels.itemsize:
        return None
    characters = np.ascontiguousarray(labels).view(_CHARACTER).reshape(len(labels), -1)
    hashes = characters[:, 0] * _FACTOR
    for k in range(1, characters.shape[1]):
        hashes = (hashes ^ (hashes >> np.uint64(32)) ^ characters[:, k]) * _FACTOR
    entries = (hashes >> np.uint64(64 - _TABLE_BITS)).astype(np.intp)
    owners = np.full(1 << _TABLE_BITS, -1)
    owners[entries] = np.arange(len(labels))
    used = np.flatnonzero(owners >= 0)
    values = labels[owners[used]]
    order = np.argsort(values)
    ranks = np.empty(len(owners), np.intp)
    ranks[used[order]] = np.arange(len(used))
    values, codes = values[order], ranks[entries]
    known = values.view(_CHARACTER).reshape(len(values), -1)
    if all(np.array_equal(characters[:, k], known[:, k][codes]) for k in range(known.shape[1])):
        return values, codes
    return None


def _hashed_texts(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return classes and codes of Python's strings by a dict."""
    texts = labels.tolist()
    values = sorted(dict.fromkeys(texts))
    ranks = {text: rank for rank, text in enumerate(values)}
    return np.array(values, object), np.fromiter(map(ranks.__getitem__, texts), np.intp, len(texts))


def encoded_on_device(labels: Any, device: Device, dtype: np.dtype[Any]) -> tuple[np.ndarray, Any] | None:
    """Return the classes of labels on a device, and the index of each label's class there.

    None if the host must find them: for labels that are not whole numbers.
    """
    given = np.dtype(labels.dtype)
    if given.kind == "b":  # bools have no differences
        labels = map_elements(lambda y: y.astype(np.uint8), labels, device=device)
    if given.kind == "f" and not bool(device.to_host(reduce(labels, map="y == rint(y)", op="all", device=device))):
        return None
    low, high = (int(device.to_host(reduce(labels, op=op, device=device))) for op in ("min", "max"))
    if high - low >= _MAX_RANGE:
        return _sorted(labels, device, dtype)
    first, last = (np.dtype(labels.dtype).type(one) for one in (low, high))
    counts = device.to_host(
        bincount(map_elements(lambda y: (y - first).astype(np.int32), labels, device=device), device=device)
    )
    found = np.flatnonzero(counts)
    if len(found) not in (2, high - low + 1):
        return _sorted(labels, device, dtype)
    values = (found + low).astype(given)
    if len(values) == 2:
        return values, map_elements(lambda y: (y == last).astype(dtype), labels, device=device)
    return values, map_elements(lambda y: (y - first).astype(dtype), labels, device=device)


def _sorted(labels: Any, device: Device, dtype: np.dtype[Any]) -> tuple[np.ndarray, Any]:
    """Return classes and codes of any numbers, by sorting them on the device."""
    values, codes = unique(labels, return_inverse=True, device=device)
    return device.to_host(values), map_elements(lambda c: c.astype(dtype), codes, device=device)
