"""The arrays of a call, on the host and on the device, with the same strides on both."""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

import gpuprims

from .calls import Call, Operand

# Elements per piece; each piece has its own generator, so the number of threads does not matter.
_PIECE = 2**20
# The share of NaN among elements of the distribution of that name.
_NAN = 0.7


def stored(call: Call, *, repeated: bool = False) -> list[np.ndarray]:
    """Return the contiguous arrays below each operand; with ``repeated``, values repeat after a piece, to save time."""
    return [_stored(call, k, operand, repeated=repeated) for k, operand in enumerate(call.operands)]


def views(call: Call, arrays: Iterable[np.ndarray]) -> list[np.ndarray]:
    """Return the operands as views of their contiguous arrays."""
    return [operand.view(array) for operand, array in zip(call.operands, arrays, strict=True)]


def on_device(device: gpuprims.Device, call: Call, arrays: Iterable[np.ndarray]) -> list[Any]:
    """Return the operands on the device, or where it reads them, with the strides that they have on the host."""
    return [_viewed(device, array, operand.view(array)) for operand, array in zip(call.operands, arrays, strict=True)]


def _viewed(device: gpuprims.Device, array: np.ndarray, view: np.ndarray) -> Any:
    if device.driver.shares_host_memory:  # where users pass NumPy's arrays
        return view
    copied: Any = device.asarray(array)
    if view is array:
        return copied
    start = view.__array_interface__["data"][0] - array.__array_interface__["data"][0]
    if device.backend == "cuda":
        import cupy

        return cupy.ndarray(view.shape, view.dtype, copied.data + start, view.strides)
    import pyopencl.array as cl_array

    how = {"data": copied.base_data, "offset": copied.offset + start, "strides": view.strides}
    return cl_array.Array(copied.queue, view.shape, view.dtype, **how)


def _stored(call: Call, k: int, operand: Operand, *, repeated: bool) -> np.ndarray:
    if operand.data == "offsets":
        return _offsets(call, operand)
    shape = operand.stored_shape
    size = int(np.prod(shape, dtype=np.int64))
    if repeated and size > _PIECE:
        piece = np.empty(_PIECE, operand.dtype)
        _fill(piece, 0, operand, call.rng(k))
        return np.resize(piece, shape)
    array = np.empty(size, operand.dtype)
    pieces = range(-(-size // _PIECE))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda p: _fill(array, p * _PIECE, operand, call.rng(k, p)), pieces))
    return array.reshape(shape)


def _fill(array: np.ndarray, start: int, operand: Operand, rng: np.random.Generator) -> None:
    """Fill a piece with values from ``low`` to ``high``, integers without ``high``."""
    piece = array[start : start + _PIECE]
    if piece.dtype.kind == "c":
        piece.real, piece.imag = (_values(array, start, piece.size, operand, rng) for _ in range(2))
    elif piece.dtype.kind == "b":
        piece[:] = _values(array, start, piece.size, operand, rng) >= 0.5
    elif piece.dtype.kind == "f":
        # Rounding must not reach high, which may be the end of a histogram's range.
        top = np.nextafter(piece.dtype.type(operand.high), piece.dtype.type(operand.low))
        piece[:] = np.minimum(_values(array, start, piece.size, operand, rng).astype(piece.dtype), top)
    else:
        whole = np.floor(_values(array, start, piece.size, operand, rng))
        piece[:] = np.minimum(whole, operand.high - 1)


def _values(array: np.ndarray, start: int, count: int, operand: Operand, rng: np.random.Generator) -> np.ndarray:
    if operand.data == "denormal":
        tiny = float(np.finfo(operand.dtype).smallest_subnormal)
        return np.asarray(rng.integers(-100, 101, count) * tiny)
    values: np.ndarray = operand.low + (operand.high - operand.low) * _units(
        array.size, start, count, operand.data, rng
    )
    if operand.data == "NaN":
        values[rng.random(count) < _NAN] = np.nan
    return values


def _units(size: int, start: int, count: int, data: str, rng: np.random.Generator) -> np.ndarray:
    """Return numbers from 0 to 1 of a distribution."""
    if data == "constant":
        return np.full(count, 0.5)
    if data in ("sorted", "reversed", "organ pipe"):
        ramp = np.arange(start, start + count) / size
        return {"sorted": ramp, "reversed": (size - 1) / size - ramp, "organ pipe": 1 - np.abs(2 * ramp - 1)}[data]
    if data == "two values":
        return rng.integers(0, 2, count) * 0.5
    if data == "geometric":
        return np.ldexp(1.0, -rng.geometric(0.5, count))
    unit = rng.random(count)
    return unit**8 if data == "skewed" else unit


def _offsets(call: Call, operand: Operand) -> np.ndarray:
    """Return offsets of segments that are not empty, as many as the operand's shape asks for."""
    n, count = call.operands[0].shape[-1], operand.size - 1
    if call["skewed"]:  # the first segments are short, the last ones long
        cuts = np.linspace(0, 1, count + 1)[1:-1] ** 3 * (n - count)
        inner = cuts.astype(np.int64) + np.arange(1, count)
    else:
        inner = np.arange(1, count) * n // count
    return np.concatenate([[0], inner, [n]]).astype(operand.dtype)
