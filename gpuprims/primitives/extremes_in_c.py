"""Extremes of arrays of the host in C, by wide registers: with the bits of the kernels, and in less time than NumPy."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gpuprims.core.by_numpy import ByNumPy, Compute, alone_or
from gpuprims.core.c_modules import CModule
from gpuprims.core.device import Device
from gpuprims.core.layout import Form

EXTREMES = CModule(Path(__file__).with_name("extremes.c"))
# Bytes that one core searches in less time than a kernel on several.
_MOST_BYTES = 2**21  # rows: by_numpy-in-c
# As in extremes.c: how an array is searched.
_LEAST, _MOST, _CHECKED = 1, 2, 8
_NUMBERS = {"min": _LEAST | _CHECKED, "max": _MOST | _CHECKED, "nanmin": _LEAST, "nanmax": _MOST}
_PLACES = {"argmin": _LEAST, "argmax": _MOST}
_DTYPES = frozenset(map(np.dtype, ("?", "b", "B", "h", "H", "i", "I", "l", "L", "q", "Q", "f", "d")))


def extremes_in_c(device: Device, op: str, form: Form, keepdims: bool, result: np.dtype[Any]) -> ByNumPy | None:
    """Return how C finds the extremes of all elements, which lie together, or their place; None if it does not.

    Arrays may lie in Fortran order, except for places.
    """
    if form.dtype not in _DTYPES or (calls := EXTREMES.serves(device.driver)) is None:
        return None
    shape = (1,) * len(form.shape) if keepdims else ()
    floats = form.dtype.kind == "f"
    compute: Compute
    if op in _NUMBERS and result == form.dtype:
        how = _NUMBERS[op]
        infinite = 0.0 if how & _CHECKED or not floats else -np.inf if how & _MOST else np.inf
        compute = partial(_number, calls.find, how, infinite) if infinite else lambda x: calls.find(x, how)
    elif op in _PLACES:
        place = _PLACES[op]
        compute = lambda x: calls.place(x, place)  # noqa: E731
    elif op == "minmax":
        compute = lambda x: calls.find(x, _LEAST | _MOST | _CHECKED)  # noqa: E731
    elif op == "ptp" and form.dtype.kind != "b":
        compute = partial(_spread, calls.find)
    else:
        return None
    return ByNumPy(partial(_shaped, compute, shape) if shape else compute, alone_or(_MOST_BYTES // form.dtype.itemsize))


def _number(find: Callable[..., Any], how: int, nothing: float, x: np.ndarray) -> Any:
    """Return an extreme; NotImplemented if it may be that of no numbers."""
    found = find(x, how)
    return NotImplemented if found is not NotImplemented and found == nothing else found


def _spread(find: Callable[..., Any], x: np.ndarray) -> Any:
    """Return how far the largest number lies above the least; NotImplemented for floats if that is 0 or NaN."""
    found = find(x, _LEAST | _MOST | _CHECKED)
    if found is NotImplemented:
        return found
    least, most = found
    with np.errstate(all="ignore"):
        spread = most - least
    return spread if x.dtype.kind != "f" or spread > 0 else NotImplemented


def _shaped(compute: Compute, shape: tuple[int, ...], x: np.ndarray) -> Any:
    found = compute(x)
    if found is NotImplemented:
        return found
    return tuple(one.reshape(shape) for one in found) if type(found) is tuple else found.reshape(shape)
