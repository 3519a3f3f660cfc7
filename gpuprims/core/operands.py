"""The arrays of a call as operands of a kernel, and results as arrays of the caller's library."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from gpuprims.core.device import Device, device_of, pick_device
from gpuprims.core.interop import from_dlpack, reader_of, short
from gpuprims.core.layout import Form, View, cut_array, together
from gpuprims.core.overlaps import same_elements
from gpuprims.core.registry import REGISTRY
from gpuprims.errors import ArrayError, DeviceMismatchError, DtypeError, quoted
from gpuprims.expressions import computable
from gpuprims.expressions.masks import plain_array, refuse_masked

# Bytes that every device takes, so that small calls need not ask how many are free.
_ALWAYS_ROOM = 64 << 20


class Operands:
    """The arrays of one call, ready for a kernel.

    Parameters
    ----------
    label : str
        Which primitive, for messages.
    device : Device
        Where the call runs.
    natives : tuple
        The arrays, as NumPy's or as the device's vendor's.
    on_host : bool
        Whether they are host arrays.
    convert : callable
        From a result, an array of NumPy's or of the device's own class, to one of the caller's library.
    forms : tuple of Form, optional
        Where the elements lie, for arrays that are all on the device.

    Attributes
    ----------
    in_place : bool
        Whether kernels work on the host arrays where they lie.
    plain : bool
        Whether results go back as they are, in work on the device.
    alignment : int
        The address of memory from :meth:`empty` is a multiple of so many bytes.
    """

    __slots__ = (
        *("_forms", "_views", "alignment", "convert", "device", "driver", "in_place", "label", "natives"),
        *("on_host", "plain"),
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
        self.label = label
        self.device = device
        self.driver = device.driver
        self.natives = natives
        self.on_host = on_host
        self.in_place = on_host and device.driver.shares_host_memory
        self.alignment = 1 if self.in_place else 16
        self.convert = convert
        self.plain = not on_host and convert is unchanged
        self._forms = forms
        self._views: tuple[View, ...] | None = None

    @property
    def forms(self) -> tuple[Form, ...]:
        """Where each array's elements lie. The first use copies host arrays to the device, or shares them with it."""
        if self._forms is None:
            self._views = tuple([self._view(array) for array in self.natives])
            self._forms = tuple([view.form for view in self._views])
        return self._forms

    @property
    def memories(self) -> Sequence[Any]:
        """The memory of each array, as kernels take it."""
        if self._forms is None:
            self.forms  # noqa: B018 - copies or shares host arrays
        return self.natives if self._views is None else [view.memory for view in self._views]

    def beside(self, *more: Any) -> Operands:
        """Return these arrays and some more, made by :meth:`empty`."""
        return self.instead(*self.natives, *more)

    def instead(self, *natives: Any) -> Operands:
        """Return other arrays, made by :meth:`empty`, in place of these."""
        return Operands(self.label, self.device, natives, self.on_host, self.convert)

    def _view(self, array: Any) -> View:
        on_host = isinstance(array, np.ndarray)
        if on_host and array.size and not self.in_place:
            return _upload(array, self.device)
        return self.driver.share(array) if on_host and array.size else View(array, self.form(array))

    def form(self, array: Any) -> Form:
        """Return where the elements of an array lie that a kernel can reach."""
        if not array.size:  # no memory to show; the primitives never launch on nothing
            return Form(array.dtype, array.shape, (0,) * array.ndim)
        return self.driver.share(array).form if self.in_place else self.driver.form(array)

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """Allocate a result where the kernel can write it and the caller will want it."""
        return np.empty(shape, dtype) if self.in_place else self.driver.empty(shape, dtype)

    def zeros(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """Allocate as :meth:`empty`, and fill with zeros."""
        return np.zeros(shape, dtype) if self.in_place else self.driver.zeros(shape, dtype)

    def cut(self, result: Any, start: int, shape: tuple[int, ...]) -> Any:
        """Return an array of that shape over elements of a result, which :meth:`empty` gave, from one on."""
        return cut_array(result, start, shape) if self.in_place else self.driver.cut(result, start, shape)

    def to_host(self, result: Any) -> Any:
        """Wait for a result of a call, and return it as a NumPy array or scalar."""
        return result if isinstance(result, np.generic | np.ndarray) else self.driver.to_host(result)

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
        for native, view in zip(self.natives, self._views or (), strict=False):
            if same_elements(self.driver, native, result):  # a scan in place
                return view.memory
        return self.driver.share(result).memory

    def to_caller(self, result: Any) -> Any:
        """Return a result as the caller wants it: complete on the host, perhaps still in work on a device."""
        if self.plain:
            return result
        if self.in_place:
            self.driver.synchronize()
        elif self.on_host:
            result = self.driver.to_host(result)
        return self.as_caller_wants(result)

    def copy_to_caller(self, host: np.ndarray, on_device: Callable[[], Any]) -> Any:
        """Return a copy of an array that this library keeps, where the caller wants results."""
        if self.on_host:
            return self.as_caller_wants(host.copy())
        return self.convert(self.driver.copy(on_device(), host))

    def as_caller_wants(self, result: Any) -> Any:
        """Return a result as an array of the caller's library; a NumPy array without dimensions as a scalar."""
        result = self.convert(result)
        return result[()] if isinstance(result, np.ndarray) and result.ndim == 0 else result

    @property
    def exceed_room(self) -> bool:
        """True for host arrays that the device has no room for, with results and scratch memory.

        Where kernels work in the host's memory, the device's limit holds for each array alone.
        """
        if not self.on_host:
            return False
        wanted: int = sum(native.nbytes for native in self.natives)
        if wanted <= _ALWAYS_ROOM:
            return False
        if self.in_place:
            return any(native.nbytes > self.driver.room for native in self.natives)
        return wanted > self.driver.room // 2

    def as_numpy(self) -> Operands:
        """Leave results of host arrays as NumPy's, for a caller who wants their values alone."""
        self.convert = unchanged
        return self


def as_operands(label: str, arrays: tuple[Any, ...], asked: str | Device | None) -> Operands:
    """Find the device of a call.

    Parameters
    ----------
    label : str
        Which primitive, for messages.
    arrays : sequence
        NumPy arrays and whatever ``numpy.asarray`` takes, CuPy and pyopencl arrays, and any DLPack producer.
    asked : str, Device or None
        The caller's ``device=``.

    Raises
    ------
    ArrayError
        Something that is not an array.
    DtypeError
        An array of objects, strings or dates.
    DeviceMismatchError
        Arrays on two devices, or on another than the one asked for.
    """
    resident = _on_one_device(label, arrays, asked)
    if resident is not None:
        return resident
    natives = [native_of(label, array) for array in arrays]
    found = [(array, device_of(array)) for array in natives]
    for array, device in found:
        if device is None and is_vendors(array):
            raise ArrayError(f"{label}: an array; got {short(array)}")
    places = {device for _, device in found if device is not None}
    if len(places) > 1:
        got = " and ".join(sorted(repr(device) for device in places))
        raise DeviceMismatchError(f"{label}: arrays on one device; got arrays on {got}")
    on = next(iter(places), None)
    if on is not None and any(device is None and not _is_scalar(array) for array, device in found):
        raise DeviceMismatchError(f"{label}: arrays on one device; got a host array beside one on {on!r}")
    device = pick_device(on, asked)
    dtypes = [computable(array.dtype, label) for array in natives if not _is_python_number(array)]
    held = tuple(array if place is not None else _host(label, array, dtypes) for array, place in found)
    return Operands(label, device, held, on is None, converter(label, arrays))


def _on_one_device(label: str, arrays: tuple[Any, ...], asked: str | Device | None) -> Operands | None:
    """Take the short way of most calls: every array already lies on one device, in its vendor's own class."""
    device = device_of(arrays[0])
    if device is None or (asked is not None and Device(asked) is not device):
        return None
    form, forms = device.driver.form, []
    for array in arrays:
        if array is not arrays[0] and device_of(array) is not device:
            return None
        computable(array.dtype, label)
        forms.append(form(array))
    return Operands(label, device, arrays, False, unchanged, tuple(forms))


def _is_python_number(array: Any) -> bool:
    return isinstance(array, bool | int | float | complex)


def is_vendors(array: Any) -> bool:
    """Whether an array is of a backend's own class."""
    return REGISTRY.backend_of(type(array)) is not None


def _is_scalar(array: Any) -> bool:
    return (
        _is_python_number(array) or isinstance(array, np.generic) or (isinstance(array, np.ndarray) and not array.ndim)
    )


def native_of(label: str, array: Any) -> Any:
    """Return a NumPy, CuPy or pyopencl array over the caller's memory, or a Python number as it is."""
    if isinstance(array, np.ndarray):
        refuse_masked(label, array)
        return _checked(label, array)
    if isinstance(array, np.generic) or is_vendors(array) or _is_python_number(array):
        return _checked(label, array)
    if hasattr(array, "__dlpack_device__"):
        return _checked(label, from_dlpack(label, array))
    return _checked(label, plain_array(label, array))


def _checked(label: str, array: Any) -> Any:
    if _is_python_number(array):
        return array
    if not hasattr(array, "dtype"):
        raise ArrayError(f"{label}: an array; got {short(array)}")
    if array.dtype.kind in "OSUTMmV":
        raise DtypeError(f"{label}: an array of numbers or bools; got dtype {array.dtype} ({short(array)})")
    return array


def _host(label: str, array: Any, dtypes: list[np.dtype[Any]]) -> np.ndarray:
    """Return a host array that kernels can walk, in the machine's byte order."""
    if _is_python_number(array):
        array = _number(label, array, dtypes)
    array = np.asarray(array)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return together(array) if array.size else array


def _upload(array: np.ndarray, device: Device) -> View:
    """Copy a host array to a device, each element once: axes along which it repeats itself stay of stride 0."""
    repeats = tuple(stride == 0 and length > 1 for stride, length in zip(array.strides, array.shape, strict=True))
    once = array[(*(slice(0, 1) if repeated else slice(None) for repeated in repeats), ...)]
    copied = device.driver.asarray(once)
    form = device.driver.form(copied)
    strides = tuple(0 if repeated else stride for repeated, stride in zip(repeats, form.strides, strict=True))
    return View(copied, form._replace(shape=array.shape, strides=strides))


def _number(label: str, number: Any, dtypes: list[np.dtype[Any]]) -> np.ndarray:
    """Make an array of a Python number, which takes its dtype from the arrays beside it, as in NumPy."""
    dtype = np.result_type(*dtypes, number)
    try:
        return np.asarray(number, dtype=dtype)
    except OverflowError as error:
        raise DtypeError(f"{label}: a number that {dtype} can hold; got {quoted(number)} ({error})") from error


def converter(label: str, arrays: Sequence[Any]) -> Callable[[Any], Any]:
    """Choose how results go back, by the first array that is not NumPy's."""
    own = (np.ndarray, np.generic)
    foreign = [a for a in arrays if hasattr(a, "__dlpack__") and not isinstance(a, own) and not is_vendors(a)]
    return reader_of(label, foreign[0]) if foreign else unchanged


def unchanged(result: Any) -> Any:
    """Return a result as it is."""
    return result
