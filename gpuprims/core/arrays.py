"""The caller's arrays as NumPy's or as the vendor's, and where they overlap in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from gpuprims.core.capture import keep
from gpuprims.core.device import Device
from gpuprims.core.interop import from_dlpack, reader_of, refuse_elements, short
from gpuprims.core.layout import View
from gpuprims.core.lazy import find_lazy
from gpuprims.core.memory import bounds_of, reach
from gpuprims.core.registry import REGISTRY
from gpuprims.errors import ArrayError, NumberOverflowError, quoted, too_large
from gpuprims.expressions.masks import plain_array, refuse_masked
from gpuprims.expressions.narrow import is_storage

Span = tuple[int, int, int]
# Most candidates of NumPy's exact search; a longer search counts as an overlap.
_MOST_WORK = 10**6
# Address of arrays without memory. Nothing reads there.
_NOWHERE = 1 << 46
# Python's numbers (a bool is an int), and classes of NumPy; a tuple is checked faster than a union.
NUMBERS = (int, float, complex)
NUMPYS = (np.ndarray, np.generic)


def is_vendors(array: Any) -> bool:
    """Return True for an array of a backend's own class."""
    return REGISTRY.backend_of(type(array)) is not None


def native_of(label: str, array: Any) -> Any:
    """Return a NumPy, CuPy or pyopencl array over the caller's memory."""
    given = array
    if isinstance(array, np.ndarray):
        refuse_masked(label, array)
    elif not isinstance(array, np.generic) and not is_vendors(array):
        find_lazy(label, array)
        dlpack = hasattr(array, "__dlpack_device__")
        array = from_dlpack(label, array) if dlpack else plain_array(label, array)
    if not hasattr(array, "dtype"):
        raise ArrayError(f"{label}: an array; got {short(array)}")
    if array.dtype.kind in "OSUTMmV" and not is_storage(array.dtype):
        refuse_elements(label, given, array)
    return array


def number_array(label: str, number: complex, dtypes: list[np.dtype[Any]]) -> np.ndarray:
    """Return a Python number as an array of the dtype that it takes from those beside it, as in NumPy."""
    return as_number(label, number, np.result_type(*dtypes, number))


def as_number(label: str, number: Any, dtype: np.dtype[Any]) -> np.ndarray:
    """Return a number as an array of a dtype, or raise if it is too large."""
    try:
        return np.asarray(number, dtype=dtype)
    except OverflowError as error:
        rule = f"{label}: a number that {dtype} can hold"
        raise NumberOverflowError(f"{rule}; got {quoted(number)} ({too_large(number, error)})") from error


def host_array(array: Any, device: Device) -> np.ndarray:
    """Return an aligned host array, in the machine's byte order.

    The copy is dense if the elements lie far apart: before a transfer, or where the span is too large to share.
    """
    host: np.ndarray = np.asarray(array)
    if not host.dtype.isnative:
        host = host.astype(host.dtype.newbyteorder("="))
    if not host.size:
        return host
    low, high = bounds_of(host)
    misaligned = any(stride % host.itemsize for stride in host.strides) or not host.flags.aligned
    most = device.driver.room if device.driver.shares_host_memory else 2 * host.nbytes + 4096
    return np.array(host, order="C") if misaligned or high - low > most else host


def upload(array: np.ndarray, device: Device) -> View:
    """Copy a host array to a device, each element once: axes of stride 0 stay so."""
    if array.size == 1:
        copied = copy_on(device, array)
        return View(copied, device.driver.form(copied))
    once, repeats = _once(array)
    return _repeated(device.driver.asarray(once), array, repeats, device)


def begin_upload(array: np.ndarray, device: Device) -> Callable[[], View]:
    """Start an :func:`upload` of an array with elements; the function returned waits until the array has been read."""
    if array.size == 1 or not hasattr(device.driver, "begin_asarray"):
        return partial(upload, array, device)
    once, repeats = _once(array)
    begun = device.driver.begin_asarray(once)
    return lambda: _repeated(begun(), array, repeats, device)


def _once(array: np.ndarray) -> tuple[np.ndarray, tuple[bool, ...]]:
    """Return an array without its repeated elements, and True for each axis that repeats them."""
    repeats = tuple(stride == 0 and length > 1 for stride, length in zip(array.strides, array.shape, strict=True))
    return array[(*(slice(0, 1) if repeated else slice(None) for repeated in repeats), ...)], repeats


