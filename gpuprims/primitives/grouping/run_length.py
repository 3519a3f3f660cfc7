"""Run-length encoding and decoding."""

from __future__ import annotations

from functools import partial
from typing import Any, Unpack, overload

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.keywords import keywords_of, named_keywords, refuse_keywords
from gpuprims.core.operands import Operands
from gpuprims.core.outputs import Out
from gpuprims.errors import ArgumentError, DtypeError, ShapeError
from gpuprims.expressions import trace
from gpuprims.primitives.beginnings import to_out
from gpuprims.primitives.grouping.by_numpy import DECODED, RUNS, consecutive_by_numpy, repeated_by_numpy
from gpuprims.primitives.grouping.few_calls import FewCalls
from gpuprims.primitives.grouping.flat import flat
from gpuprims.primitives.grouping.indices import index_dtype, numbers, scatter
from gpuprims.primitives.grouping.runs import find_lengths, plan_of_runs
from gpuprims.primitives.map import map as map_arrays
from gpuprims.primitives.reduce import reduce
from gpuprims.primitives.scan import scan
from gpuprims.primitives.signatures import Array, Host, HostArray, Written
from gpuprims.primitives.take import take

_INT64 = np.dtype(np.int64)
# Where a run begins, given its end and its length; -1 for an empty run.
_BEGIN = trace(lambda end, length: np.where(length > 0, end - length.astype(np.int64), -1), 2)


@overload
def run_length_encode(x: Host, **keywords: Unpack[Written]) -> tuple[HostArray, HostArray]: ...
@overload
def run_length_encode(x: Array, **keywords: Unpack[Written]) -> tuple[Array, Array]: ...


@named_keywords
def run_length_encode(x: Any, *, out: Any = None, device: str | Device | None = None, **unknown: Any) -> Any:
    """Return the value and the length of each run of equal neighbours.

    Parameters
    ----------
    x : array_like
        An array of any shape, read in C order.
    out : tuple of arrays, optional
        Where to write values and lengths: arrays on the device of ``x`` that are at least as long as the results, which
        are views of their first elements. By default new arrays.
    device : str or Device, optional
        Where to compute, for host arrays.

    Returns
    -------
    values : array
        The first element of each run, with the dtype of ``x``.
    lengths : array of int64
        The number of elements of each run.

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
    >>> gpuprims.run_length_encode(np.uint8([7, 7, 7, 0, 7]), device="reference")
    (array([7, 0, 7], dtype=uint8), array([3, 1, 1]))
    """
    if unknown:
        refuse_keywords("run_length_encode", keywords_of(run_length_encode), unknown)
    return ENCODING.run((x,), out, device)


def _encoded(operands: Operands, out: Out | None) -> tuple[Any, ...]:
    """Encode by kernels."""
    elements = flat(operands, operands.natives[0])
    found = elements, operands.empty((0,), _INT64)
    if elements.shape[0]:
        found = find_lengths(operands, elements)
    return to_out(operands, found, out, (0, 0))


ENCODING = FewCalls(
    *("run_length_encode", consecutive_by_numpy(inverse=False, counts=True), _encoded),
    few=lambda _: RUNS,
    planned=partial(plan_of_runs, lengths=True),
)


@overload
def run_length_decode(values: Host, lengths: Any, **keywords: Unpack[Written]) -> HostArray: ...
@overload
def run_length_decode(values: Array, lengths: Any, **keywords: Unpack[Written]) -> Array: ...


@named_keywords
def run_length_decode(
    values: Any, lengths: Any, *, out: Any = None, device: str | Device | None = None, **unknown: Any
) -> Any:
    """Repeat each value ``lengths`` times, as :func:`numpy.repeat` does.

    Parameters
    ----------
    values : array_like
        A one-dimensional array.
    lengths : array_like of int
        The number of repetitions of each value. 0 leaves the value out.
    out : array, optional
        Where to write: an array on the device of ``values``, with their dtype, that is at least as long as the result,
        which is a view of its first elements. By default a new array.
    device : str or Device, optional
        Where to compute, for host arrays.

    Returns
    -------
    array
        The repeated values, with the dtype and of the library of ``values``.

    Raises
    ------
    ArgumentError
        A length below 0.
    ShapeError, DtypeError
        Lengths whose shape differs from that of the values; lengths that are not integers.
    ArrayError, DeviceMismatchError
        As :func:`gpuprims.map`.

    Notes
    -----
    A scan of the lengths finds where each run ends. The number of each run is written where the run begins, and a scan
    with ``"max"`` copies it to the rest of the run. A call waits for the length of the result.

    Examples
    --------
    >>> import gpuprims, numpy as np
    >>> gpuprims.run_length_decode(np.uint8([7, 0, 5]), [3, 0, 1], device="reference")
    array([7, 7, 7, 5], dtype=uint8)
    """
    if unknown:
        refuse_keywords("run_length_decode", keywords_of(run_length_decode), unknown)
    return DECODING.run((values, lengths), out, device)


def _decoded(operands: Operands, out: Out | None) -> Any:
    """Decode by kernels."""
    given, repeats = _checked(operands)
    runs, on = int(given.shape[0]), operands.device
    total = _item(operands, reduce(repeats, dtype=_INT64, device=on)) if runs else 0
    if not total:
        return to_out(operands, (operands.empty((0,), given.dtype),), out, (0,))[0]
    ends = scan(repeats, dtype=_INT64, device=on)
    begins = map_arrays(_BEGIN, ends, repeats, device=on)
    places = operands.zeros((total,), index_dtype(runs))
    scatter(numbers(runs, given, on), begins, places, on)
    found = take(given, scan(places, op="max", device=on), mode="clip", device=on)
    return to_out(operands, (found,), out, (0,))[0]


DECODING = FewCalls("run_length_decode", repeated_by_numpy, _decoded, few=lambda _: DECODED)


def _checked(operands: Operands) -> tuple[Any, Any]:
    """Return the values and the lengths, flattened where kernels read them; raise if they are invalid."""
    values, lengths = operands.natives
    if values.ndim != 1 or lengths.shape != values.shape:
        rule = "run_length_decode: one-dimensional values, and a length for each"
        raise ShapeError(f"{rule}; got {values.shape} and {lengths.shape}")
    if lengths.dtype.kind not in "iu" and lengths.size:
        raise DtypeError(f"run_length_decode: lengths of integers; got dtype {lengths.dtype}")
    given, repeats = flat(operands, values), flat(operands, lengths)
    if lengths.size and (lengths.dtype.kind == "i" or lengths.dtype.itemsize == 8):
        least = _item(operands, reduce(repeats, op="min", dtype=_INT64, device=operands.device))
        if least < 0:
            raise ArgumentError(f"run_length_decode: lengths of at least 0, in the range of int64; got {least}")
    return given, repeats


def _item(operands: Operands, number: Any) -> int:
    """Copy a number from the device."""
    return int(operands.to_host(number))
