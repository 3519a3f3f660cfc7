"""The right results of calls that order elements, by NumPy's stable sorts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .calls import Call
from .segment_oracles import in_segments

Arrays = Sequence[np.ndarray]


def _order(x: np.ndarray, axis: int | None = -1, *, descending: bool = False) -> np.ndarray:
    """Return the indices of a stable sort; of a descending one, NaN first and equal elements in their order."""
    if not descending:
        return np.argsort(x, axis=axis, kind="stable")
    x, axis = (x.reshape(-1), 0) if axis is None else (x, axis)
    behind = np.flip(np.argsort(np.flip(x, axis), axis=axis, kind="stable"), axis)
    return np.asarray(x.shape[axis] - 1 - behind)


def _sort(call: Call, arrays: Arrays) -> np.ndarray:
    x, axis = arrays[0], call["axis"]
    if len(arrays) > 1:
        segment = np.repeat(np.arange(arrays[1].size - 1), np.diff(arrays[1]))
        return np.asarray(x[np.lexsort((x, segment))])
    kind: Any = "stable" if x.dtype == np.float16 else None  # another sort of NumPy 2.4 leaves float16 out of order
    found = np.sort(x, axis=axis, kind=kind)
    return np.flip(found, 0 if axis is None else axis) if call["descending"] else found


def _argsort(call: Call, arrays: Arrays) -> np.ndarray:
    return _order(arrays[0], call["axis"], descending=call["descending"])


def _sort_by_key(call: Call, arrays: Arrays) -> tuple[np.ndarray, ...]:
    order = _order(arrays[0])
    return tuple(array[order] for array in arrays)


def _top_k(call: Call, arrays: Arrays) -> tuple[np.ndarray, np.ndarray]:
    x, k = arrays[0].reshape(-1) if call["axis"] is None else arrays[0], call["k"]
    order = _order(x, descending=call["largest"])[..., :k]
    return np.take_along_axis(x, order, -1), order


def _quantile(call: Call, arrays: Arrays) -> np.ndarray:
    (x,), axis = arrays, call["axis"]
    if call.function == "median":
        return np.asarray(np.median(x, axis=axis))
    return np.asarray(np.quantile(x, call["q"], axis=axis, method=call["method"]))


def _partition(call: Call, arrays: Arrays) -> np.ndarray:
    """Return the partition that keeps the order of elements on either side."""
    (x,) = arrays
    kind: Any = "stable" if x.dtype == np.float16 else None
    pivot = np.sort(x, kind=kind)[call["kth"]]
    same = np.isnan(x) if x.dtype.kind == "f" and np.isnan(pivot) else x == pivot
    before = ~same if x.dtype.kind == "f" and np.isnan(pivot) else x < pivot
    return np.concatenate([x[before], x[same], x[~(before | same)]])


def _unique(call: Call, arrays: Arrays) -> Any:
    more: dict[str, Any] = {call["more"]: True} if call["more"] else {"return_counts": True}  # not by hashing, slow
    found = np.unique(arrays[0], **more)
    return found if call["more"] else found[0]


def _run_lengths(call: Call, arrays: Arrays) -> tuple[np.ndarray, np.ndarray]:
    (x,) = arrays
    begins = np.concatenate([[0], np.flatnonzero(x[1:] != x[:-1]) + 1])
    return x[begins], np.diff(np.append(begins, x.size))


def _by_key(call: Call, arrays: Arrays) -> np.ndarray:
    x, keys = arrays
    order = _order(keys)
    begins = np.flatnonzero(np.concatenate([[True], np.diff(keys[order]) != 0]))
    found = in_segments(call.function, call["op"], x[order], np.append(begins, x.size))
    if call.function == "reduce":
        return found
    back = np.empty_like(found)
    back[order] = found
    return back


ORACLES: Mapping[str, Callable[[Call, Arrays], Any]] = {
    "sort": _sort,
    "argsort": _argsort,
    "sort_by_key": _sort_by_key,
    "top_k": _top_k,
    "quantile": _quantile,
    "partition": _partition,
    "unique": _unique,
    "run_length_encode": _run_lengths,
    "by_key": _by_key,
    "searchsorted": lambda call, arrays: np.searchsorted(arrays[0], arrays[1], side=call["side"]),
    "isin": lambda call, arrays: np.isin(arrays[0], arrays[1]),
    "merge": lambda call, arrays: np.sort(np.concatenate(arrays), kind="stable"),
    "take": lambda call, arrays: np.take(arrays[0], arrays[1], axis=call["axis"]),
}
# Calls that move elements, and compute none.
EXACT = frozenset(ORACLES) - {"quantile", "by_key"}


def promised(call: Call, result: Any) -> Any:
    """Return what all libraries promise of a result: no order beside a partition's pivot, any of equal elements."""
    if call.primitive == "top_k":
        return result[0]
    if call.primitive == "partition":
        kth = call["kth"]
        sides = np.asarray(result[:kth]), np.asarray(result[kth : kth + 1]), np.asarray(result[kth + 1 :])
        return np.concatenate([np.sort(side, kind="stable") for side in sides])
    return result
