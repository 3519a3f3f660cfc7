"""Row offsets of a call, and the marks of segments that scan kernels read instead."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.kernel_spec import KernelSpec
from gpuprims.core.layout import Form, View, plan_layout
from gpuprims.core.operands import Operands
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.registry import REGISTRY
from gpuprims.core.traits import CallTraits
from gpuprims.errors import ShapeError
from gpuprims.expressions import Expr, trace, typed
from gpuprims.primitives.map import map as map_arrays
from gpuprims.primitives.segments.offsets import as_offsets

_BOOL, _INT64 = np.dtype(np.bool_), np.dtype(np.int64)


class Segments:
    """Row offsets, checked, and the marks of their segments.

    Parameters
    ----------
    offsets : array_like of int
        The first element of each segment, followed by the number of elements.
    operands : Operands
        The arrays with the elements.
    size : int
        The number of elements.

    Attributes
    ----------
    count : int
        The number of segments.
    longest : int
        Elements of the longest segment.
    has_empty : bool
        Whether a segment has no elements.
    """

    def __init__(self, offsets: Any, operands: Operands, size: int) -> None:
        self.size = size
        self._array, shortest, self.longest = as_offsets(operands.label, offsets, operands, size)
        self.count = int(self._array.size) - 1
        self.has_empty = self.count > 0 and shortest == 0
        self._operands = operands

    @cached_property
    def offsets(self) -> Any:
        """The offsets on the device, or on a host that shares its memory."""
        on_host = isinstance(self._array, np.ndarray) and not self._operands.in_place
        return self._operands.driver.asarray(self._array) if on_host else self._array

    def kept(self, *, apart: bool) -> Any:
        """Return the offsets; with ``apart`` a copy, because kernels may write to the caller's memory."""
        if not apart:
            return self.offsets
        device = self._operands.device
        return self.offsets.copy() if self._operands.in_place else map_arrays("x", self.offsets, device=device)

    def heads(self) -> Any:
        """Return an array of bools, True where a segment begins."""
        return self._marks(_TRUE, _beginnings, _BOOL)

    def ends(self) -> Any:
        """Return an array with the number of each segment, counted from 1, at its last element, and 0 elsewhere."""
        return self._marks(_NUMBER, _endings, end_dtype(self.count))

    def fill(self, form: Form, memory: Any, value: Any) -> None:
        """Write a value to all elements of an array on the device."""
        self._write(trace(lambda first, second, j: value, 3), _everywhere, form, memory)

    def _marks(self, function: Expr, places: Callable[..., Any], dtype: np.dtype[Any]) -> Any:
        marks = self._operands.zeros((self.size,), dtype)
        form, memory = self._operands.form(marks), self._operands.memory(marks) if self.size else None
        self._write(function, places, form, memory)
        return marks

    def _write(self, function: Expr, places: Callable[..., Any], form: Form, memory: Any) -> None:
        """Write a function of each segment's number to the place given by its offsets, or a constant everywhere."""
        if form.shape[0]:
            launch = _writer(function, places, self._shown.form, form, self._operands.device, REGISTRY.generation)
            launch([self._shown.memory, self._shown.memory, memory])

    @cached_property
    def _shown(self) -> View:
        """The form and the memory of the offsets on the device."""
        driver = self._operands.driver
        return driver.share(self.offsets) if self._operands.in_place else View(self.offsets, driver.form(self.offsets))


def end_dtype(count: int) -> np.dtype[Any]:
    """Return the dtype of :meth:`Segments.ends` for a number of segments."""
    return np.dtype(np.int32 if count < 2**31 else np.int64)


_TRUE = trace(lambda first, second, j: True, 3)
_NUMBER = trace(lambda first, second, j: j + 1, 3)


def _everywhere(value: Any, j: Any, first: Any, second: Any) -> Any:
    return j


def _beginnings(value: Any, j: Any, first: Any, second: Any) -> Any:
    return np.where(first < second, first, -1)


def _endings(value: Any, j: Any, first: Any, second: Any) -> Any:
    return np.where(first < second, second - 1, -1)


@keeps_calls()
def _writer(
    function: Expr, places: Callable[..., Any], offsets: Form, target: Form, device: Device, generation: int
) -> Any:
    """Return a launch of map over pairs of neighbouring offsets, or with ``_everywhere`` over the target's elements."""
    every = places is _everywhere
    size = target.shape[0] if every else offsets.shape[0] - 1
    stride = 0 if every else offsets.strides[0]
    first = offsets._replace(shape=(size,), strides=(stride,))
    second = first._replace(offset=first.offset + stride)
    shape, (inputs, targets) = along_one_axis((first, second), (target,))
    layout = plan_layout((*inputs, *targets), shape, (0,))
    numbers = _INT64, _INT64, _INT64
    map_ = typed(function, numbers, (target.dtype,))
    finish = typed(trace(lambda value, *_: value, 4), (target.dtype, *numbers), (target.dtype,))
    place = typed(trace(places, 4), (target.dtype, *numbers), (_INT64,))
    chosen = device.select("map", CallTraits((_INT64, target.dtype), 1, size, value_bytes=target.dtype.itemsize))
    accesses = layout.accesses
    spec = KernelSpec(accesses[:2], accesses[2:], (target.dtype,), map_, finish, place=place)
    groups = chosen.groups(-(-size // chosen.tile), device.capabilities)
    return device.kernel(chosen, spec).prepare(groups, layout.pack(0), size)


def along_one_axis(*groups: Sequence[Form]) -> tuple[tuple[int], list[list[Form]]]:
    """Lay one-dimensional arrays of any lengths along one axis: layouts have the strides, kernels know the lengths."""
    lengths = [form.shape[0] for forms in groups for form in forms if form.shape]
    shape = (max(2, *lengths),)  # layouts keep no stride for an axis of one element
    return shape, [[form._replace(shape=shape) if form.shape else form for form in forms] for forms in groups]


def flat_size(operands: Operands) -> int:
    """Return the common length of one-dimensional arrays, or raise."""
    shapes = {native.shape for native in operands.natives if native.shape}
    if len(shapes) != 1 or len(next(iter(shapes))) != 1:
        got = " and ".join(str(native.shape) for native in operands.natives)
        raise ShapeError(f"{operands.label}: arrays of one dimension and one length with segments=; got {got}")
    return int(next(iter(shapes))[0])