def _repeated(copied: Any, array: np.ndarray, repeats: tuple[bool, ...], device: Device) -> View:
    """Return the copy of an array without its repeated elements as a view of its shape."""
    form = device.driver.form(copied)
    strides = tuple(0 if repeated else stride for repeated, stride in zip(repeats, form.strides, strict=True))
    return View(copied, form._replace(shape=array.shape, strides=strides))


def copy_on(device: Device, array: np.ndarray) -> Any:
    """Return a copy of a small array on a device, kept for further calls; nobody may write to it."""
    return keep(_kept(device, device.driver.order, array.dtype, array.shape, array.tobytes()))


@lru_cache(maxsize=64)
def _kept(device: Device, order: int, dtype: np.dtype[Any], shape: tuple[int, ...], elements: bytes) -> Any:
    """Return an array on the device, in memory of the current queue or stream."""
    return device.driver.asarray(np.frombuffer(elements, dtype).reshape(shape))


def converter(label: str, arrays: Sequence[Any]) -> Callable[[Any], Any]:
    """Choose how results go back, by the first array that belongs neither to NumPy nor to a vendor."""
    own = (np.ndarray, np.generic)
    foreign = [a for a in arrays if hasattr(a, "__dlpack__") and not isinstance(a, own) and not is_vendors(a)]
    return reader_of(label, foreign[0]) if foreign else unchanged


def unchanged(result: Any) -> Any:
    """Return a result as it is."""
    return result


def meet(one: Span, other: Span) -> bool:
    """Return True if two spans (memory object, first byte, end) have bytes in common; empty ones have none."""
    return one[0] == other[0] and one[1] < other[2] and other[1] < one[2] and one[1] < one[2] and other[1] < other[2]


def overlap(one: Span, first: Any, other: Span, second: Any) -> bool:
    """Return True if two arrays in these spans have bytes in common; interleaved arrays have none."""
    if not meet(one, other):
        return False
    low = min(one[1], other[1])
    placed = ((one[1] - low, first), (other[1] - low, second))
    lowest = ((start - reach(array.shape, array.strides, 0)[0], array) for start, array in placed)
    return _shared(*(_lying(start, array.shape, array.strides, array.dtype.itemsize) for start, array in lowest))


def span_of(driver: Any, array: Any) -> Span:
    """Return the memory object, the first byte and the end of a host array, or of one on the driver's device."""
    if isinstance(array, np.ndarray):
        return (0, *bounds_of(array))
    memory, first = driver.address(array)
    low, high = reach(array.shape, array.strides, array.dtype.itemsize)
    return memory, first + low, first + high


def same_elements(driver: Any, one: Any, other: Any) -> bool:
    """Return True if two arrays of one library that meet in memory have each element, in order, at the same place."""
    if one.dtype.itemsize != other.dtype.itemsize or one.size != other.size:
        return False
    ways = [(array.shape, array.strides) for array in (one, other)]
    flat = all(array.flags.c_contiguous for array in (one, other))
    return span_of(driver, one) == span_of(driver, other) and (ways[0] == ways[1] or flat)


def repeats(array: Any) -> bool:
    """Return True if two elements of an array share a byte."""
    if array.flags.c_contiguous:
        return False
    steps = zip(array.strides, array.shape, strict=True)
    axes = sorted((abs(stride), length) for stride, length in steps if length != 1)
    if any(length == 0 for _, length in axes):
        return False
    inner = array.dtype.itemsize
    for stride, length in axes:
        if stride < inner:  # shorter than the inner axes: the elements may still interleave
            return stride == 0 or _meets_itself(axes, array.dtype.itemsize)
        inner += stride * (length - 1)
    return False


def _meets_itself(axes: Sequence[tuple[int, int]], itemsize: int) -> bool:
    """Search for two elements with a byte in common, by the first axis along which they differ."""
    whole = _lying(0, [length for _, length in axes], [stride for stride, _ in axes], itemsize)
    for _ in axes:
        first = whole[0, ...]  # a view: without the dots, the last would be read
        if _shared(whole[1:], first):
            return True
        whole = first
    return False


def _shared(one: np.ndarray, other: np.ndarray) -> bool:
    try:
        return np.shares_memory(one, other, max_work=_MOST_WORK)  # type: ignore[arg-type]  # its types know 0 and -1
    except np.exceptions.TooHardError:
        return True


def _lying(first: int, shape: Sequence[int], strides: Sequence[int], itemsize: int) -> np.ndarray:
    """Return an array without memory, whose first element starts at byte ``first``."""
    kind, place = f"|V{itemsize}", (_NOWHERE + first, False)
    interface = {"version": 3, "typestr": kind, "data": place, "shape": tuple(shape), "strides": tuple(strides)}
    return np.asarray(SimpleNamespace(__array_interface__=interface))
