"""Sorts by a function of each element: the ``key=`` of sorts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from gpuprims.core.device import Device
from gpuprims.errors import ArgumentError, quoted
from gpuprims.expressions import expression
from gpuprims.primitives.beginnings import copied_to_out
from gpuprims.primitives.map import map as map_elements
from gpuprims.primitives.signatures import Function


def sort_by(
    label: str,
    sort_by_key: Callable[..., tuple[Any, ...]],
    key: Function,
    arrays: tuple[Any, ...],
    device: str | Device | None,
    out: Any,
    segments: Any = None,
    **how: Any,
) -> tuple[Any, ...]:
    """Sort arrays by a function of the first one's elements."""
    keys = keys_by(label, key, arrays[0], device, segments=segments)
    call = partial(sort_by_key, keys, *arrays, device=device, **how)
    found: tuple[Any, ...] = copied_to_out(label, arrays, device, out, lambda: call()[1:])
    return found


def keys_by(label: str, key: Function, x: Any, device: str | Device | None, **excluded: Any) -> Any:
    """Return the key of each element; raise for keywords that do not go with ``key=``."""
    for name, value in excluded.items():
        if value is not None:
            raise ArgumentError(f"{label}: no {name}= with key=; got {quoted(value)}")
    try:
        keys = map_elements(key, x, device=device)
    except ArgumentError:
        if len(taken := expression(key, 1).parameters) == 1:
            raise
        rule = f"{label}: key= a function of one element; got one of ({', '.join(taken)})"
        raise ArgumentError(f"{rule} (less= takes a comparison of two)") from None
    if isinstance(keys, tuple):
        raise ArgumentError(f"{label}: key= a function that returns one number; got {len(keys)} results")
    return keys
