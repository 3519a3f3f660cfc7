"""Tables of bins on devices, where they stay."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Literal

from gpuprims.core.capture import CAPTURE
from gpuprims.core.device import Device
from gpuprims.core.operands import Operands
from gpuprims.primitives.histogram.binning import Table

# Only a few tables of more bins are kept.
_LARGE = 2**16


def table_on(device: Device, table: Table, part: Literal["words", "edges"] = "words") -> Any:
    """Return a part of a table on the device, in memory of the current queue or stream."""
    look_up = _small_tables if table.bins <= _LARGE else _large_tables
    found = look_up(device, device.driver.order, table, part)
    if CAPTURE.now is not None:  # as keep() does, with a call less
        CAPTURE.now.append(found)
    return found


def new_edges(operands: Operands, table: Table, *, copied: bool) -> Any:
    """Return new memory for the edges on the device, or with the edges unless a kernel copies them there."""
    if copied:
        return operands.driver.empty(table.edges.shape, table.edges.dtype)
    return edges_of(operands.device, table)


def edges_of(device: Device, table: Table) -> Any:
    """Return new memory on the device, with the edges."""
    return device.driver.copy(table_on(device, table, "edges"), table.edges)


def _copied(device: Device, order: int, table: Table, part: str) -> Any:
    return device.driver.asarray(getattr(table, part))


_small_tables, _large_tables = lru_cache(maxsize=64)(_copied), lru_cache(maxsize=4)(_copied)
