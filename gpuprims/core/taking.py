"""Replace arguments of warm calls: numbers by arrays, and host arrays with gaps by their memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpuprims.core.arrays import NUMPYS, as_number, copy_on
from gpuprims.core.capture import keep
from gpuprims.core.memory import host_memory
from gpuprims.core.operands import Operands

# From the arrays of a call to arrays in their place.
Step = Callable[[Sequence[Any]], Sequence[Any]]
# Classes of numbers that a cache may compare by value (zeros excepted: 0.0 == -0.0), and copies that a call keeps.
_SIMPLE, _FEW_NUMBERS = frozenset({bool, int, float}), 64


def taking(operands: Operands, *, as_bytes: bool) -> Step | None:
    """Return the step that makes arrays of a call's numbers, and takes host arrays with gaps ``as_bytes``, if any."""
    label, device, in_place = operands.label, operands.device, operands.in_place
    on_host = [(k, native) for k, native in enumerate(operands.natives) if isinstance(native, NUMPYS)]
    numbers = numbers_of(operands)
    # Kernels of some drivers take the bytes that an array with gaps lies in, those of others the array.
    gaps = [k for k, native in on_host if as_bytes and native.ndim and not native.flags.carray]
    strided = [k for k in gaps if device.driver.share(operands.natives[k]).keep is not None]
    if not numbers and not strided:
        return None

    lately: dict[tuple[Any, ...], Any] = {}  # copies, found in less time than by copy_on

    def take(arrays: Sequence[Any]) -> Sequence[Any]:
        taken = list(arrays)
        for k, dtype in numbers:
            number = arrays[k]
            if in_place:
                taken[k] = as_number(label, number, dtype)
                continue
            key = device.driver.order, k, type(number), number
            copied = lately.get(key) if type(number) in _SIMPLE else None
            if copied is None:
                copied = copy_on(device, as_number(label, number, dtype))
                if type(number) in _SIMPLE and number:  # equal zeros may differ in their signs
                    if len(lately) >= _FEW_NUMBERS:
                        lately.clear()
                    lately[key] = copied
            taken[k] = copied
        for k in strided:
            taken[k], _ = host_memory(arrays[k])
        return taken

    return take


def numbers_of(operands: Operands) -> list[tuple[int, np.dtype[Any]]]:
    """Return the places of a call's numbers among its arrays, and the dtypes that they take."""
    natives = enumerate(operands.natives)
    return [(k, native.dtype) for k, native in natives if isinstance(native, NUMPYS) and not native.ndim]


def making_arrays(label: str, numbers: Sequence[tuple[int, np.dtype[Any]]]) -> Step:
    """Return the step that makes arrays of numbers, and leaves the arrays beside them."""

    def take(arrays: Sequence[Any]) -> Sequence[Any]:
        taken = list(arrays)
        for k, dtype in numbers:
            taken[k] = as_number(label, taken[k], dtype)
        return taken

    return take


def with_the_same(operands: Operands, count: int) -> Step:
    """Return the step that puts the last arrays of a call, the library's own, beside those of another call."""
    device, own = operands.device, operands.natives[-count:]
    if operands.on_host:
        return lambda given: (*given, *own)
    contents = [operands.to_host(array) for array in own]
    copies: dict[int, tuple[Any, ...]] = {}  # by stream or queue; found in less time than by copy_on

    def beside(given: Sequence[Any]) -> Sequence[Any]:
        found = copies.get(order := device.driver.order)
        if found is None:
            if len(copies) >= _FEW_NUMBERS:
                copies.clear()
            found = copies[order] = tuple([copy_on(device, array) for array in contents])
        return (*given, *map(keep, found))

    return beside
