"""Labels of samples, and the code of each one's class."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from gpuprims.core.device import Device
from gpuprims.core.operands import as_operands
from gpuprims.errors import quoted
from gpuprims.models.device_arrays import on_device, to_host
from gpuprims.primitives.histogram import bincount
from gpuprims.primitives.map import map as map_elements
from gpuprims.primitives.reduce import reduce

_LABEL = "LogReg"
# Largest range of integer labels that are counted on a device.
_MAX_RANGE = 4096


class Classes(NamedTuple):
    """The sorted classes, and the code of each sample's class on the device."""

    values: np.ndarray
    codes: Any


def host_labels(y: Any, count: int) -> np.ndarray:
    """Return labels on the host; raise ValueError for a wrong number of them or continuous ones."""
    labels: np.ndarray = column_or_1d(to_host(_LABEL, y), warn=True)
    if len(labels) != count:
        raise ValueError(f"{_LABEL}: a label for each sample; got {len(labels)} for {count} samples")
    check_classification_targets(labels)
    return labels


def find_classes_on_device(y: Any, count: int, device: Device, dtype: np.dtype[Any]) -> Classes | None:
    """Return the classes of labels on the samples' device without copying the labels.

    None if the host must find them: for labels elsewhere, labels that are not integers, and many or scattered classes.
    """
    if not on_device(_LABEL, y):
        return None
    operands = as_operands(_LABEL, (y,), None)
    labels = operands.natives[0]
    given = np.dtype(labels.dtype)
    if operands.device is not device or labels.shape != (count,) or given.kind not in "biuf":
        return None
    if given.kind == "b":  # bools have no differences
        labels = map_elements(lambda y: y.astype(np.uint8), labels, device=device)
    if given.kind == "f" and not bool(operands.to_host(reduce(labels, map="y == rint(y)", op="all", device=device))):
        return None
    low, high = (int(operands.to_host(reduce(labels, op=op, device=device))) for op in ("min", "max"))
    if high - low >= _MAX_RANGE:
        return None
    first, last = (np.dtype(labels.dtype).type(one) for one in (low, high))
    counts = operands.to_host(bincount(map_elements(lambda y: (y - first).astype(np.int32), labels, device=device)))
    found = np.flatnonzero(counts)
    if len(found) not in (2, high - low + 1):
        return None
    values = (found + low).astype(given)
    if len(values) == 2:
        return Classes(values, map_elements(lambda y: (y == last).astype(dtype), labels, device=device))
    return Classes(values, map_elements(lambda y: (y - first).astype(dtype), labels, device=device))


def find_classes(labels: np.ndarray, device: Device, dtype: np.dtype[Any]) -> Classes:
    """Return the classes of labels on the host."""
    values, codes = np.unique(labels, return_inverse=True)
    return Classes(values, device.asarray(np.ascontiguousarray(codes, dtype)))


def encode(labels: np.ndarray, values: np.ndarray, device: Device, dtype: np.dtype[Any]) -> Classes:
    """Return known classes and the codes of labels; raise ValueError for a label of another class."""
    codes = np.minimum(np.searchsorted(values, labels), len(values) - 1)
    unknown = values[codes] != labels
    if np.any(unknown):
        known = ", ".join(map(repr, values[:10].tolist())) + (", ..." if len(values) > 10 else "")
        raise ValueError(f"{_LABEL}: labels among {known}; got {quoted(labels[unknown][:1].tolist()[0])}")
    return Classes(values, device.asarray(np.ascontiguousarray(codes, dtype)))
