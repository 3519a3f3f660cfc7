"""Elements as unsigned integers in NumPy's order: NaN last and equal to each other, -0.0 equal to 0.0."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuprims.errors import DtypeError
from gpuprims.expressions import c_type


def check_ordered(label: str, dtype: np.dtype[Any]) -> None:
    """Raise for complex elements, which have no order by one integer."""
    if dtype.kind == "c":
        rule = f"{label}: real elements, which have an order"
        raise DtypeError(f"{rule}; got dtype {dtype} (pass x.real, x.imag or abs(x))")


def order_bits(dtype: np.dtype[Any]) -> int:
    """Return the bits of an element's integer."""
    return 1 if dtype.kind == "b" else 8 * dtype.itemsize


def order_macros(dtype: np.dtype[Any]) -> dict[str, int | str]:
    """Return the macros of ``ordering.h``."""
    raw = "(order_t)(value)"
    if dtype == np.float16:
        raw = "gp_half_bits(value)"
    elif dtype.kind == "f":
        raw = f"gp_bits_{c_type(dtype)}(value)"
    return {
        "ORDER_BITS": order_bits(dtype),
        "ORDER_FLOATS": np.finfo(dtype).nmant if dtype.kind == "f" else 0,
        "ORDER_SIGNED": int(dtype.kind == "i"),
        "ORDER_RAW(value)": raw,
    }


def orders_of(values: np.ndarray) -> np.ndarray:
    """Return the integers of an array of the host, in NumPy."""
    dtype = values.dtype
    if dtype.kind == "b":
        return values.astype(np.uint8)
    unsigned = np.dtype(f"u{dtype.itemsize}")
    bits = np.ascontiguousarray(values).view(unsigned)
    sign = unsigned.type(1 << (8 * dtype.itemsize - 1))
    if dtype.kind == "u":
        return bits
    if dtype.kind == "i":
        return np.asarray(bits ^ sign)
    orders = np.where(bits & sign != 0, ~bits, bits | sign)
    orders = np.where(values == 0, sign, orders)
    return np.where(np.isnan(values), unsigned.type(~unsigned.type(0)), orders)
