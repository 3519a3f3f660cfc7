"""unique, runs and nonzero of small arrays by NumPy, with the same bits as the kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from gpuprims.core.by_numpy import Compute, Few, noticed
from gpuprims.core.call_keys import Key
from gpuprims.core.layout import contiguous
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.warm_calls import Run, WarmCalls, computing, reads_as_given
from gpuprims.primitives.grouping.indices import index_dtype
from gpuprims.primitives.sort.by_numpy import sorts_by_numpy

FEW, DISTINCT = Few(near=2**14, woken=2**16), Few(near=2**16, woken=2**16)  # rows: by_numpy, by_numpy-distinct
_FEW_BOOLS = Few(near=2**18, woken=2**18)  # rows: by_numpy-bools
# NumPy finds runs, without an inverse, of few elements, and of RUNS whose first _LOOKED have _LONG a run or more.
_FEW_RUNS, RUNS = Few(near=2**16, woken=2**16), Few(near=2**24, woken=2**24)  # rows: runs-long
_LOOKED, _LONG = 2**12, 16  # rows: runs-long
# It repeats few values, and DECODED of mean lengths of _LONG_DECODED or more, up to _MOST_REPEATED elements.
DECODED, _FEW_DECODED, _LONG_DECODED, _MOST_REPEATED = Few(near=2**22, woken=2**22), 2**15, 12, 2**24  # rows: decoded


def takes_few(operands: Operands, few: Few = FEW) -> bool:
    """Return True if NumPy computes a call on arrays as small as these."""
    if not operands.in_place:
        return False
    most = few.most(operands.driver)
    return all(bool(x.shape) and 0 < x.size <= most for x in operands.natives)


def computed_by_numpy(
    operands: Operands, compute: Compute, kernels: Callable[[Operands], Any], warm: WarmCalls, key: Key | None
) -> Any:
    """Compute a call on small arrays with NumPy, now and in later calls with the same key.

    Return NotImplemented if the bits may differ; ``kernels`` then compute later calls.
    """
    label, device = operands.label, operands.device

    def otherwise(arrays: Sequence[Any]) -> Any:
        return kernels(as_operands(label, tuple(arrays), device))

    return computed_and_kept(operands, compute, otherwise, warm, key)


def computed_and_kept(operands: Operands, compute: Compute, otherwise: Run, warm: WarmCalls, key: Key | None) -> Any:
    """Compute a call with NumPy, now and for later ones with the same key; ``otherwise`` runs those it declines."""
    compute = noticed(operands.driver, operands.label, compute)
    if reads_as_given(key, operands):
        warm.keep_run(key, computing(operands.device, compute, otherwise))
    return compute(*operands.natives)


def distinct_by_numpy(operands: Operands, *, index: bool, inverse: bool, counts: bool) -> Compute:
    """Return the function with which NumPy finds the distinct elements, and further results if wanted."""
    (x,), indices = operands.natives, index or inverse
    form = contiguous(x.dtype, (x.size,), 1)
    sorts = sorts_by_numpy(operands.device, "indices" if indices else "keys", -1, False, (form,))
    if sorts is None:
        return lambda x: NotImplemented
    return partial(_distinct, sorts.compute, indices=indices, index=index, inverse=inverse, counts=counts)


def few_places(operands: Operands) -> Few:
    """Return up to how many elements NumPy finds those that are not zero: more of bools along one axis."""
    (x,) = operands.natives
    return _FEW_BOOLS if x.dtype.kind == "b" and x.ndim == 1 else FEW


def places_by_numpy(x: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the indices of nonzero elements, a contiguous array for each axis, unlike NumPy's."""
    return tuple(map(np.ascontiguousarray, x.nonzero()))


def rows_by_numpy(x: np.ndarray) -> np.ndarray:
    """Return a row of indices for each nonzero element."""
    places = x.nonzero()
    rows = np.empty((len(places[0]), x.ndim), np.int64)
    for axis, one in enumerate(places):
        rows[:, axis] = one
    return rows


def consecutive_by_numpy(*, inverse: bool, counts: bool) -> Compute:
    """Return the function with which NumPy finds the values of runs, and further results if wanted."""
    return partial(_consecutive, _FEW_RUNS.near, inverse=inverse, counts=counts)


