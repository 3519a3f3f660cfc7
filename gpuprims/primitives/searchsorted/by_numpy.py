"""Searches of few keys by NumPy or in C, with the bits of the kernels."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gpuprims.core.by_numpy import ByNumPy, Few
from gpuprims.core.c_modules import CModule
from gpuprims.core.device import Device
from gpuprims.core.layout import Form

Dtype = np.dtype[Any]
# A search by NumPy waits for each comparison, unless the array is short.
_FEW, _FEW_IN_SHORT, _SHORT = Few(near=2**9, woken=2**11), Few(near=2**12, woken=2**14), 2**5  # rows: by_numpy
PLACES = CModule(Path(__file__).with_name("places.c"))
# Most keys that C searches for in any order, and in ascending order, which the first _LOOKED keys tell: C searches for
# each of these behind the place of the one before.
_FEW_IN_C, _RISING_IN_C, _LOOKED = 2**17, Few(near=2**25, woken=2**25), 64  # rows: places
_IN_C = frozenset(map(np.dtype, ("float32", "float64", "int32", "int64")))
# Fewest integers of so many bytes that are looked up in a table of the places of all, and most that NumPy searches for.
_LOOKED_UP, _SOUGHT, _FEW_NARROW = {1: 2**8, 2: 2**17}, 2**10, Few(near=2**25, woken=2**25)  # rows: tables
# Keys compared with each of some elements, and those looked up in a table; how many these elements are at most.
_COMPARED, _IN_TABLE, _FEW_COMPARED = Few(near=2**15, woken=2**16), Few(near=2**15, woken=2**16), 8  # rows: members
# NumPy compares many keys, at most so many, with each of up to so many elements of two bytes or more in less time than
# it takes to search for them (row members-compared).
_LEAST_COMPARED, _COMPARED_BY_NUMPY = 2**12, 24
_MOST_COMPARED = Few(near=2**20, woken=2**20)
# Places of a table for each element and each key up to which one is made, as NumPy does.
_MOST_EACH = 6


def searches_by_numpy(device: Device, elements: Form, keys: Dtype, side: str) -> ByNumPy | None:
    """Return how NumPy, or C, finds the places of keys, if it does."""
    calls = PLACES.serves(device.driver)
    if calls is not None and elements.dtype == keys and keys in _IN_C:
        return ByNumPy(partial(_placed, calls.search, side == "right"), _RISING_IN_C)
    if {elements.dtype.kind, keys.kind} - set("iubf"):
        return None
    short = elements.shape[0] <= _SHORT
    if elements.dtype == keys and keys.kind in "iu" and keys.itemsize in _LOOKED_UP:
        fewest, sought = _LOOKED_UP[keys.itemsize], _FEW_IN_SHORT.near if short else _SOUGHT
        return ByNumPy(partial(_looked_up, side, fewest, sought), _FEW_NARROW)
    return ByNumPy(partial(np.ndarray.searchsorted, side=side), _FEW_IN_SHORT if short else _FEW)


def _looked_up(side: Any, fewest: int, sought: int, elements: np.ndarray, keys: np.ndarray) -> Any:
    """Return the places of narrow integers, from the places of all; NotImplemented for neither few nor many."""
    if keys.size < fewest:
        return elements.searchsorted(keys, side) if keys.size <= sought else NotImplemented
    unsigned = np.dtype(f"u{keys.itemsize}")
    every = np.arange(1 << 8 * keys.itemsize, dtype=unsigned).view(keys.dtype)
    return elements.searchsorted(every, side).take(keys.view(unsigned))


def _placed(search: Callable[..., np.ndarray], right: bool, elements: np.ndarray, keys: np.ndarray) -> Any:
    """Search in C, where both arrays lie together; NotImplemented for many keys whose first ones fall."""
    if keys.size > _FEW_IN_C and not _rises(keys):
        return NotImplemented
    return search(np.ascontiguousarray(elements), keys if keys.flags.c_contiguous else keys.copy(order="C"), right)


def _rises(keys: np.ndarray) -> bool:
    """Return True if the first of many keys do not fall."""
    first = keys.flat[:_LOOKED]
    return bool((first[1:] >= first[:-1]).all())


def compares(device: Device, elements: Form, keys: Dtype) -> bool:
    """Return True if keys are compared with each element, which takes a CPU less time than searches for few of them."""
    few = device.capabilities.kind == "cpu" and 0 < elements.shape[0] <= _FEW_COMPARED
    return few and _common(elements.dtype, keys) is not None


def _common(elements: Dtype, keys: Dtype) -> Dtype | None:
    """Return the dtype in which real numbers are compared, if NumPy compares them so too."""
    common = np.result_type(elements, keys)
    return common if elements == keys or common.kind in "iub" else None


def members_by_numpy(elements: Form, keys: Dtype, *, member: bool) -> ByNumPy | None:
    """Return how NumPy answers ``member`` for keys that are among sorted elements, if it does."""
    common = _common(elements.dtype, keys)
    if common is None or common.kind not in "iubf":
        return None
    if elements.shape[0] <= _FEW_COMPARED:
        return ByNumPy(partial(_compared, member=member), _COMPARED)
    compute, few = _sought, _FEW_IN_SHORT if elements.shape[0] <= _SHORT else _FEW
    if common.kind in "iu":
        compute, few = _in_table, _IN_TABLE
    if elements.shape[0] <= _COMPARED_BY_NUMPY and common.itemsize > 1:
        return ByNumPy(partial(_compared_if_many, compute, member=member), _MOST_COMPARED)
    return ByNumPy(partial(compute, member=member), few)


def _compared_if_many(few: Callable[..., Any], elements: np.ndarray, keys: np.ndarray, *, member: bool) -> Any:
    """Compare keys with each element if they are many; ``few`` answers for others."""
    answer = _compared if keys.size >= _LEAST_COMPARED else few
    return answer(elements, keys, member=member)


def _compared(elements: np.ndarray, keys: np.ndarray, *, member: bool) -> np.ndarray:
    """Compare keys with each element."""
    compare, join = (np.equal, np.bitwise_or) if member else (np.not_equal, np.bitwise_and)
    found: np.ndarray = compare(keys, elements[0], np.empty(keys.shape, np.bool_))  # in C order
    for element in elements[1:]:
        join(found, compare(keys, element), found)
    return found


def _in_table(elements: np.ndarray, keys: np.ndarray, *, member: bool) -> Any:
    """Look keys up in a table of the elements' range; NotImplemented for many keys and a wide range."""
    length = int(elements[-1]) - int(elements[0]) + 1
    if length > _MOST_EACH * (elements.size + keys.size):
        return _sought(elements, keys, member=member) if keys.size <= _FEW.near else NotImplemented
    before = elements[:1].astype(np.int64) - 1  # distances of far keys wrap to numbers outside of the table
    table = np.full(length + 2, not member)
    table[np.subtract(elements, before, dtype=np.int64)] = member
    found = table.take(np.subtract(keys, before, dtype=np.int64), mode="clip")
    return found.reshape(keys.shape)  # the difference of a key without axes has one


def _sought(elements: np.ndarray, keys: np.ndarray, *, member: bool) -> np.ndarray:
    """Search for keys among elements."""
    found, compare = elements.take(elements.searchsorted(keys), mode="clip"), np.equal if member else np.not_equal
    among: np.ndarray = compare(found, keys, np.empty(keys.shape, np.bool_))
    return among
