"""Results of a call, and the caller's arrays for them: ``out=``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from operator import is_
from typing import Any

import numpy as np

from gpuprims.core.arrays import (
    converter,
    meet,
    native_of,
    overlap,
    repeats,
    same_elements,
    span_of,
    unchanged,
)
from gpuprims.core.device import device_of
from gpuprims.core.interop import check_writable, short
from gpuprims.core.layout import Form
from gpuprims.core.operands import Operands
from gpuprims.errors import ArgumentError, DeviceMismatchError, DtypeError, ShapeError
from gpuprims.expressions.masks import refuse_masked


@dataclass(slots=True, eq=False)
class Out:
    """The arrays of the caller's ``out=``, as NumPy's or the vendor's.

    ``_order`` reads one by DLPack, so that the caller's library waits for the work in the device's queue.
    """

    natives: tuple[Any, ...]
    _given: Any
    _order: Callable[[Any], Any] | None = None

    @property
    def is_bare(self) -> bool:
        """True if the caller's arrays are NumPy's or the vendor's own."""
        given = self._given if isinstance(self._given, tuple) else (self._given,)
        return self._order is None and all(map(is_, self.natives, given))

    def as_arrays(self) -> Out:
        """Return the arrays as if the caller had passed NumPy's or the vendor's own."""
        return Out(self.natives, self.natives if self.several else self.natives[0])

    @property
    def several(self) -> bool:
        """True if the caller passes a tuple of arrays, and gets one back."""
        return isinstance(self._given, tuple)

    @property
    def given(self) -> Any:
        """The caller's own arrays. Read it once the work that writes them is in the queue."""
        if self._order is not None:
            for native in self.natives:
                self._order(native)
        return self._given


def as_out(operands: Operands, out: Any, *, in_place: bool = False) -> Out | None:
    """Check that the arrays of ``out=`` can be written and do not overlap; ``in_place`` ones may be an input."""
    if out is None:
        return None
    label, given = operands.label, out if isinstance(out, tuple) else (out,)
    natives = tuple([_writable(operands, array) for array in given])
    _check_memory(operands, natives, in_place=in_place)
    if operands.on_host:
        return Out(natives, out)
    order = unchanged if all(map(is_, natives, given)) else converter(label, given)
    order = operands.convert if order is unchanged else order
    return Out(natives, out, None if order is unchanged else order)


def _writable(operands: Operands, array: Any) -> Any:
    """Return a caller's array as NumPy's or the vendor's, or raise if kernels of the call cannot write to it."""
    place, native, label = device_of(array), array, operands.label
    if place is None and type(array) is not np.ndarray:
        native = _native(label, array)
        place = device_of(native)
    if place is not (here := None if operands.on_host else operands.device):
        where, got = ("the host" if one is None else repr(one) for one in (here, place))
        raise DeviceMismatchError(f"{label}: out= on {where}, as the arrays are; got one on {got}")
    if operands.on_host and not (isinstance(native, np.ndarray) and native.flags.writeable):
        raise ArgumentError(
            f"{label}: out= an array that can be written; got a read-only one of shape {native.shape} (pass a copy)"
        )
    return native


def _native(label: str, array: Any) -> Any:
    if not hasattr(array, "__dlpack__"):
        raise ArgumentError(
            f"{label}: out= an array, or a tuple of arrays; got {short(array)} (make one with np.empty(shape, dtype))"
        )
    refuse_masked(f"{label}: out=", array)
    check_writable(label, array)
    native = native_of(label, array)
    if isinstance(native, np.ndarray) and native is not array and not native.flags.writeable:
        # Before DLPack 1.0 a producer could not say that its memory may be written; the library's __array__ can.
        view = np.asarray(array)
        if view.flags.writeable and view.ctypes.data == native.ctypes.data:
            return view
    return native


