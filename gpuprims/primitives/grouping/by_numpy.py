"""Distinct elements, runs and places of few elements by NumPy, with the bits of the kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from gpuprims.core.by_numpy import Compute, Few, noticed
from gpuprims.core.layout import contiguous
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.warm_calls import Key, WarmCalls, computing
from gpuprims.primitives.grouping.indices import index_dtype
from gpuprims.primitives.sort.by_numpy import Wanted, sorts_by_numpy

_FEW = Few(near=2**14, woken=2**16)  # rows: by_numpy


def takes_few(operands: Operands) -> bool:
    """Return True if NumPy computes a call on an array of so few elements."""
    (x,) = operands.natives
    return operands.in_place and bool(x.shape) and 0 < x.size <= _FEW.most(operands.driver)


def computed_by_numpy(
    operands: Operands, compute: Compute, kernels: Callable[[Operands], Any], warm: WarmCalls, key: Key | None
) -> Any:
    """Let NumPy compute a call on an array of few elements, and later ones with the same key.

    Return NotImplemented if the bits may differ; then ``kernels`` compute it.
    """
    label, device = operands.label, operands.device
    compute = noticed(operands.driver, label, compute)
    if operands.as_given:

        def otherwise(arrays: Sequence[Any]) -> Any:
            return kernels(as_operands(label, tuple(arrays), device))

        warm.keep_run(key, computing(device, compute, otherwise))
    return compute(*operands.natives)


def distinct_by_numpy(*, index: bool, inverse: bool, counts: bool) -> Compute:
    """Return how NumPy finds the distinct elements, and what is wanted beside them."""
    return partial(_distinct, index=index, inverse=inverse, counts=counts)


def places_by_numpy(x: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return for each axis the indices of elements that are not zero. NumPy's of several axes do not lie together."""
    return tuple(map(np.ascontiguousarray, x.nonzero()))


def runs_by_numpy(x: np.ndarray) -> Any:
    """Return the values and lengths of runs; NotImplemented with NaN, which are equal to each other."""
    flat = x.ravel()
    if x.dtype.kind in "fc" and (flat != flat).any():
        return NotImplemented
    first = _begins(flat).nonzero()[0]
    return flat.take(first), np.diff(first, append=x.size)


def few_runs(operands: Operands, elements: Any, asked: Sequence[bool]) -> list[Any] | None:
    """Return the values, the offsets and the ranks of runs of few elements along one axis, None for each not asked for.

    None if kernels are to find them: those of many elements, and of NaN, which may be equal to each other.
    """
    if not operands.in_place or not 0 < elements.size <= _FEW.most(operands.driver):
        return None
    if elements.dtype.kind in "fc" and (elements != elements).any():
        return None
    found: list[Any] = noticed(operands.driver, "runs", partial(_runs, asked))(elements)
    return found


def _runs(asked: Sequence[bool], x: np.ndarray) -> list[Any]:
    """Return what :func:`few_runs` does."""
    begins = _begins(x)
    first, dtype = begins.nonzero()[0], index_dtype(x.size)
    ranks = begins.cumsum(dtype=dtype) - 1 if asked[2] else None
    values = x.take(first) if asked[0] else None
    return [values, np.append(first, x.size).astype(dtype) if asked[1] else None, ranks]


def _begins(x: np.ndarray) -> np.ndarray:
    """Return True for each element that differs from the one before, and for the first."""
    begins = np.empty(x.size, np.bool_)
    begins[0] = True
    np.not_equal(x[1:], x[:-1], begins[1:])
    return begins


@lru_cache(maxsize=256)
def _sorting(wanted: Wanted, dtype: np.dtype[Any], size: int) -> Compute | None:
    """Return how NumPy sorts so many elements, or finds their order, if it does."""
    found = sorts_by_numpy(wanted, -1, False, (contiguous(dtype, (size,), 1),))
    return found and found.compute


def _distinct(x: np.ndarray, *, index: bool, inverse: bool, counts: bool) -> Any:
    """Return the distinct elements, in a tuple if more is wanted beside them; NotImplemented if bits may differ."""
    wanted: Wanted = "indices" if index or inverse else "keys"
    sorts, flat = _sorting(wanted, x.dtype, x.size), x.ravel()
    found: Any = NotImplemented if sorts is None else sorts(flat)
    if found is NotImplemented:
        return NotImplemented
    order, ordered = found, flat.take(found) if wanted == "indices" else found
    if ordered[-1] != ordered[-1]:  # NaN, which a call may take for equal
        return NotImplemented
    begins = _begins(ordered)
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
        results.append(np.diff(first, append=x.size))
    return tuple(results)
