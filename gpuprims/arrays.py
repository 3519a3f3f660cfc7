"""Same type in, same type out: the caller's arrays as operands, and results as arrays of the caller's library."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpuprims.device import Device, device_of, pick_device
from gpuprims.errors import ArrayError, DeviceMismatchError, DtypeError
from gpuprims.expressions import computable
from gpuprims.layout import Form, View
from gpuprims.registry import REGISTRY

# DLPack's device types (dlpack.h) of memory that the host reads: its own, and CUDA's pinned memory.
_DLPACK_HOST = (1, 3)


@dataclass(frozen=True)
class Operands:
    """The arrays of one call, ready for a kernel.

    Parameters
    ----------
    device : Device
        Where the call runs.
    views : tuple of View
        One for each array, in order.
    on_host : bool
        Whether the caller's arrays are host arrays.
    convert : callable
        From a result, an array of NumPy's or of the device's own class, to one of the caller's library.
    """

    device: Device
    views: tuple[View, ...]
    on_host: bool
    convert: Callable[[Any], Any]

    @property
    def forms(self) -> tuple[Form, ...]:
        """Where each array's elements lie."""
        return tuple(view.form for view in self.views)

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """Allocate a result where the kernel can write it and the caller will want it."""
        if self._in_place:
            return np.empty(shape, dtype)
        return self.device.driver.empty(shape, dtype)

    def view(self, result: Any) -> View:
        """See a result as an operand."""
        if self._in_place:
            return self.device.driver.share(result)
        return self.device.driver.view(result)

    def finish(self, result: Any) -> Any:
        """Return a result as the caller wants it: complete on the host, perhaps still in work on a device."""
        if self._in_place:
            self.device.synchronize()
        elif self.on_host:
            result = self.device.driver.download(result)
        return self.convert(result)

    @property
    def _in_place(self) -> bool:
        return self.on_host and self.device.driver.shares_host_memory


def as_operands(label: str, arrays: Sequence[Any], asked: str | Device | None) -> Operands:
    """Find the device of a call and bring its arrays there.

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
        An array of objects, strings, dates or complex numbers.
    DeviceMismatchError
        Arrays on two devices, or on another than the one asked for.
    """
    resident = _on_one_device(label, arrays, asked)
    if resident is not None:
        return resident
    natives = [_native(label, array) for array in arrays]
    found = [(array, device_of(array)) for array in natives]
    for array, device in found:
        if device is None and _is_vendors(array):
            raise ArrayError(f"{label}: an array; got {_short(array)}")
    places = {device for _, device in found if device is not None}
    if len(places) > 1:
        got = " and ".join(sorted(repr(device) for device in places))
        raise DeviceMismatchError(f"{label}: arrays on one device; got arrays on {got}")
    on = next(iter(places), None)
    if on is not None and any(device is None and not _is_scalar(array) for array, device in found):
        raise DeviceMismatchError(f"{label}: arrays on one device; got a host array beside one on {on!r}")
    device = pick_device(on, asked)
    dtypes = [computable(array.dtype, label) for array in natives if not _is_python_number(array)]
    share = on is None and device.driver.shares_host_memory
    views = tuple(
        device.driver.view(array) if place is not None else _upload(label, array, device, dtypes, share)
        for array, place in found
    )
    return Operands(device, views, on is None, _converter(arrays))


def _on_one_device(label: str, arrays: Sequence[Any], asked: str | Device | None) -> Operands | None:
    """Take the short way of most calls: every array already lies on one device, in its vendor's own class."""
    device = device_of(arrays[0])
    if device is None or (asked is not None and Device(asked) is not device):
        return None
    if any(device_of(array) is not device for array in arrays[1:]):
        return None
    for array in arrays:
        computable(array.dtype, label)
    return Operands(device, tuple([device.driver.view(array) for array in arrays]), False, _unchanged)


def _is_python_number(array: Any) -> bool:
    return isinstance(array, bool | int | float)


