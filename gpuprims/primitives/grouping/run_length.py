"""Run-length encoding: the runs of equal neighbours as values and lengths, and back."""

from __future__ import annotations

from typing import Any, Unpack, overload

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.keywords import keywords_of, named_keywords, refuse_keywords
from gpuprims.core.operands import Operands
from gpuprims.core.outputs import Out
from gpuprims.errors import ArgumentError, DtypeError, ShapeError
from gpuprims.expressions import trace
from gpuprims.primitives.beginnings import to_out
from gpuprims.primitives.grouping.by_numpy import consecutive_by_numpy, repeated_by_numpy
from gpuprims.primitives.grouping.few_calls import FewCalls
from gpuprims.primitives.grouping.flat import flat
from gpuprims.primitives.grouping.indices import index_dtype, numbers, scatter
from gpuprims.primitives.grouping.runs import find_runs
from gpuprims.primitives.grouping.scanned_runs import Wanted
from gpuprims.primitives.map import map as map_arrays
from gpuprims.primitives.reduce import reduce
from gpuprims.primitives.scan import scan
from gpuprims.primitives.signatures import Array, Host, HostArray, Written
from gpuprims.primitives.take import take

_INT64 = np.dtype(np.int64)
# Where a run begins, by its end and its length; nowhere if it is empty.
_BEGIN = trace(lambda end, length: np.where(length > 0, end - length.astype(np.int64), -1), 2)


@overload
def run_length_encode(x: Host, **keywords: Unpack[Written]) -> tuple[HostArray, HostArray]: ...
@overload
def run_length_encode(x: Array, **keywords: Unpack[Written]) -> tuple[Array, Array]: ...


@named_keywords
def run_length_encode(x: Any, *, out: Any = None, device: str | Device | None = None, **unknown: Any) -> Any:
    """Return the runs of equal neighbours: the value and the length of each.

    Parameters
    ----------
    x : array_like
        Of any shape; its elements are taken in C order.
    out : tuple of arrays, optional
        Where to write values and lengths, on the device of ``x``: arrays at least as long as the results, which are
        their beginnings. By default new arrays.
    device : str or Device, optional
        Where to compute, for host arrays.

    Returns
    -------
    values : array
        The first element of each run, of the dtype of ``x``.
    lengths : array of int64
        The number of elements of each run.

    Raises
    ------
    ArrayError, DtypeError, DeviceMismatchError
        As :func:`gpuprims.map`.

    Notes
    -----
    NaN are equal to each other, and -0.0 is equal to 0.0. A call waits for the number of runs.

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
    """Return the values and the lengths of runs."""
    elements = flat(operands, operands.natives[0])
    found = elements, operands.empty((0,), _INT64)
    if elements.shape[0]:
        runs = find_runs(operands, elements, Wanted(values=True, offsets=True))
        found = runs.values, runs.lengths(operands)
    return to_out(operands, found, out, (0, 0))


ENCODING = FewCalls("run_length_encode", consecutive_by_numpy(inverse=False, counts=True), _encoded)


@overload
def run_length_decode(values: Host, lengths: Any, **keywords: Unpack[Written]) -> HostArray: ...
@overload
def run_length_decode(values: Array, lengths: Any, **keywords: Unpack[Written]) -> Array: ...


@named_keywords
def run_length_decode(
    values: Any, lengths: Any, *, out: Any = None, device: str | Device | None = None, **unknown: Any
) -> Any:
    """Repeat each value as often as its length says, as :func:`numpy.repeat` does.

    Parameters
    ----------
    values : array_like
        Of one dimension.
    lengths : array_like of int
        One for each value; 0 leaves the value out.
    out : array, optional
        Where to write, on the device of ``values``: of their dtype, and at least as long as the result, which is its
        beginning. By default a new array.
    device : str or Device, optional
        Where to compute, for host arrays.

    Returns
    -------
    array
        Of the dtype and the library of ``values``.

    Raises
    ------
    ArgumentError
        A length below 0.
    ShapeError, DtypeError
        Lengths of another shape than the values, or that are not integers.
    ArrayError, DeviceMismatchError
        As :func:`gpuprims.map`.

    Notes
    -----
    A scan of the lengths says where each run ends. The number of each run is written where the run begins, and a scan
    takes it to the run's other elements. A call waits for the length of the result.

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
    """Return values, each as often as its length says."""
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


DECODING = FewCalls("run_length_decode", repeated_by_numpy, _decoded)


def _checked(operands: Operands) -> tuple[Any, Any]:
    """Return the values and the lengths where kernels read them; raise if they do not fit."""
    values, lengths = operands.natives
    if values.ndim != 1 or lengths.shape != values.shape:
        rule = "run_length_decode: values of one dimension, and a length for each"
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
    """Wait for a number."""
    return int(operands.to_host(number))