def _check_memory(operands: Operands, natives: Sequence[Any], *, in_place: bool) -> None:
    label, driver = operands.label, operands.driver
    spans = [span_of(driver, native) for native in natives]
    inputs = [span_of(driver, array) for array in operands.natives]
    for native, span in zip(natives, spans, strict=True):
        if repeats(native):
            raise ArgumentError(
                f"{label}: out= an array with a place for each element; got one of shape {native.shape} that"
                f" repeats elements, by strides {native.strides} (copy it, such as with .copy() or .contiguous())"
            )
        for array, other in zip(operands.natives, inputs, strict=True):
            if meet(span, other) and not (in_place and _is_input(driver, array, native)):
                rule = "apart from the arrays in memory" + (", or one of them" if in_place else "")
                raise ArgumentError(f"{label}: out= {rule}; got one that overlaps an input (pass a copy)")
    for k, m in combinations(range(len(natives)), 2):
        if overlap(spans[k], natives[k], spans[m], natives[m]):
            raise ArgumentError(
                f"{label}: out= arrays that do not overlap each other; got numbers {k} and {m}, which do"
                " (pass a separate array for each result)"
            )


def _is_input(driver: Any, array: Any, native: Any) -> bool:
    """Return True for an input's elements. Compilers take memory of two dtypes for separate memory."""
    return array.dtype == native.dtype and same_elements(driver, array, native)


def shares_elements(operands: Operands, out: Out | None) -> bool:
    """Return True if an array of ``out=`` has the elements of an input."""
    if out is None:
        return False
    spans = [span_of(operands.driver, array) for array in operands.natives]
    return any(meet(span_of(operands.driver, native), span) for native in out.natives for span in spans)


def check_out(label: str, results: Sequence[Any], given: Sequence[Any]) -> None:
    """Raise unless there is one ``out=`` array for each result, of its shape and dtype."""
    if len(given) != len(results):
        raise ArgumentError(f"{label}: out= {len(results)} array(s), one for each result; got {len(given)}")
    for array, result in zip(given, results, strict=True):
        if array.shape != result.shape:
            raise ShapeError(f"{label}: out= of the result's shape, {result.shape}; got {array.shape}")
        if array.dtype != result.dtype:
            raise DtypeError(
                f"{label}: out= of the result's dtype, {result.dtype}; got {array.dtype}"
                f" (make it with dtype={result.dtype})"
            )


def fits(given: Form, planned: Form) -> bool:
    """Return True if a launch for a planned form can run on a given one: the same, aligned as well or better."""
    if 0 in planned.shape:  # no memory, so strides do not matter
        return given[:2] == planned[:2]
    as_well = given.alignment >= planned.alignment and given.phase == planned.phase
    better = given.divides_address >= planned.divides_address and min(planned.strides, default=0) >= 0
    return given[:4] == planned[:4] and (as_well or better)


def written_forms(operands: Operands, out: Out | None) -> tuple[Form, ...] | None:
    """Return the forms of the caller's arrays that a kernel writes to; None if it writes to new memory."""
    if out is None or (operands.on_host and not operands.in_place):
        return None
    return tuple([operands.form(native) for native in out.natives])


def result_forms(label: str, results: Sequence[Form], written: Sequence[Form] | None) -> Sequence[Form]:
    """Return the forms that a kernel writes to: the caller's arrays, which must fit, or new memory."""
    if written is None:
        return results
    check_out(label, results, written)
    return written


def host_results(operands: Operands, results: Sequence[np.ndarray], out: Out | None, *, single: bool) -> Any:
    """Return host results, or copy them to the caller's arrays."""
    if out is not None:
        check_out(operands.label, results, out.natives)
        for array, result in zip(out.natives, results, strict=True):
            np.copyto(array, result)
        return out.given
    wanted = tuple(operands.as_caller_wants(result) for result in results)
    return wanted[0] if single else wanted


def each_result(function: Callable[[Any], Any], results: Any) -> Any:
    """Apply a function to the one result, or to each of several."""
    return tuple(map(function, results)) if isinstance(results, tuple) else function(results)
