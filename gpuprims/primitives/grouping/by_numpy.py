"""Distinct elements of few elements by NumPy, with the bits of the kernels."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

import numpy as np

from gpuprims.core.by_numpy import Compute, Few, noticed
from gpuprims.core.layout import contiguous
from gpuprims.core.operands import Operands
from gpuprims.primitives.sort.by_numpy import Wanted, sorts_by_numpy

_FEW = Few(near=2**14, woken=2**16)  # rows: by_numpy


def distinct_by_numpy(operands: Operands, *, index: bool, inverse: bool, counts: bool) -> Compute | None:
    """Return how NumPy finds the distinct elements, and what is wanted beside them; None for many elements."""
    (x,) = operands.natives
    if not operands.in_place or not 0 < x.size <= _FEW.most(operands.driver):
        return None
    find = partial(_distinct, index=index, inverse=inverse, counts=counts)
    return noticed(operands.driver, "unique", find)


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
    begins = np.empty(x.size, np.bool_)
    begins[0] = True
    np.not_equal(ordered[1:], ordered[:-1], begins[1:])
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
