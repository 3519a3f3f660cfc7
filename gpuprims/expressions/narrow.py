"""Floats that are float32 in registers: float16 of NumPy, and bfloat16 and float8 of ml_dtypes.

This table is all that the library knows of each. ``narrow.h`` converts those of ml_dtypes, the preludes float16.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from gpuprims.errors import DtypeError

Dtype = np.dtype[Any]
_FLOAT32 = np.dtype(np.float32)


class Narrow(NamedTuple):
    """How kernels hold a dtype in memory: its C type, and C functions from it to float32 and back."""

    stored: str
    value: str
    bits: str
    # NumPy computes in float16 itself. The others are for storage alone: functions of elements compute in float32.
    computes: bool = False


_NARROW = {
    "float16": Narrow("u16", "gp_half_value", "gp_half_bits", computes=True),
    "bfloat16": Narrow("u16", "gp_bfloat16_value", "gp_bfloat16_bits"),
    "float8_e4m3fn": Narrow("u8", "gp_e4m3fn_value", "gp_e4m3fn_bits"),
    "float8_e5m2": Narrow("u8", "gp_e5m2_value", "gp_e5m2_bits"),
}
# Dtypes of ml_dtypes, by name.
STORAGE = tuple(name for name, one in _NARROW.items() if not one.computes)


def narrow(dtype: Dtype) -> Narrow | None:
    """Return the table's row of a dtype; None for dtypes that registers hold as they are."""
    return _NARROW.get(dtype.name)


def is_storage(dtype: Dtype) -> bool:
    """Return True for dtypes of ml_dtypes, in which nothing is computed."""
    return dtype.name in STORAGE


def register(dtype: Dtype) -> Dtype:
    """Return the dtype that values have in registers: narrow floats accumulate in float32."""
    return _FLOAT32 if narrow(dtype) else dtype


def computed(dtype: Dtype) -> Dtype:
    """Return the dtype that functions of elements compute in."""
    return _FLOAT32 if is_storage(dtype) else dtype


def kind_of(dtype: Dtype) -> str:
    """Return NumPy's letter for the kind of a dtype, ``f`` for those of ml_dtypes too."""
    return "f" if is_storage(dtype) else dtype.kind


def storage_dtype(label: str, name: str) -> Dtype:
    """Return a dtype of ml_dtypes by its name, or raise without this package."""
    try:
        found: Dtype = np.dtype(getattr(import_module("ml_dtypes"), name))
    except ImportError as error:
        raise DtypeError(
            f'{label}: ml_dtypes, for arrays of {name}; it is not installed (pip install "gpuprims[bfloat16]")'
        ) from error
    return found
