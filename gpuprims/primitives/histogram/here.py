"""Calls of histogram and bincount as they are, without another level of determinism."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuprims.core.call_keys import Key
from gpuprims.core.determinism import CHOSEN, Asked, asked_level
from gpuprims.core.device import Device
from gpuprims.core.guests import as_arrays, is_guest
from gpuprims.core.keywords import check_flags
from gpuprims.core.lazy import call_by_chunks
from gpuprims.core.operands import Operands
from gpuprims.core.tensors import as_tensors
from gpuprims.core.warm_calls import AS_GIVEN, WarmCalls
from gpuprims.errors import LazyArrayError
from gpuprims.primitives.axes import as_axis, axes_of
from gpuprims.primitives.histogram.calls import as_density, as_weighing, planned, weighed
from gpuprims.primitives.histogram.in_slabs import histogram_in_slabs, numbers_in_slabs
from gpuprims.primitives.histogram.keys import WarmTables, warm_key
from gpuprims.primitives.histogram.numbers import find_warm, keep_warm, numbers_of
from gpuprims.primitives.histogram.numbers_plan import bind_numbers
from gpuprims.primitives.histogram.plan import with_table
from gpuprims.primitives.histogram.request import COUNTS, Weighing
from gpuprims.primitives.histogram.rules import bins_by_rule
from gpuprims.primitives.histogram.segmented import (
    SEGMENTED,
    count_again,
    histogram_of_segments,
    refuse_beside_segments,
)
from gpuprims.primitives.histogram.tables import new_edges
from gpuprims.primitives.segments.contents import keyed_with

_WARM = WarmTables()


def histogram_here(
    x: Any,
    bins: Any,
    range: tuple[float, float] | None,  # noqa: A002 - NumPy's name
    density: bool | None = None,
    weights: Any = None,
    *,
    axis: int | tuple[int, ...] | None,
    segments: Any,
    deterministic: bool,
    device: str | Device | None,
    variant: str | None,
) -> tuple[Any, Any]:
    """Count the elements in each bin, with the keywords of :func:`gpuprims.histogram`."""
    arrays, key = (x,) if weights is None else (x, weights), None
    if density is not None:
        check_flags("histogram", density=density)
    if variant is None and segments is None and not density:
        key = warm_key(arrays, bins, range, axis, deterministic, device)
        if (run := _WARM.find(key)) is not None:
            counts, edges = run(arrays)
            return counts, edges
    elif type(x) is not np.ndarray and variant is None and axis is None and not density:
        keyed = keyed_with(x, segments)
        beside = len(keyed), weights is None
        key = warm_key((*arrays, *keyed[1:]), bins, range, axis, deterministic, device, beside)
        if (run := SEGMENTED.find(key)) is not None:
            counts, edges = run((*arrays, segments))
            return counts, edges
    plain = segments is None and range is None and not density
    if plain and is_guest(type(bins)) and (read := as_arrays((*arrays, bins))) is not None:
        x, *weighted, bins = read
        own: dict[str, Any] = {"axis": axis, "deterministic": deterministic, "device": device, "variant": variant}
        counts, edges = as_tensors(histogram_here(x, bins, None, None, *weighted, segments=None, **own))
        return counts, edges
    try:
        operands = weighed("histogram", x, weights, device)
    except LazyArrayError as found:
        how = {"axis": axis, "segments": segments, "deterministic": deterministic, "device": device, "variant": variant}
        lazy: tuple[Any, Any] = call_by_chunks(found, "histogram", x, bins, range, density, weights, **how)
        return lazy
    along = axis if axis is None else axes_of(as_axis(axis), operands.natives[0].ndim)
    weighing = as_weighing(operands, deterministic, as_floats=bool(density))
    return _histogram(operands, bins, range, along, weighing, density, segments, variant, key)


def _histogram(
    operands: Operands,
    bins: Any,
    limits: tuple[float, float] | None,
    along: tuple[int, ...] | None,
    weighing: Weighing,
    density: bool | None,
    segments: Any,
    variant: str | None,
    key: Key | None,
) -> tuple[Any, Any]:
    """Return counts and edges, and keep the plan for later calls with the key."""
    bins, limits = bins_by_rule(operands, bins, limits)
    dtype = None if density or weighing is COUNTS else operands.natives[1].dtype
    if segments is not None:
        refuse_beside_segments(along)
        if limits is not None or type(bins) is not int:
            found = count_again(operands, segments, bins, limits, weighing, dtype, key)
            if found is not None:
                return operands.to_caller(found[0]), operands.as_caller_wants(found[1])
        counts, table = histogram_of_segments(operands, segments, bins, limits, weighing, dtype, variant)
        edges = table.edges.copy() if operands.on_host else new_edges(operands, table, copied=False)
    elif operands.on_host and operands.exceed_room:
        counts, table = histogram_in_slabs(operands, bins, limits, along, weighing, dtype, variant)
        if density:
            counts = as_density(operands, counts, table.edges)
        return operands.as_caller_wants(counts), operands.as_caller_wants(table.edges.copy())
    else:
        seeks = bins if limits is None and type(bins) is int else 0
        plan, table = planned(operands, bins, limits, along, weighing, dtype, variant, seeks=0 if density else seeks)
        counts, edges, _ = plan.count(operands, table)
        if key is not None and (not seeks or _lie_as_bytes(operands)):
            _WARM.keep(key, with_table(plan, table, seeks), operands)
        if operands.plain and not density:
            return counts, edges
        if operands.on_host:
            edges = table.edges.copy()
    if density:
        counts = as_density(operands, counts, table.edges)
    return operands.to_caller(counts), operands.as_caller_wants(edges)


def _lie_as_bytes(operands: Operands) -> bool:
    """Return True unless a host array has gaps: a kept call that seeks the range reads the array's memory as bytes."""
    return all(native.flags.carray for native in operands.natives if isinstance(native, np.ndarray))


