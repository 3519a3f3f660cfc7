"""The arrays of a call as operands of a kernel, and results as arrays of the caller's library."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import numpy as np

from gpuprims.core.arrays import (
    NUMBERS,
    NUMPYS,
    begin_upload,
    converter,
    host_array,
    native_of,
    number_array,
    same_elements,
    unchanged,
    upload,
)
from gpuprims.core.device import Device, device_of, pick_device
from gpuprims.core.interop import short
from gpuprims.core.layout import Form, View
from gpuprims.core.memory import cut_array
from gpuprims.errors import ArrayError, DeviceMismatchError
from gpuprims.expressions import computable
from gpuprims.expressions.expr import COMPUTABLE_SET
from gpuprims.expressions.narrow import computed

# The form and the memory of each array.
Placed = tuple[tuple[Form, ...], Sequence[Any]]
# Bytes that every device has room for, so small calls need not ask. From here on the transfers of slabs take so long
# (2 ms) that they gain more by running side by side than the calls on slabs cost (some 0.1 ms each).
_ALWAYS_ROOM = 64 << 20


class Operands:
    """The arrays of one call, ready for a kernel: NumPy's if ``on_host``, else of the device's vendor.

    ``convert`` makes a result an array of the caller's library; ``forms`` are given for arrays on the device.
    """

    __slots__ = (
        *("_shared", "alignment", "convert", "device", "driver", "in_place", "label", "natives", "on_host"),
        *("placed", "plain"),
    )

    def __init__(
        self,
        label: str,
        device: Device,
        natives: tuple[Any, ...],
        on_host: bool,
        convert: Callable[[Any], Any],
        forms: tuple[Form, ...] | None = None,
    ) -> None:
        self.label = label  # the primitive, for messages
        self.device = device
        self.driver = device.driver
        self.natives = natives
        self.on_host = on_host
        self.in_place = on_host and device.driver.shares_host_memory  # kernels work where host arrays lie
        self.alignment = 1 if self.in_place else 16  # bytes, of memory from empty()
        self.convert = convert
        self.plain = not on_host and convert is unchanged  # results go back as they are, perhaps still in work
        self.placed: Placed | None = None if forms is None else (forms, natives)
        self._shared: list[tuple[Any, View]] = []

    @property
    def as_given(self) -> bool:
        """True if kernels read the caller's own arrays, and results need no conversion."""
        return self.plain or (self.in_place and self.convert is unchanged)

    def place(self) -> Placed:
        """Return the arrays as kernels take them; the first call copies or shares host arrays."""
        if self.placed is None:
            view = self._share if self.in_place else self._view
            views = [view(array) for array in self.natives]
            self.placed = tuple([view[1] for view in views]), [view[0] for view in views]
        return self.placed

    @property
    def forms(self) -> tuple[Form, ...]:
        """Where each array's elements lie."""
        return self.place()[0]

    def beside(self, *more: Any) -> Operands:
        """Return these arrays and some more, made by :meth:`empty`."""
        return self.instead(*self.natives, *more)

    def instead(self, *natives: Any) -> Operands:
        """Return other arrays, made by :meth:`empty`, in place of these."""
        return Operands(self.label, self.device, natives, self.on_host, self.convert)

    def _view(self, array: Any) -> View:
        on_host = isinstance(array, np.ndarray)
        return upload(array, self.device) if on_host and array.size else View(array, self.form(array))

    def form(self, array: Any) -> Form:
        """Return the form of an array that a kernel can reach."""
        if not array.size:
            return _nowhere(array)
        return self._share(array).form if self.in_place else self.driver.form(array)

    def _share(self, array: Any) -> View:
        """Share a host array with the device once."""
        for shared, view in self._shared:
            if shared is array:
                return view
        view = self.driver.share(array) if array.size else View(array, _nowhere(array))
        self._shared.append((array, view))
        return view

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """Allocate a result, on the host if kernels work there."""
        return np.empty(shape, dtype) if self.in_place else self.driver.empty(shape, dtype)

    def zeros(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """Allocate as :meth:`empty`, and fill with zeros."""
        return np.zeros(shape, dtype) if self.in_place else self.driver.zeros(shape, dtype)

    def cut(self, result: Any, start: int, shape: tuple[int, ...]) -> Any:
        """Return a view of consecutive elements of a result of :meth:`empty`."""
        return cut_array(result, start, shape) if self.in_place else self.driver.cut(result, start, shape)

    def to_host(self, result: Any) -> Any:
        """Wait for a result, and return it as a NumPy array or scalar."""
        return result if isinstance(result, NUMPYS) else self.driver.to_host(result)

    @contextmanager
    def settled(self) -> Iterator[None]:
        """If kernels work in the host's memory, wait for them before an error frees it."""
        try:
            yield
        except BaseException:
            if self.in_place:
                self.driver.synchronize()
            raise

    def memory(self, result: Any) -> Any:
        """Return the memory of a result, as kernels take it."""
        if not self.in_place:
            return result
        for native in self.natives:
            if np.may_share_memory(native, result) and same_elements(self.driver, native, result):  # a scan in place
                return self._share(native).memory
        return self._share(result).memory

    def to_caller(self, result: Any) -> Any:
        """Return a result to the caller: complete on the host, perhaps still in work on a device."""
        if self.plain:
            return result
        if self.in_place:
            self.driver.wait()
        elif self.on_host:
            result = self.to_host(result)
        return self.as_caller_wants(result)

    def as_caller_wants(self, result: Any) -> Any:
        """Return a result as an array of the caller's library; a NumPy array without dimensions as a scalar."""
        result = self.convert(result)
        return result[()] if isinstance(result, np.ndarray) and result.ndim == 0 else result

    @property
    def exceed_room(self) -> bool:
        """True for host arrays that the device has no room for, with results; in place, for each array alone."""
        if not self.on_host:
            return False
        sizes: list[int] = [native.nbytes for native in self.natives]
        if sum(sizes) <= _ALWAYS_ROOM:
            return False
        return max(sizes) > self.driver.room if self.in_place else sum(sizes) > self.driver.room // 2

    @property
    def gain_by_slabs(self) -> bool:
        """True for host arrays that a device has no room for, or whose results it can return during the upload."""
        if not self.on_host:
            return False
        overlaps = not self.in_place and hasattr(self.driver, "begin_to_host")
        return (overlaps and sum([native.nbytes for native in self.natives]) > _ALWAYS_ROOM) or self.exceed_room

    def with_device_arrays(self, *more: Any) -> Operands:
        """Return these arrays and some of the device, or of the host if kernels work there, in their own forms."""
        if self.in_place:
            return self.beside(*more)
        forms = (*self.forms, *map(self.driver.form, more))
        return Operands(self.label, self.device, (*self.natives, *more), False, unchanged, forms)


def begin_operands(label: str, device: Device, arrays: Sequence[np.ndarray]) -> Callable[[], Operands]:
    """Start to copy host arrays to a device; the function returned waits until they have been read."""
    begun: list[Callable[[], View]] = []
    try:
        begun.extend(
            begin_upload(array, device) if array.size else partial(View, array, _nowhere(array)) for array in arrays
        )
    except BaseException:
        settle(begun)
        raise

    def finish() -> Operands:
        views, left = list[View](), begun[::-1]
        try:
            while left:
                views.append(left.pop()())
        except BaseException:
            settle(left)
            raise
        memories, forms = tuple(view[0] for view in views), tuple(view[1] for view in views)
        return Operands(label, device, memories, False, unchanged, forms)

    return finish


def settle(begun: Iterable[Callable[[], Any]]) -> None:
    """Wait for transfers whose results are not wanted, before their memory is freed."""
    for finish in begun:
        with suppress(Exception):
            finish()


def _nowhere(array: Any) -> Form:
    """Return the form of an empty array, which has no memory; primitives never launch on it."""
    return Form(array.dtype, array.shape, (0,) * array.ndim)


def is_plain(array: Any) -> bool:
    """Return True for a contiguous NumPy array that kernels read as it is; its dtype tells its byte order too."""
    return type(array) is np.ndarray and array.dtype in COMPUTABLE_SET and array.flags.carray


def is_ready(array: Any) -> bool:
    """Return True for a NumPy array that kernels can read as it is, or where it lies if it is strided."""
    if type(array) is not np.ndarray:
        return False
    if is_plain(array):
        return True
    if array.dtype not in COMPUTABLE_SET:
        return False
    flags, item = array.flags, array.itemsize
    reached = sum([abs(stride) * length for stride, length in zip(array.strides, array.shape, strict=True)])
    return flags.aligned and reached <= _ALWAYS_ROOM and not any(stride % item for stride in array.strides)


def as_operands(label: str, arrays: tuple[Any, ...], asked: str | Device | None, *, stored: bool = False) -> Operands:
    """Find the device of a call, for everything that ``numpy.asarray`` takes, vendors' arrays and DLPack producers.

    ``asked`` is the caller's ``device=``. A ``stored`` call takes dtypes that kernels only load and store, too.
    """
    device = device_of(first := arrays[0])
    if device is not None and (asked is None or Device(asked) is device):
        form, forms = device.driver.form, []
        for array in arrays:
            if array is not first and device_of(array) is not device:
                break
            if array.dtype not in COMPUTABLE_SET:
                computable(array.dtype, label, stored=stored)
            forms.append(form(array))
        else:  # most calls: every array lies on one device, in its vendor's own class
            return Operands(label, device, arrays, False, unchanged, tuple(forms))
    if device is None and all(map(is_ready, arrays)):
        device = pick_device(None, asked)
        if device.driver.shares_host_memory or all(array.flags.carray for array in arrays):
            return Operands(label, device, arrays, True, unchanged)
    if any(isinstance(array, NUMBERS) for array in arrays):
        return _beside_numbers(label, arrays, asked, stored=stored)
    natives = [native_of(label, array) for array in arrays]
    places = [device_of(native) for native in natives]
    on = next(filter(None, places), None)
    for native, place in zip(natives, places, strict=True):
        if place is None:
            if not isinstance(native, NUMPYS):
                raise ArrayError(f"{label}: an array; got {short(native)}")
            if on is not None and native.ndim:
                rule = f"{label}: arrays on one device"
                raise DeviceMismatchError(f"{rule}; got a host array beside one on {on!r}")
        elif place is not on:
            got = " and ".join(sorted({repr(one) for one in places if one is not None}))
            raise DeviceMismatchError(f"{label}: arrays on one device; got arrays on {got}")
    device = pick_device(on, asked)
    for k, place in enumerate(places):
        computable(natives[k].dtype, label, stored=stored)
        if place is None:
            natives[k] = host_array(natives[k], device)
    return Operands(label, device, tuple(natives), on is None, converter(label, arrays))


def _beside_numbers(label: str, arrays: tuple[Any, ...], asked: str | Device | None, *, stored: bool) -> Operands:
    """Return operands with Python's numbers among them. These take their dtypes from the arrays, as in NumPy."""
    rest = tuple([array for array in arrays if not isinstance(array, NUMBERS)])
    if not rest:
        return as_operands(label, tuple([number_array(label, number, []) for number in arrays]), asked)
    operands = as_operands(label, rest, asked, stored=stored)
    dtypes, left = [computed(native.dtype) for native in operands.natives], iter(operands.natives)
    return operands.instead(
        *[number_array(label, array, dtypes) if isinstance(array, NUMBERS) else next(left) for array in arrays]
    )
