"""Keys of warm calls: keywords, and a few facts about each array that are cheap to read."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from gpuprims.core.arrays import NUMBERS
from gpuprims.core.device import Device, pick_device
from gpuprims.core.guests import GuestKey, is_guest
from gpuprims.core.operands import is_ready
from gpuprims.core.registry import REGISTRY
from gpuprims.core.tensors import facts_of

Key = tuple[Hashable, ...]
# Largest host array in bytes for which the time on the host counts.
_SMALL = 1 << 24
_NUMBERS = frozenset({bool, *NUMBERS})


def key_of_any(keywords: Hashable, arrays: Sequence[Any], device: str | Device | None) -> Key | None:
    """Return the key of a call that may have numbers and small, non-empty host arrays among its arrays.

    Of a number, only the class counts. Beside device arrays, NumPy scalars and host arrays without axes are numbers.
    """
    facts, told, on_host, with_axes, guests = REGISTRY.facts_by_class, list[Any](), True, False, False
    for array in arrays:
        kind = type(array)
        if kind in facts:
            told.append(facts[kind](array))
            on_host = False
        elif kind in _NUMBERS:
            told.append(kind)
        elif kind is np.ndarray and is_ready(array) and 0 < array.nbytes <= _SMALL:
            told.append((array.dtype, array.shape, None if array.flags.carray else array.strides))
            with_axes = with_axes or array.ndim > 0
        elif isinstance(array, np.generic):
            told.append((array.dtype, None))
        elif is_guest(kind) and (guest := facts_of(array)) is not None:
            told.append(guest)
            guests = True
            if not guest.on_host:
                on_host = False
            elif array.ndim and 0 < array.nbytes <= _SMALL:
                with_axes = True
            else:
                return None
        else:
            return None
    if with_axes != on_host:
        return None
    key = (keywords, pick_device(None, device) if on_host else device, *told)
    return GuestKey(key) if guests else key


def key_of(keywords: Hashable, arrays: Sequence[Any], device: str | Device | None = None) -> Key | None:
    """Return the key of a call; None unless the classes of all arrays have known facts."""
    tells = REGISTRY.facts_by_class.get
    if len(arrays) == 1:  # most calls, without a list
        if (tell := tells(type(arrays[0]))) is not None:
            return keywords, device, tell(arrays[0])
    elif len(arrays) == 2:
        first, second = arrays
        if (tell := tells(type(first))) is not None and type(first) is type(second):
            return keywords, device, tell(first), tell(second)
    return key_of_any(keywords, arrays, device)
