"""The caller's arrays as NumPy's, or as those of the device's vendor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.interop import from_dlpack, reader_of, short
from gpuprims.core.layout import View, together
from gpuprims.core.registry import REGISTRY
from gpuprims.errors import ArrayError, DtypeError, quoted
from gpuprims.expressions.masks import plain_array, refuse_masked


def is_number(array: Any) -> bool:
    """Return True for a Python number."""
    return isinstance(array, bool | int | float | complex)


def is_vendors(array: Any) -> bool:
    """Return True for an array of a backend's own class."""
    return REGISTRY.backend_of(type(array)) is not None


def is_scalar(array: Any) -> bool:
    """Return True for a number, of Python or of NumPy, or a NumPy array without dimensions."""
    return is_number(array) or isinstance(array, np.generic) or (isinstance(array, np.ndarray) and not array.ndim)


def native_of(label: str, array: Any) -> Any:
    """Return a NumPy, CuPy or pyopencl array over the caller's memory, or a Python number as it is."""
    if isinstance(array, np.ndarray):
        refuse_masked(label, array)
        return _checked(label, array)
    if isinstance(array, np.generic) or is_vendors(array) or is_number(array):
        return _checked(label, array)
    if hasattr(array, "__dlpack_device__"):
        return _checked(label, from_dlpack(label, array))
    return _checked(label, plain_array(label, array))


def _checked(label: str, array: Any) -> Any:
    if is_number(array):
        return array
    if not hasattr(array, "dtype"):
        raise ArrayError(f"{label}: an array; got {short(array)}")
    if array.dtype.kind in "OSUTMmV":
        raise DtypeError(f"{label}: an array of numbers or bools; got dtype {array.dtype} ({short(array)})")
    return array


def host_array(label: str, array: Any, dtypes: list[np.dtype[Any]]) -> np.ndarray:
    """Return a host array with strides of whole items, in the machine's byte order."""
    if is_number(array):
        array = _number(label, array, dtypes)
    array = np.asarray(array)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return together(array) if array.size else array


def upload(array: np.ndarray, device: Device) -> View:
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