def _consecutive(few: int, x: np.ndarray, *, inverse: bool, counts: bool) -> Any:
    """Return the values of runs, in a tuple with further results; NotImplemented with NaN, or for many short runs."""
    flat = x.ravel()
    if x.size > few and not _runs_are_long(flat):
        return NotImplemented
    begins = begins_of(flat)
    first = begins.nonzero()[0]
    values = flat.take(first)
    if x.dtype.kind in "fc" and (values != values).any():  # each NaN begins a run
        return NotImplemented
    if not (inverse or counts):
        return values
    ranks = [(begins.cumsum() - 1).reshape(x.shape)] if inverse else []
    return (values, *ranks, *([_lengths(first, x.size)] if counts else []))


def _runs_are_long(x: np.ndarray) -> bool:
    """Return True if the first of many elements lie in long runs, which NumPy finds faster than kernels do."""
    return int(np.count_nonzero(begins_of(x[:_LOOKED]))) * _LONG <= _LOOKED


def repeated_by_numpy(values: np.ndarray, lengths: np.ndarray) -> Any:
    """Repeat values by their lengths; NotImplemented for lengths that are invalid or too large."""
    if lengths.dtype.kind not in "iu" or values.ndim != 1 or lengths.shape != values.shape:
        return NotImplemented
    if np.minimum.reduce(lengths) < 0 or np.maximum.reduce(lengths) > _MOST_REPEATED:
        return NotImplemented
    repeats = lengths.astype(np.int64, copy=False)
    total, few = np.add.reduce(repeats), values.size <= _FEW_DECODED
    takes = total <= _MOST_REPEATED and (few or total >= _LONG_DECODED * values.size)
    return values.repeat(repeats) if takes else NotImplemented


def few_runs(operands: Operands, elements: Any, asked: Sequence[bool]) -> list[Any] | None:
    """Return values, offsets and ranks of the runs of a small array, with None for each that is not asked for.

    Return None if kernels have to find them: in large arrays, and with NaN, which may count as equal.
    """
    few, size = FEW if asked[2] else _FEW_RUNS, elements.size
    if not operands.in_place or not 0 < size <= (few if asked[2] else RUNS).most(operands.driver):
        return None
    if size > few.most(operands.driver) and not _runs_are_long(elements):
        return None
    if elements.dtype.kind in "fc" and (elements != elements).any():
        return None
    found: list[Any] = noticed(operands.driver, "runs", partial(_runs, asked))(elements)
    return found


def _runs(asked: Sequence[bool], x: np.ndarray) -> list[Any]:
    """Compute :func:`few_runs`."""
    begins = begins_of(x)
    first, dtype = begins.nonzero()[0], index_dtype(x.size)
    ranks = begins.cumsum(dtype=dtype) - 1 if asked[2] else None
    values = x.take(first) if asked[0] else None
    return [values, np.append(first, x.size).astype(dtype) if asked[1] else None, ranks]


def _lengths(first: np.ndarray, size: int) -> np.ndarray:
    """Return the lengths of runs, given where they begin and the total; np.diff takes 6 us more."""
    lengths = np.empty_like(first)
    np.subtract(first[1:], first[:-1], lengths[:-1])
    lengths[-1] = size - first[-1]
    return lengths


def begins_of(x: np.ndarray) -> np.ndarray:
    """Return a mask of the elements that differ from the one before, and of the first."""
    begins = np.empty(x.size, np.bool_)
    begins[0] = True
    np.not_equal(x[1:], x[:-1], begins[1:])
    return begins


def _distinct(sorts: Compute, x: np.ndarray, *, indices: bool, index: bool, inverse: bool, counts: bool) -> Any:
    """Return the distinct elements, in a tuple with further results; NotImplemented if bits may differ."""
    flat = x.ravel()
    found: Any = sorts(flat)
    if found is NotImplemented:
        return NotImplemented
    order, ordered = found, flat.take(found) if indices else found
    if ordered[-1] != ordered[-1]:  # NaN may count as equal
        return NotImplemented
    begins = begins_of(ordered)
    first = begins.nonzero()[0]
    results: list[Any] = [ordered.take(first)]
    if not (index or inverse or counts):
        return results[0]
    if index:
        results.append(order.take(first))
    if inverse:
        ranks = np.empty(x.size, np.int64)
        ranks[order] = begins.cumsum() - 1
        results.append(ranks.reshape(x.shape))
    if counts:
        results.append(_lengths(first, x.size))
    return tuple(results)
