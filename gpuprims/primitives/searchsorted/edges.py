"""Edges of bins, in order; and the launch plan of digitize, which keeps them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.arrays import copy_on
from gpuprims.core.device import Device
from gpuprims.core.keywords import check_flags
from gpuprims.core.launch_plan import LaunchPlan
from gpuprims.core.layout import Form
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.outputs import Out, as_out
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.variant import Variant
from gpuprims.errors import ArgumentError, DtypeError, ShapeError
from gpuprims.primitives.searchsorted.members import exchanged
from gpuprims.primitives.searchsorted.plan import SearchRequest
from gpuprims.primitives.searchsorted.plan import plan_call as plan_search

# Bytes of edges up to which calls remember that they are in order.
_SMALL = 1 << 16


class Edges(NamedTuple):
    """Edges in ascending order, and whether they were given so."""

    ascending: np.ndarray
    rise: bool


def in_order(own: np.ndarray) -> Edges:
    """Check edges of the host, and return them in ascending order."""
    check = _in_order if own.nbytes <= _SMALL else _in_order.__wrapped__
    return check(own.dtype, own.shape, own.tobytes())


@lru_cache(maxsize=64)
def _in_order(dtype: np.dtype[Any], shape: tuple[int, ...], elements: bytes) -> Edges:
    edges = np.frombuffer(elements, dtype).reshape(shape)
    if edges.ndim != 1:
        raise ShapeError(f"digitize: bins of one dimension; got shape {shape}")
    if dtype.kind == "c":
        raise DtypeError(f"digitize: real numbers; got bins of {dtype} (pass real(bins))")
    rising, falling = edges[1:] >= edges[:-1], edges[1:] <= edges[:-1]
    if rising.all():
        return Edges(edges, rise=True)
    if not falling.all():
        at = int(np.flatnonzero(~(falling if falling[:1].all() else rising))[0])
        got = f"{edges[at]} before {edges[at + 1]}, at indices {at} and {at + 1} (sort them)"
        raise ArgumentError(f"digitize: bins in ascending or descending order, without NaN; got {got}")
    return Edges(np.ascontiguousarray(edges[::-1]), rise=False)


def elements_of(x: Any, device: str | Device | None) -> Operands:
    """Return the elements whose bins are asked for."""
    operands = as_operands("digitize", (x,), device)
    if operands.natives[0].dtype.kind == "c":
        raise DtypeError(f"digitize: real numbers; got {operands.natives[0].dtype} (pass real(x))")
    return operands


def bind_digitize(
    arrays: tuple[Any, ...], right: bool = False, out: Any = None, device: str | Device | None = None
) -> tuple[Operands, SearchRequest, Out | None, None]:
    """Find the device of a call, and put its edges beside its array."""
    if len(arrays) != 2:
        raise ArgumentError(f"digitize: an array and bins; got {len(arrays)} argument(s)")
    check_flags("digitize", right=right)
    operands = elements_of(arrays[0], device)
    given = as_operands("digitize", (arrays[1],), operands.device)
    edges = in_order(np.asarray(given.to_host(given.natives[0])))
    if not edges.rise:
        got = f"{edges.ascending[-1]} first"
        raise ArgumentError(f"plan of digitize: bins in ascending order; got {got} (subtract from their number)")
    there = edges.ascending if operands.on_host else copy_on(operands.device, edges.ascending)
    operands = operands.beside(there)
    return operands, SearchRequest("left" if right else "right"), None if out is None else as_out(operands, out), None


@keeps_calls()
def plan_digitize(
    request: SearchRequest,
    forms: tuple[Form, ...],
    written: tuple[Form, ...] | None,
    alignment: int,
    device: Device,
    variant: str | Variant | None,
    generation: int,
) -> LaunchPlan:
    """Decide everything about a call but its memory."""
    return exchanged(plan_search(request, forms[::-1], written, alignment, device, variant, generation))