def _is_vendors(array: Any) -> bool:
    """Whether an array is of a backend's own class."""
    return REGISTRY.backend_of(type(array)) is not None


def _is_scalar(array: Any) -> bool:
    return isinstance(array, bool | int | float | np.generic) or (isinstance(array, np.ndarray) and array.ndim == 0)


def _native(label: str, array: Any) -> Any:
    """Return a NumPy, CuPy or pyopencl array over the caller's memory, or a Python number as it is."""
    if isinstance(array, np.ndarray | np.generic) or _is_vendors(array) or _is_python_number(array):
        return _checked(label, array)
    if hasattr(array, "__dlpack_device__"):
        return _from_dlpack(label, array)
    try:
        return _checked(label, np.asarray(array))
    except ValueError as error:  # ragged lists
        raise ArrayError(
            f"{label}: an array, or nested lists of equal length; got {_short(array)} ({error})"
        ) from error


def _checked(label: str, array: Any) -> Any:
    if _is_python_number(array):
        return array
    if not hasattr(array, "dtype"):
        raise ArrayError(f"{label}: an array; got {_short(array)}")
    if array.dtype.kind in "OSUTMmVc":
        raise DtypeError(f"{label}: an array of numbers or bools; got dtype {array.dtype} ({_short(array)})")
    return array


def _from_dlpack(label: str, array: Any) -> Any:
    kind = int(array.__dlpack_device__()[0])
    plain = array.detach() if hasattr(array, "detach") else array  # torch: without the record of gradients
    if kind in _DLPACK_HOST:
        return _checked(label, np.from_dlpack(plain))
    for name in REGISTRY.backend_names:
        backend = REGISTRY.backend(name)
        if backend.dlpack_device == kind:
            return _checked(label, backend.from_dlpack(plain))
    raise ArrayError(f"{label}: a DLPack array in host or CUDA memory; got device type {kind} ({_short(array)})")


def _short(value: Any) -> str:
    text = repr(value).replace("\n", " ")
    return f"{type(value).__name__} {text if len(text) <= 60 else text[:57] + '...'}"


def _upload(label: str, array: Any, device: Device, dtypes: list[np.dtype[Any]], share: bool) -> View:
    if _is_python_number(array):
        array = _number(label, array, dtypes)
    array = np.asarray(array)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if array.size == 0:  # no memory to show; the primitives never launch on nothing
        return View(None, Form(array.dtype, array.shape, (0,) * array.ndim, 0))
    return device.driver.share(array) if share else device.driver.view(device.driver.asarray(array))


def _number(label: str, number: Any, dtypes: list[np.dtype[Any]]) -> np.ndarray:
    """Make an array of a Python number, which takes its dtype from the arrays beside it, as in NumPy."""
    dtype = np.result_type(*dtypes, number)
    try:
        return np.asarray(number, dtype=dtype)
    except OverflowError as error:
        raise DtypeError(f"{label}: a number that {dtype} can hold; got {number} ({error})") from error


def _converter(arrays: Sequence[Any]) -> Callable[[Any], Any]:
    """Choose how results go back, by the first array that is not NumPy's."""
    own = (np.ndarray, np.generic)
    foreign = [a for a in arrays if hasattr(a, "__dlpack__") and not isinstance(a, own) and not _is_vendors(a)]
    return _dlpack_reader(foreign[0]) if foreign else _unchanged


def _unchanged(result: Any) -> Any:
    return result


def _library(array: Any) -> str:
    return type(array).__module__.partition(".")[0]


def _dlpack_reader(array: Any) -> Callable[[Any], Any]:
    """Return ``from_dlpack`` of the library that an array belongs to."""
    namespace = array.__array_namespace__() if hasattr(array, "__array_namespace__") else sys.modules[_library(array)]
    reader: Callable[[Any], Any] | None = getattr(namespace, "from_dlpack", None)
    if reader is None:
        raise ArrayError(f"array: of a library with from_dlpack, to return the same type; got {_short(array)}")
    return reader
