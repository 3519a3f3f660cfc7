"""The labels of samples, and the numbers of their classes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from gpuprims.core.device import Device, device_of
from gpuprims.core.operands import as_operands
from gpuprims.errors import quoted
from gpuprims.expressions.masks import refuse_masked
from gpuprims.primitives.histogram import bincount
from gpuprims.primitives.map import map as map_elements
from gpuprims.primitives.reduce import reduce

_LABEL = "LogReg"
# Of labels on a device, numbers between the least and the greatest, at most: each is counted there.
_MOST_NUMBERS = 4096


class Classes(NamedTuple):
    """The classes of some samples: each once, in order, and of each sample the number of its own, on the device."""

    each: np.ndarray
    codes: Any


def resident(array: Any) -> bool:
    """Whether an array lies on a device, in the class of its vendor or of another library."""
    if isinstance(array, np.ndarray) or not (hasattr(array, "__dlpack_device__") or device_of(array) is not None):
        return False
    return device_of(array) is not None or not as_operands(_LABEL, (array,), None).on_host


def to_host(given: Any) -> Any:
    """Return labels or weights on the host; raise for masked arrays."""
    refuse_masked(f"{_LABEL}: labels and weights", given)
    if not resident(given):
        return given
    operands = as_operands(_LABEL, (given,), None)
    return operands.driver.to_host(operands.natives[0])


def host_labels(y: Any, count: int) -> np.ndarray:
    """Check labels, and return them as the host's.

    Raises
    ------
    ValueError
        As many as there are not samples, or such as numbers that are measured.
    """
    labels: np.ndarray = column_or_1d(to_host(y), warn=True)
    if len(labels) != count:
        raise ValueError(f"{_LABEL}: a label for each sample; got {len(labels)} for {count} samples")
    check_classification_targets(labels)
    return labels


def classes_there(y: Any, count: int, device: Device, dtype: np.dtype[Any]) -> Classes | None:
    """Return the classes of labels that lie on the samples' device, found there.

    None where that takes the host: for labels of the host or of another device, such as are no whole numbers, and many
    or scattered ones.
    """
    if not resident(y):
        return None
    operands = as_operands(_LABEL, (y,), None)
    labels = operands.natives[0]
    given = np.dtype(labels.dtype)
    if operands.device is not device or labels.shape != (count,) or given.kind not in "biuf":
        return None
    if given.kind == "b":  # which have no differences
        labels = map_elements(lambda y: y.astype(np.uint8), labels, device=device)
    if given.kind == "f" and not bool(operands.fetch(reduce(labels, map="y == rint(y)", op="all", device=device))):
        return None
    low, high = (int(operands.fetch(reduce(labels, op=op, device=device))) for op in ("min", "max"))
    if high - low >= _MOST_NUMBERS:
        return None
    first = np.dtype(labels.dtype).type(low)
    there = operands.fetch(bincount(map_elements(lambda y: (y - first).astype(np.int32), labels, device=device)))
    numbers = np.flatnonzero(there)
    if len(numbers) not in (2, high - low + 1):
        return None
    each, last = (numbers + low).astype(given), np.dtype(labels.dtype).type(high)
    if len(each) == 2:
        return Classes(each, map_elements(lambda y: (y == last).astype(dtype), labels, device=device))
    return Classes(each, map_elements(lambda y: (y - first).astype(dtype), labels, device=device))


def classes_of(labels: np.ndarray, device: Device, dtype: np.dtype[Any]) -> Classes:
    """Return the classes of the host's labels."""
    each, codes = np.unique(labels, return_inverse=True)
    return Classes(each, _bring(codes, device, dtype))


def codes_of(labels: np.ndarray, each: np.ndarray, device: Device, dtype: np.dtype[Any]) -> Classes:
    """Return known classes and the number of each label's.

    Raises
    ------
    ValueError
        A label that is not among them.
    """
    codes = np.minimum(np.searchsorted(each, labels), len(each) - 1)
    strange = each[codes] != labels
    if np.any(strange):
        known = ", ".join(map(repr, each[:10].tolist())) + (", ..." if len(each) > 10 else "")
        raise ValueError(f"{_LABEL}: labels among {known}; got {quoted(labels[strange][:1].tolist()[0])}")
    return Classes(each, _bring(codes, device, dtype))


def _bring(codes: np.ndarray, device: Device, dtype: np.dtype[Any]) -> Any:
    return device.asarray(np.ascontiguousarray(codes, dtype))
