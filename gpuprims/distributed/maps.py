"""map of sharded arrays."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from gpuprims.core.arrays import NUMBERS, NUMPYS
from gpuprims.core.interop import short
from gpuprims.distributed.alike import alike
from gpuprims.distributed.devices import Devices
from gpuprims.distributed.folds import sharded
from gpuprims.distributed.sharded import ShardedArray
from gpuprims.errors import ArgumentError
from gpuprims.primitives.map import map as map_one


def mapped(group: Devices, fn: Any, arrays: Sequence[Any], named: dict[str, Any]) -> Any:
    """Apply a function to each element; see :meth:`DeviceGroup.map`."""
    label = "DeviceGroup.map"
    given = [*arrays, *named.values()]
    for one in given:
        if not isinstance(one, ShardedArray) and not _is_number(one):
            rule = f"{label}: sharded arrays and numbers, cut alike, and no keywords beside names of arrays"
            raise ArgumentError(f"{rule}; got {short(one)} (write group.scatter(x))")
    alike(label, group, [one for one in given if isinstance(one, ShardedArray)])
    return sharded(group, label, partial(_map, fn, len(arrays), tuple(named)), given)


def _is_number(one: Any) -> bool:
    return isinstance(one, NUMBERS) or (isinstance(one, NUMPYS) and not one.ndim)


def _map(fn: Any, count: int, names: Sequence[str], *given: Any, device: Any) -> Any:
    return map_one(fn, *given[:count], device=device, **dict(zip(names, given[count:], strict=True)))
