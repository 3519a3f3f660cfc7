"""Arrays of ml_dtypes' dtypes by DLPack: the type in a capsule is changed to an unsigned integer's, or back.

NumPy reads and writes no capsules of these dtypes, and CuPy only some; their memory is that of integers.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from gpuprims.expressions.narrow import is_storage, storage_dtype

Dtype = np.dtype[Any]
# Codes of types (dlpack.h).
_UNSIGNED = 1
_CODES = {"bfloat16": 4, "float8_e4m3fn": 10, "float8_e5m2": 12}


class _Tensor(ctypes.Structure):
    """DLTensor."""

    _fields_ = [
        ("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("axes", ctypes.c_int32), ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
    ]  # fmt: skip


class _Versioned(ctypes.Structure):
    """DLManagedTensorVersioned. An unversioned capsule begins with the tensor."""

    _fields_ = [
        ("version", ctypes.c_uint32 * 2), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64), ("tensor", _Tensor),
    ]  # fmt: skip


_get_name, _get_pointer = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
_get_name.restype, _get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
_get_pointer.restype, _get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def _tensor(capsule: Any) -> Any:
    """Return the tensor of a capsule that nobody has taken."""
    name = _get_name(capsule)
    address = _get_pointer(capsule, name)
    if address is None:
        raise BufferError("a DLPack capsule with a tensor; got one without")
    return _Versioned.from_address(address).tensor if name == b"dltensor_versioned" else _Tensor.from_address(address)


class _AsIntegers:
    """A producer's memory, as integers."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __dlpack_device__(self) -> Any:
        return self._array.__dlpack_device__()

    def __dlpack__(self, **how: Any) -> Any:
        capsule = self._array.__dlpack__(**how)
        _tensor(capsule).code = _UNSIGNED
        return capsule


class _Typed:
    """An array of integers whose capsule has a dtype of ml_dtypes."""

    def __init__(self, array: Any, dtype: Dtype) -> None:
        self._array, self._code = array.view(f"u{dtype.itemsize}"), _CODES[dtype.name]

    def __dlpack_device__(self) -> Any:
        return self._array.__dlpack_device__()

    def __dlpack__(self, **how: Any) -> Any:
        capsule = self._array.__dlpack__(**how)
        _tensor(capsule).code = self._code
        return capsule


def read(label: str, array: Any, from_dlpack: Any, viewed: Any) -> Any:
    """Return a producer's memory as the array of a library, by its ``from_dlpack`` and its view of another dtype."""
    name = str(getattr(array, "dtype", "")).rpartition(".")[2]
    if name not in _CODES:
        return from_dlpack(array)
    dtype = storage_dtype(label, name)
    return viewed(from_dlpack(_AsIntegers(array)), dtype)


def producer_of(array: Any) -> Any:
    """Return an array, or where its library makes no capsules of its dtype, a producer over its memory."""
    return _Typed(array, array.dtype) if is_storage(array.dtype) else array
