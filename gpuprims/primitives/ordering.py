"""Elements as unsigned integers in NumPy's order: NaN last and equal to each other, -0.0 equal to 0.0."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.codegen.operands import stored
from gpuprims.core.traits import CallTraits
from gpuprims.errors import DtypeError
from gpuprims.expressions import c_type

# As in radix.h.
DIGIT_BITS, STATE_BYTES = 11, 32
KERNELS = Path(__file__).parent / "selection" / "kernels"


def check_ordered(label: str, dtype: np.dtype[Any]) -> None:
    """Raise for complex elements, which have no order by one integer."""
    if dtype.kind == "c":
        rule = f"{label}: real elements, which have an order"
        raise DtypeError(f"{rule}; got dtype {dtype} (pass x.real, x.imag or abs(x))")


def order_bits(dtype: np.dtype[Any]) -> int:
    """Return the bits of an element's integer."""
    return 1 if dtype.kind == "b" else 8 * dtype.itemsize


def integer_macros(dtype: np.dtype[Any], integer: str) -> dict[str, int | str]:
    """Return the macros of ``order.h``, for integers of a C type."""
    return {
        "order_t": integer,
        "ORDER_BITS": order_bits(dtype),
        "ORDER_FLOATS": np.finfo(dtype).nmant if dtype.kind == "f" else 0,
        "ORDER_SIGNED": int(dtype.kind == "i"),
    }


def order_macros(dtype: np.dtype[Any]) -> dict[str, int | str]:
    """Return the macros of ``order.h`` and ``ordering.h``."""
    raw, back, value = "(order_t)(value)", f"({stored(dtype)})(bits)", "(value_t)(bits)"
    if dtype == np.float16:
        raw, value = "gp_half_bits(value)", "gp_half_value((u16)(bits))"
    elif dtype.kind == "f":
        raw, back = f"gp_bits_{c_type(dtype)}(value)", f"gp_from_bits_{c_type(dtype)}(bits)"
        value = back
    return {
        **integer_macros(dtype, "u64" if order_bits(dtype) > 32 else "u32"),
        "ORDER_RAW(value)": raw,
        "ORDER_BACK(bits)": back,
        "ORDER_VALUE(bits)": value,
    }


def count_macros(*, many: bool) -> dict[str, int | str]:
    """Return the macros by which ``radix.h`` counts the elements of rows; ``many`` need 64 bits."""
    added = "entry" if many else "count"
    return {
        "count_t": "u64" if many else "u32",
        "ADD_COUNT(place, number)": f"gp_add_{added}(place, number)",
        "READ_COUNT(place)": f"gp_read_{'entry' if many else 'word'}(place)",
        "CLEAR_COUNT(place)": f"gp_write_{'entry' if many else 'word'}(place, 0)",
        "TAKE_PLACE(place)": f"gp_add_{added}(place, 1u)",
    }


def digits(bits: int) -> list[int]:
    """Return the first bit of each digit of integers of ``bits`` bits, the highest digit first."""
    return list(reversed(range(0, bits, DIGIT_BITS)))


def counts_fit(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse rows of more elements than the device's atomics count."""
    if call.size < 2**32 or capabilities.int64_atomics:
        return None
    return f"needs atomics on 64 bits for rows of 2^32 elements and more, which {capabilities.name} lacks"


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
