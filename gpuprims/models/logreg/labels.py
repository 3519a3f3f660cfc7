"""The classes of labels and the index of each label's class, found without sorting the labels where possible."""

from __future__ import annotations

from collections import defaultdict
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from gpuprims.core.c_modules import CModule
from gpuprims.core.device import Device
from gpuprims.errors import ArgumentError, quoted
from gpuprims.models.checks import OwnErrors
from gpuprims.models.logreg.distinct_rows import few_kinds
from gpuprims.primitives.grouping.unique import unique
from gpuprims.primitives.histogram import bincount
from gpuprims.primitives.map import map as map_elements
from gpuprims.primitives.reduce import reduce

# Largest range of integer labels that are counted.
_MAX_RANGE = 4096
_CHARACTER, _WORD = np.dtype(np.uint32), np.dtype(np.uint64)
# All objects are looked up by address if fewer than half of this many first ones are distinct.
_SAMPLE = 1024
TEXTS = CModule(Path(__file__).with_name("texts.c"), in_calls=False)


def encoded(label: str, labels: np.ndarray, classes: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes and the index of each label's class; raise ArgumentError for a label that is no given class.

    The labels are on the host. Without given ``classes`` the result is that of ``np.unique``.
    """
    if classes is None:
        found = _counted(labels) or _hashed(labels) or _sorted_on_host(label, labels)
        if has_many_classes(*found):
            with OwnErrors(label):
                check_classification_targets(labels)  # warns of so many classes
        return found
    codes = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    unknown = classes[codes] != labels
    if np.any(unknown):
        known = ", ".join(map(repr, classes[:10].tolist())) + (", ..." if len(classes) > 10 else "")
        raise ArgumentError(f"{label}: labels among {known}; got {quoted(labels[unknown][:1].tolist()[0])}")
    return classes, codes


def _sorted_on_host(label: str, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return classes and codes of any labels; raise ArgumentError for objects that cannot be classes."""
    if labels.dtype.kind == "O":
        with OwnErrors(label):
            check_classification_targets(labels)
    values, codes = np.unique(labels, return_inverse=True)
    return values, codes


def has_many_classes(values: np.ndarray, codes: np.ndarray) -> bool:
    """Return True if labels may be measurements, as more than half of them are distinct."""
    return 2 * len(values) > len(codes)


def surely_classes(labels: np.ndarray) -> bool:
    """Return True for labels whose dtype says that they are classes; :func:`encoded` checks Python's objects."""
    return labels.dtype.kind in "biuUO"


def encoded_texts(labels: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the classes and codes of a list or tuple of strings alone; None for anything else.

    The list is not converted to an array, which takes longer than the rest.
    """
    if type(labels) not in (list, tuple) or not labels or not isinstance(labels[0], str):
        return None
    TEXTS.ask()
    if TEXTS.calls is not None:
        found = TEXTS.calls.kinds(labels)
    else:
        found = _kinds_by_python(np.array(labels, object)) if {*map(type, labels)} == {str} else None
    if found is None:
        return None
    values, codes = _in_order(np.array(found[0], object), found[1])
    texts = values.astype(str)
    return (texts, codes) if texts.tolist() == values.tolist() else None  # without a null character at their end


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
    """Return classes and codes of strings by hashing; None for other labels, and for many distinct strings."""
    if labels.dtype.kind == "O":
        return _hashed_objects(labels) if labels.size else None
    if labels.dtype.kind != "U" or not labels.dtype.isnative or not labels.size or not labels.itemsize:
        return None
    own = np.ascontiguousarray(labels)
    found = few_kinds(own.view(_WORD if own.itemsize % _WORD.itemsize == 0 else _CHARACTER).reshape(len(own), -1))
    return None if found is None else _in_order(found[0].reshape(-1).view(own.dtype), found[1])


def _in_order(values: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return sorted classes and their codes, for values in any order."""
    order = np.argsort(values)
    ranks = np.empty(len(order), np.intp)
    ranks[order] = np.arange(len(order))
    return values[order], ranks[codes]


def _hashed_objects(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Return classes and codes of Python's strings; None if there are other objects."""
    kept = np.ascontiguousarray(labels)
    TEXTS.ask()
    found = _kinds_by_python(kept) if TEXTS.calls is None else TEXTS.calls.kinds(kept)
    return None if found is None else _in_order(np.array(found[0], object), found[1])


def _kinds_by_python(objects: np.ndarray) -> tuple[list[str], np.ndarray] | None:
    """Return the distinct strings and the number of each object's kind; None if there are other objects.

    Labels often share few objects, whose addresses are hashed in place of their texts.
    """
    addresses = np.ndarray((len(objects), 1), np.uintp, buffer=objects)  # objects stay where they are
    few = len({*addresses[:_SAMPLE, 0].tolist()}) < min(len(objects), _SAMPLE) / 2
    found = few_kinds(addresses) if few else None
    try:
        if found is None:
            kinds, codes = _looked_up(objects)
        else:
            kinds, codes = _looked_up(objects[_place_of_each(found[1], len(found[0]))])
            codes = codes[found[1]]
    except TypeError:  # an object without a hash
        return None
    return (kinds, codes) if all(type(one) is str for one in kinds) else None


def _place_of_each(numbers: np.ndarray, count: int) -> np.ndarray:
    """Return a place of each number below ``count``; every one occurs."""
    places, end = np.full(count, -1), 0
    while (places < 0).any():
        begin, end = end, min(4 * end + _SAMPLE, len(numbers))
        places[numbers[begin:end]] = np.arange(begin, end)
    return places


def _looked_up(objects: np.ndarray) -> tuple[list[Any], np.ndarray]:
    """Return the kinds of objects in the order of their first ones, and the kind of each, found in a dict."""
    numbers: defaultdict[Any, int] = defaultdict(count().__next__)
    codes = np.fromiter(map(numbers.__getitem__, objects.tolist()), np.intp, len(objects))
    return list(numbers), codes


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
