"""The sharded arrays of a call: those of its group, cut alike, and of one shape and dtype in all processes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuprims.core.interop import short
from gpuprims.distributed.devices import Devices
from gpuprims.distributed.sharded import ShardedArray
from gpuprims.errors import ArgumentError, ArrayError, ShapeError


def alike(label: str, group: Devices, arrays: Sequence[Any]) -> list[ShardedArray]:
    """Return the arrays of a call; raise for ordinary ones, those of other devices, and those cut elsewhere."""
    if not arrays:
        raise ArgumentError(f"{label}: at least one array; got none")
    for one in arrays:
        if not isinstance(one, ShardedArray):
            raise ArrayError(f"{label}: sharded arrays; got {short(one)} (write group.scatter(x))")
        if one.group is not group and one.group.devices != group.devices:
            raise ArgumentError(f"{label}: arrays on the group's devices, {group!r}; got one on {one.group!r}")
        if one.offsets != arrays[0].offsets or one.ndim != arrays[0].ndim:
            raise ShapeError(
                f"{label}: arrays with as many axes, cut at the same rows; got {arrays[0]!r} and {one!r}"
                " (write group.scatter(y, like=x))"
            )
    return list(arrays)


def rows_of_all(group: Devices, label: str, x: ShardedArray) -> list[list[int]]:
    """Return the number of rows of each shard of each process; raise unless all else is the same."""
    everybody = group.share(label, lambda: ([int(one.shape[0]) for one in x.shards], x.shape[1:], str(x.dtype)))
    kinds = [told[1:] for told in everybody]
    if len(set(kinds)) > 1:
        raise ShapeError(f"{label}: rows of one shape and dtype in all processes; got {kinds}")
    return [rows for rows, *_ in everybody]
