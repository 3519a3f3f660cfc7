"""unique_consecutive: the first element of each run of equal neighbours."""

from __future__ import annotations

from functools import cache, partial
from typing import Any, Unpack, overload

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.keywords import check_flags, keywords_of, named_keywords, refuse_keywords
from gpuprims.core.operands import Operands
from gpuprims.core.outputs import Out
from gpuprims.expressions import trace
from gpuprims.primitives.beginnings import to_out
from gpuprims.primitives.grouping.by_numpy import FEW, RUNS, consecutive_by_numpy
from gpuprims.primitives.grouping.few_calls import FewCalls
from gpuprims.primitives.grouping.flat import flat
from gpuprims.primitives.grouping.runs import find_lengths, find_runs, plan_of_runs
from gpuprims.primitives.grouping.scanned_runs import Wanted
from gpuprims.primitives.map import map as map_arrays
from gpuprims.primitives.signatures import Array, Host, HostArray, Written

_INT64 = np.dtype(np.int64)
_AS_INT64 = trace(lambda index: index.astype(np.int64), 1)


@overload
def unique_consecutive(x: Host, **keywords: Unpack[Written]) -> HostArray: ...
@overload
def unique_consecutive(x: Array, **keywords: Unpack[Written]) -> Array: ...
@overload
def unique_consecutive(
    x: Any, return_inverse: bool = False, return_counts: bool = False, **keywords: Unpack[Written]
) -> Any: ...


@named_keywords
def unique_consecutive(
    x: Any,
    return_inverse: bool = False,
    return_counts: bool = False,
    *,
    out: Any = None,
    device: str | Device | None = None,
    **unknown: Any,
) -> Any:
    """Return the first element of each run of equal neighbours, as ``torch.unique_consecutive`` does.

    Parameters
    ----------
    x : array_like
        An array of any shape, read in C order.
    return_inverse : bool, default False
        True to return the number of the run of each element, too.
    return_counts : bool, default False
        True to return the length of each run, too.
    out : array or tuple of arrays, optional
        Where to write, as for :func:`gpuprims.unique`. By default new arrays.
    device : str or Device, optional
        Where to compute, for host arrays.

    Returns
    -------
    array or tuple of arrays
        The first elements of the runs. With ``return_inverse`` or ``return_counts``, a tuple of these, the inverse and
        the counts, as int64. The inverse has the shape of ``x``. Arrays are of the library of ``x``.

    Raises
    ------
    ArrayError, DtypeError, DeviceMismatchError
        As :func:`gpuprims.map`.

    Notes
    -----
    NaN equals NaN, and -0.0 equals 0.0. A call waits for the number of runs. On GPUs a kernel reads each element once,
    and new results are the beginnings of arrays as long as ``x``.

    Examples
    --------
    >>> import gpuprims, numpy as np
    >>> gpuprims.unique_consecutive(np.int32([1, 1, 2, 2, 2, 1]), device="reference")
    array([1, 2, 1], dtype=int32)
    >>> gpuprims.unique_consecutive(np.int32([1, 1, 2]), return_inverse=True, device="reference")
    (array([1, 2], dtype=int32), array([0, 0, 1]))
    """
    if unknown:
        refuse_keywords("unique_consecutive", keywords_of(unique_consecutive), unknown)
    check_flags("unique_consecutive", return_inverse=return_inverse, return_counts=return_counts)
    return consecutive(return_inverse, return_counts).run((x,), out, device)


@cache
def consecutive(return_inverse: bool, return_counts: bool) -> FewCalls:
    """Return the calls with these keywords."""
    compute = consecutive_by_numpy(inverse=return_inverse, counts=return_counts)
    kernels = partial(_by_kernels, return_inverse, return_counts)
    known, few = (1, FEW) if return_inverse else (None, RUNS)
    if return_inverse:
        return FewCalls("unique_consecutive", compute, kernels, known, lambda _: few)
    planned = partial(plan_of_runs, lengths=return_counts)
    return FewCalls("unique_consecutive", compute, kernels, known, lambda _: few, planned)


def _by_kernels(return_inverse: bool, return_counts: bool, operands: Operands, out: Out | None) -> Any:
    elements, shape = flat(operands, operands.natives[0]), operands.natives[0].shape
    given = partial(returned, operands, out=out, inverse=1 if return_inverse else None)
    if not elements.shape[0]:
        shapes = ((shape, return_inverse), ((0,), return_counts))
        return given(elements, [operands.empty(one, _INT64) for one, wanted in shapes if wanted])
    if return_counts and not return_inverse:
        values, counts = find_lengths(operands, elements)
        return given(values, [counts])
    runs = find_runs(operands, elements, Wanted(values=True, offsets=return_counts, ranks=return_inverse))
    results = []
    if return_inverse:
        inverse = map_arrays(_AS_INT64, runs.ranks, device=operands.device)
        results.append(operands.cut(inverse, 0, shape))
    if return_counts:
        results.append(runs.lengths(operands))
    return given(runs.values, results)


def returned(operands: Operands, values: Any, more: list[Any], out: Out | None, inverse: int | None) -> Any:
    """Return one array, or a tuple of several; ``inverse`` is the place of the result whose shape is known."""
    axes = [None if place == inverse else 0 for place in range(1 + len(more))]
    results = to_out(operands, (values, *more), out, axes)
    return results if more else results[0]