def bincount_here(
    x: Any,
    weights: Any = None,
    minlength: int = 0,
    *,
    axis: int | None,
    deterministic: bool,
    device: str | Device | None,
    variant: str | None,
) -> Any:
    """Count how often each number occurs, with the keywords of :func:`gpuprims.bincount`."""
    if isinstance(x, list | tuple) and not len(x):
        x = np.zeros(0, np.int64)  # NumPy would make it float64
    arrays, key = (x,) if weights is None else (x, weights), None
    if variant is None and type(minlength) is int and type(axis) in AS_GIVEN and type(deterministic) is bool:
        key = WarmCalls.key_of((minlength, axis, deterministic), arrays, device)
        # Inlined, as in warm_calls.py.
        leveled = Asked.ever and (CHOSEN.here.get() or CHOSEN.choices)
        if (warm := find_warm((asked_level() if leveled else None, key))) is not None:
            numbers, on_host = warm
            return numbers.run(arrays, on_host=on_host)
    if (read := as_arrays(arrays)) is not None:
        x, *weighted = read
        own: dict[str, Any] = {"axis": axis, "deterministic": deterministic, "device": device, "variant": variant}
        return as_tensors(bincount_here(x, weighted[0] if weighted else None, minlength, **own))
    try:
        operands, axes, _, weighing, _ = bind_numbers((x,), weights, minlength, axis, deterministic, device, variant)
    except LazyArrayError as found:
        how = {"axis": axis, "deterministic": deterministic, "device": device, "variant": variant}
        return call_by_chunks(found, "bincount", x, weights, minlength, **how)
    if operands.on_host and operands.exceed_room:
        return operands.as_caller_wants(numbers_in_slabs(operands, axes, minlength, weighing, variant))
    numbers = numbers_of(operands, axes, minlength, weighing, variant)
    keep_warm(key, numbers, operands)
    return operands.to_caller(numbers.count(operands))
