"""``out=`` of calls whose results have a length that depends on the elements: results fill the beginnings of arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.outputs import Out, as_out
from gpuprims.errors import ArgumentError, DtypeError, LazyArrayError, ShapeError
from gpuprims.primitives.map import map as map_arrays


def to_out(operands: Operands, results: Sequence[Any], out: Out | None, axes: Sequence[int | None]) -> tuple[Any, ...]:
    """Return the results of a call to the caller, in new arrays or in those of ``out=``.

    For each result, ``axes`` has the axis whose length depends on the elements: there the caller's array may be longer,
    and its beginning is returned. It is None for a result whose shape is known, which fills the caller's array.
    """
    if out is None:
        return tuple([operands.to_caller(result) for result in results])
    _check(operands.label, results, out, axes)
    if operands.in_place:
        operands.driver.wait()
    for native, result, axis in zip(out.natives, results, axes, strict=True):
        part = beginning(native, axis, result.shape)
        if operands.on_host:
            np.copyto(part, operands.to_host(result))
        elif result.size:
            map_arrays("x", result, out=part, device=operands.device)
    return beginnings(out, results, axes)


def beginnings(out: Out, results: Sequence[Any], axes: Sequence[int | None]) -> tuple[Any, ...]:
    """Return the parts of the caller's own arrays that have results."""
    given = out.given if out.several else (out.given,)
    return tuple([beginning(*one) for one in zip(given, axes, [result.shape for result in results], strict=True)])


def beginning(array: Any, axis: int | None, shape: Sequence[int]) -> Any:
    """Return the beginning of an array along an axis, as long as a result; without an axis the array itself."""
    return array if axis is None else array[(*[slice(None)] * axis, slice(shape[axis]))]


def copied_to_out(
    label: str,
    arrays: Sequence[Any],
    device: str | Device | None,
    out: Any,
    call: Callable[[], Any],
    *,
    many: int | None = None,
    varies: Callable[[int], int] | None = None,
) -> Any:
    """Return the results of a call without ``out=``, copied to the caller's arrays if there are any.

    ``many`` first results are written, by default all; others are returned as they are. ``varies`` gives the axis of a
    result, from the number of its axes, along which its length depends on the elements.
    """
    if out is None:
        return call()
    try:
        operands = as_operands(label, tuple([array for array in arrays if array is not None]), device, stored=True)
    except LazyArrayError as found:
        raise ArgumentError(f"{label}: no out= for lazy arrays, because results are new ones; got one") from found
    written, results = as_out(operands, out), call()
    several = results if isinstance(results, tuple) else (results,)
    natives = as_operands(label, several[:many], operands.device, stored=True).natives
    axes = [None if varies is None else varies(native.ndim) for native in natives]
    given = to_out(operands, natives, written, axes)
    if isinstance(results, tuple):
        return (*given, *several[len(given) :])
    return given if written is not None and written.several else given[0]


def _check(label: str, results: Sequence[Any], out: Out, axes: Sequence[int | None]) -> None:
    """Raise unless there is an array for each result, of its dtype and of its shape, or longer along its axis."""
    if len(out.natives) != len(results):
        raise ArgumentError(f"{label}: out= {len(results)} array(s), one for each result; got {len(out.natives)}")
    for native, result, axis in zip(out.natives, results, axes, strict=True):
        given, shape = tuple(native.shape), tuple(result.shape)
        if native.dtype != result.dtype:
            rule = f"{label}: out= of the result's dtype, {result.dtype}; got {native.dtype}"
            raise DtypeError(f"{rule} (make it with dtype={result.dtype})")
        if axis is None and given != shape:
            raise ShapeError(f"{label}: out= of the result's shape, {shape}; got {given}")
        fits = len(given) == len(shape) and all(
            have >= need if k == axis else have == need for k, (have, need) in enumerate(zip(given, shape, strict=True))
        )
        if not fits:
            along = "" if len(shape) == 1 else f" along axis {axis}"
            raise ShapeError(f"{label}: out= of the result's shape, {shape}, or longer{along}; got {given}")
