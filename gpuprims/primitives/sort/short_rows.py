"""The launches of sorts of short rows: each in the registers of a work-item, or in the local memory of a group."""

from __future__ import annotations

from typing import Any

from gpuprims.core.driver import Launch
from gpuprims.errors import NoVariantError
from gpuprims.primitives.sort.lane_order import RANKS, lanes_in_order
from gpuprims.primitives.sort.room import fitted_to_lanes, fitted_to_row, word_bytes
from gpuprims.primitives.sort.spec import DIFFERING, NUMBERED
from gpuprims.primitives.sort.work import Passes, Work


def in_lanes(work: Work) -> Passes:
    """Sort each row in the registers of work-items."""
    device, rows = work.device, work.rows
    block, length = fitted_to_lanes(work.variant.geometry, rows.length, work.keys.nbytes, device.capabilities)
    variant = work.variant.resized(block=block)
    together = block // -(-rows.length // length)
    groups = variant.groups(-(-rows.many // together), device.capabilities)
    kernel = device.kernel(variant, work.spec(4, parts=(NUMBERED,), row=rows.length, length=length))
    return kernel.prepare(groups, work.layout, rows.many, *work.begins)


def in_groups(work: Work) -> Passes:
    """Sort each row in the local memory of a group."""
    return _in_groups(work, work.rows.length)


def segments_in_groups(work: Work, first: int) -> Launch:
    """Sort segments of at most a row's length, each in the local memory of a group, from number ``first`` on."""
    return _in_groups(work, first, segmented=True)


def _in_groups(work: Work, n: int, *, segmented: bool = False) -> Launch:
    device, rows, variant = work.device, work.rows, work.variant
    nbytes = word_bytes(work.keys.nbytes, alone=work.carried is None)
    found = fitted_to_row(variant.geometry, rows.length, nbytes, device.capabilities)
    if found is None:
        raise NoVariantError(f"{variant.label}: rows that fit in local memory; got rows of {rows.length}")
    geometry, local = found
    chosen = variant.resized(**geometry._asdict())
    groups = chosen.groups(rows.many, device.capabilities)
    how: dict[str, Any] = {
        "lanes_in_order": lanes_in_order(device, work.variant),
        "parts": (*RANKS, NUMBERED, DIFFERING),
    }
    kernel = device.kernel(chosen, work.spec(5 if segmented else 4, segmented=segmented, **how))
    return kernel.prepare(groups, work.layout, rows.many, n, *work.begins, local=local)
