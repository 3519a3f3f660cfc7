"""The launches of a histogram: which kernel, how many parts, how they are added up. Written once, for every table."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np

from gpuprims.arrays import Operands
from gpuprims.calls import Call
from gpuprims.definitions import Binning, Definitions, Dtype, Sums
from gpuprims.device import Device
from gpuprims.driver import Launch
from gpuprims.errors import ArgumentError
from gpuprims.expressions import TypedExpr, trace, typed
from gpuprims.layout import Form, plan_layout
from gpuprims.primitives.binning import Table, key_dtype
from gpuprims.primitives.division import MOST_COUNTED, parts_of, room_of
from gpuprims.primitives.limbs import join_limbs
from gpuprims.primitives.map import map as map_arrays
from gpuprims.primitives.reduce import reduce
from gpuprims.registry import REGISTRY, Variant

_INT64, _FLOAT64, _UINT32 = np.dtype(np.int64), np.dtype(np.float64), np.dtype(np.uint32)
# What weights are cut into: as many sums of 64 bits hold 2^33 integers of 30 bits.
_MOST_CUT = 2**33
# Sums that all groups together add to one histogram, rather than leave them to be added up.
_MOST_MERGED = 2**18
# Tables that are large are soon too many.
_LARGE = 2**16


class Weighing(NamedTuple):
    """How weights are added up.

    ``sums`` says what is asked of the kernel: counts, integers, or floats, which ``repeat`` from run to run or not.
    """

    sums: Literal["counts", "integers", "floats"]
    repeat: bool = True


class _Plan(NamedTuple):
    launch: Launch
    dtype: Dtype
    shape: tuple[int, ...]
    zeroed: bool


def count(
    operands: Operands,
    table: Table,
    axes: tuple[int, ...],
    weighing: Weighing,
    asked: int,
    variant: str | None,
    *,
    outside: bool = False,
) -> Any:
    """Fill histograms of an array along some axes, and return their sums as an array of the device, or of the host.

    Its last axis has the bins; with ``outside``, where elements are numbers of bins, also two places behind the last:
    of those too high and of those too low.

    Parameters
    ----------
    operands : Operands
        The array, and weights of the same shape.
    table : Table
    axes : tuple of int
        Along which elements are counted together, ascending.
    weighing : Weighing
    asked : int
        How many bins the caller has asked for; those that the table leaves out are empty.
    variant : str or None
    outside : bool
    """
    shape = operands.natives[0].shape
    dtypes = tuple(native.dtype for native in operands.natives)
    kept = tuple(n for k, n in enumerate(shape) if k not in axes)
    call = _call(dtypes, kept, math.prod(shape[k] for k in axes), table.bins, weighing)
    chosen = _chosen(operands.device, call, variant, REGISTRY.generation)
    width = table.bins + 2 * outside
    result: Any = None
    if not math.prod(shape) or table.bins < asked:  # where no element of the dtype can be, too
        dtype = _FLOAT64 if weighing.sums == "floats" else _INT64
        result = operands.zeros((math.prod(kept), asked + 2 * outside), dtype)
    if math.prod(shape):
        out = None if result is None else result[:, :width]
        filled = _fill(operands, table, axes, weighing, chosen, width, out)
        result = filled if result is None else result
    return result.reshape(*kept, asked + 2 * outside)


def _call(dtypes: tuple[Dtype, ...], kept: tuple[int, ...], size: int, bins: int, weighing: Weighing) -> Call:
    limbs = weighing.sums == "floats" and weighing.repeat
    return Call(
        dtypes=(dtypes[0], key_dtype(dtypes[0]), *dtypes[1:], *([_FLOAT64] if weighing.sums == "floats" else [])),
        size=size,
        outputs=math.prod(kept),
        value_bytes={"counts": 4, "integers": 8, "floats": 24 if limbs else 8}[weighing.sums],
        bins=bins,
    )


@lru_cache(maxsize=1024)
def _chosen(device: Device, call: Call, variant: str | None, generation: int) -> Variant:
    return device.select("histogram", call, variant)


def _fill(
    operands: Operands, table: Table, axes: tuple[int, ...], weighing: Weighing, chosen: Variant, width: int, out: Any
) -> Any:
    """Run the kernel, twice for weights that are cut, and add its parts up."""
    how = table, axes, chosen
    if weighing.sums != "floats":
        return _added_up(operands, _parts(operands, *how, weighing.sums, ())[:, :, 0, :width], "sum", _INT64, out)
    if chosen.histograms == "private" or not weighing.repeat:
        return _added_up(operands, _parts(operands, *how, "floats", ())[:, :, 0, :width], "sum", _FLOAT64, out)
    total = math.prod(operands.natives[0].shape)
    if total > _MOST_CUT:
        raise ArgumentError(
            f"{operands.label}: at most 2^33 float weights, whose sums are the same from run to run; got {total}"
            " (deterministic=False adds them as they come)"
        )
    peaks = _added_up(operands, _parts(operands, *how, "peaks", ())[:, :, 0], "max", _UINT32, None)
    limbs = _added_up(operands, _parts(operands, *how, "limbs", (peaks,))[..., :width], "sum", _INT64, None)
    weights = operands.natives[1].dtype
    single = weights.kind == "f" and weights.itemsize < 8
    planes = [limbs[:, k] for k in range(3)]
    return map_arrays(join_limbs(single=single), *planes, peaks[:, :width], device=operands.device, out=out)


def _parts(
    operands: Operands,
    table: Table,
    axes: tuple[int, ...],
    chosen: Variant,
    sums: Sums,
    more: tuple[Any, ...],
) -> Any:
    """Launch a kernel, and return what its groups leave: sums by part, output, plane and place."""
    how = table.kind, table.bins, table.guide.size, axes, sums
    plan = _prepare(operands.forms, *how, operands.device, chosen, REGISTRY.generation)
    parts = (operands.zeros if plan.zeroed else operands.empty)(plan.shape, plan.dtype)
    words = table_on(operands, table)
    with operands.settled():
        plan.launch([*operands.memories, operands.memory(parts), words, *map(operands.memory, more)])
    return parts


def _added_up(operands: Operands, parts: Any, op: str, dtype: Dtype, out: Any) -> Any:
    """Join parts in their order."""
    if parts.shape[:2] == (1, 1) and parts.dtype == dtype and out is None:
        return parts[0]  # not of more outputs, between which lie the places behind the bins
    with operands.settled():
        return reduce(parts, op=op, axis=0, dtype=dtype, device=operands.device, out=out)


def table_on(operands: Operands, table: Table, part: Literal["words", "edges"] = "words") -> Any:
    """Return a part of a table on the device, in memory of the queue or stream that work goes to now."""
    look_up = _kept_table if table.bins <= _LARGE else _large_table
    return look_up(operands.device, operands.driver.order, table, part)


@lru_cache(maxsize=64)
def _kept_table(device: Device, order: int, table: Table, part: str) -> Any:
    return device.driver.asarray(getattr(table, part))


@lru_cache(maxsize=4)
def _large_table(device: Device, order: int, table: Table, part: str) -> Any:
    return device.driver.asarray(getattr(table, part))


@lru_cache(maxsize=1024)
def _prepare(
    forms: tuple[Form, ...],
    kind: Literal["direct", "even", "edges"],
    bins: int,
    guide: int,
    axes: tuple[int, ...],
    sums: Sums,
    device: Device,
    chosen: Variant,
    generation: int,
) -> _Plan:
    shape = forms[0].shape
    outputs = math.prod(n for k, n in enumerate(shape) if k not in axes)
    size = math.prod(shape[k] for k in axes)
    able = device.capabilities
    layout = plan_layout(forms, shape, axes)
    dtype = _sum_dtype(sums, chosen, outputs * size)
    planes = 3 if sums == "limbs" else 1
    room = room_of(chosen, able, size, (bins + 2) * planes, planes, dtype, guide)
    ranges = -(-(bins + 2) // room.copies) if chosen.histograms == "split" else 1
    parts = parts_of(chosen, able, outputs * ranges, size, (bins + 2) * planes, room.local)
    values, map_ = _values(tuple(form.dtype for form in forms), sums)
    vector = min(layout.vector_width(), chosen.items) if chosen.vectors else 1
    merged = (
        chosen.merges
        and able.int64_atomics
        and sums != "floats"
        and outputs == 1
        and parts * (bins + 2) <= _MOST_MERGED
    )
    binning = Binning(kind, sums, dtype, room.near, chosen.histograms != "private", merged)
    definitions = Definitions(layout.accesses, (), values, map_, vector=vector, binning=binning)
    copies = [room.copies] if chosen.histograms in ("replicas", "private", "cached", "split") else []
    kernel, groups = device.kernel(chosen, definitions), chosen.groups(outputs * parts * ranges, able)
    launch = kernel.prepare(groups, layout.pack(0), outputs, size, bins, parts, *copies, local=room.local)
    rows = parts * (room.copies if chosen.histograms == "private" else 1)
    whole = chosen.shares_histograms or merged
    return _Plan(launch, binning.total, (1 if whole else rows, outputs, planes, bins + 2), whole)


def _sum_dtype(sums: Sums, chosen: Variant, total: int) -> Dtype:
    """Return the dtype of a sum in memory: of counts 32 bits where a part has fewer."""
    if sums == "floats":
        return _FLOAT64
    small = sums == "peaks" or (sums == "counts" and (not chosen.shares_histograms or total <= MOST_COUNTED))
    return _UINT32 if small else _INT64


def _values(dtypes: tuple[Dtype, ...], sums: Sums) -> tuple[tuple[Dtype, ...], TypedExpr]:
    """Return the dtypes of a key, and of a weight if there is one, and the function from elements to them."""
    key = key_dtype(dtypes[0])
    if sums == "counts":
        return (key,), typed(trace(lambda x, j: x, 2), (*dtypes, _INT64), (key,))
    weight = dtypes[1]
    if sums == "integers":
        weight = _INT64
    elif weight.kind != "f":
        weight = _FLOAT64
    elif weight.itemsize == 2:
        weight = np.dtype(np.float32)
    return (key, weight), typed(trace(lambda x, w, j: (x, w), 3), (*dtypes, _INT64), (key, weight))
