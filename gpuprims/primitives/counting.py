"""The launches of a histogram: which kernel, how many parts, how they are added up. Written once, for every table."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np

from gpuprims.arrays import Operands, as_operands
from gpuprims.definitions import Binning, Definitions, Dtype
from gpuprims.device import Device
from gpuprims.driver import Driver, Launch
from gpuprims.errors import ArgumentError
from gpuprims.expressions import TypedExpr, trace, typed
from gpuprims.layout import Form, plan_layout
from gpuprims.primitives.binning import Table, key_dtype
from gpuprims.primitives.map import map as map_arrays
from gpuprims.primitives.reduce import reduce
from gpuprims.registry import REGISTRY, Call, Variant

_INT64, _FLOAT64 = np.dtype(np.int64), np.dtype(np.float64)
# Integers of this many bits are what weights are cut into: as many sums of 64 bits hold 2^33 of them.
_LIMB_BITS, _MOST_CUT = 30, 2**33
# The least step of the lowest integer is then one that float64 has.
_MOST_SCALED = 1010
# Counts of 32 bits: a part has fewer elements.
_MOST_COUNTED = 2**31
# Local memory of each group that CUDA keeps for itself.
_RESERVED = 1024
# Replicas in local memory, and rows that a work-item of a CPU counts in by turns.
_MOST_REPLICAS, _CPU_REPLICAS = 32, 8
_SMALL = 2048


class Weighing(NamedTuple):
    """How weights are added up.

    ``sums`` says what is asked of the kernel: counts, integers, or floats, which ``repeat`` from run to run or not.
    """

    sums: Literal["counts", "integers", "floats"]
    repeat: bool = True


class _Plan(NamedTuple):
    launch: Launch
    binning: Binning
    real: Dtype
    rows: int
    shape: tuple[int, ...]
    zeroed: bool
    key: Dtype


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
    """
    shape = operands.natives[0].shape
    kept = tuple(n for k, n in enumerate(shape) if k not in axes)
    driver = operands.driver
    where = operands.forms, table.kind, table.bins, axes, weighing
    if not math.prod(shape):
        dtype = _INT64 if weighing.sums != "floats" else _FLOAT64
        return _zeros(operands, (*kept, asked + 2 * outside), dtype)
    plan = _prepare(*where, operands.device, variant, REGISTRY.generation)
    scale = _scaling(operands, shape, plan)
    if scale is None:
        return _beside_infinities(operands, table, axes, asked, variant)
    wanted = table.bins + 2 * outside
    words = _on_device(operands.device, table, scale.bits)
    make = _zeros if plan.zeroed else _empty
    parts = make(operands, plan.shape, plan.binning.dtype)
    with settled(driver, operands.in_place):
        plan.launch([*operands.memories, operands.memory(parts), words])
        sums = _add_up(operands, parts[..., :wanted], plan, scale)
    return _padded(operands, sums.reshape(*kept, wanted), asked + 2 * outside)


@contextmanager
def settled(driver: Driver, in_place: bool) -> Iterator[None]:
    """Where kernels work in the host's memory, wait for them before an error frees it."""
    try:
        yield
    except BaseException:
        if in_place:
            driver.synchronize()
        raise


def _empty(operands: Operands, shape: tuple[int, ...], dtype: Dtype) -> Any:
    return operands.empty(shape, dtype)


def _zeros(operands: Operands, shape: tuple[int, ...], dtype: Dtype) -> Any:
    return np.zeros(shape, dtype) if operands.in_place else operands.driver.zeros(shape, dtype)


@lru_cache(maxsize=32)
def _on_device(device: Device, table: Table, factors: tuple[int, int]) -> Any:
    """Return a table on a device, and wait until it is there: the next call may be of another stream."""
    copied = device.driver.asarray(table.words(factors))
    device.driver.synchronize()
    return copied


@lru_cache(maxsize=1024)
def _prepare(
    forms: tuple[Form, ...],
    kind: Literal["direct", "even", "edges"],
    bins: int,
    axes: tuple[int, ...],
    weighing: Weighing,
    device: Device,
    variant: str | None,
    generation: int,
) -> _Plan:
    shape = forms[0].shape
    outputs = math.prod(n for k, n in enumerate(shape) if k not in axes)
    size = math.prod(shape[k] for k in axes)
    values, map_ = _values(forms, weighing)
    able = device.capabilities
    limbs = weighing.sums == "floats" and weighing.repeat
    chosen = device.select(
        "histogram",
        Call(
            dtypes=(*(step.dtype for step in map_.steps), *([_FLOAT64] if weighing.sums == "floats" else [])),
            size=size,
            outputs=outputs,
            value_bytes={"counts": 4, "integers": 8, "floats": 24 if limbs else 8}[weighing.sums],
            bins=bins,
        ),
        variant,
    )
    layout = plan_layout(forms, shape, axes)
    binning = _binning(kind, weighing, chosen, outputs * size)
    vector = min(layout.vector_width(), chosen.items) if chosen.vectors else 1
    definitions = Definitions(layout.accesses, (), values, map_, vector=vector, binning=binning)
    width = (bins + 2) * binning.planes
    parts, replicas, local = _division(chosen, able, outputs, size, width, binning)
    kernel = device.kernel(chosen, definitions)
    groups = chosen.groups(outputs * parts, able)
    numbers = (outputs, size, bins, parts, *([replicas] if chosen.histograms in ("replicas", "private") else []))
    launch = kernel.prepare(groups, layout.pack(0), *numbers, local=local)
    rows = parts * replicas if chosen.histograms == "private" else 1 if chosen.histograms == "shared" else parts
    real = _FLOAT64 if definitions.uses_float64 else np.dtype(np.float32)
    stored = (rows, outputs, binning.planes, bins + 2)
    return _Plan(launch, binning, real, rows, stored, chosen.histograms == "shared", values[0])


def _values(forms: tuple[Form, ...], weighing: Weighing) -> tuple[tuple[Dtype, ...], TypedExpr]:
    """Return the dtypes of a key, and of a weight if there is one, and the function from elements to them."""
    dtypes = tuple(form.dtype for form in forms)
    key = key_dtype(dtypes[0])
    if weighing.sums == "counts":
        return (key,), typed(trace(lambda x, j: x, 2), (*dtypes, _INT64), (key,))
    wide = np.dtype(np.float32) if dtypes[1] == np.float16 else dtypes[1]
    weight = _INT64 if weighing.sums == "integers" else wide
    return (key, weight), typed(trace(lambda x, w, j: (x, w), 3), (*dtypes, _INT64), (key, weight))


def _binning(kind: Literal["direct", "even", "edges"], weighing: Weighing, chosen: Variant, total: int) -> Binning:
    if weighing.sums == "integers":
        return Binning(kind, "integers", _INT64)
    if weighing.sums == "floats":
        in_order = chosen.histograms == "private" or not weighing.repeat
        return Binning(kind, "floats", _FLOAT64) if in_order else Binning(kind, "limbs", _INT64)
    small = chosen.histograms != "shared" or total <= _MOST_COUNTED
    return Binning(kind, "counts", np.dtype(np.uint32)) if small else Binning(kind, "integers", _INT64)


def _division(
    chosen: Variant, able: Any, outputs: int, size: int, width: int, binning: Binning
) -> tuple[int, int, int]:
    """Return parts of an output, replicas of a histogram, and bytes of local memory a group."""
    nbytes = width * binning.dtype.itemsize
    replicas = 1
    if chosen.histograms == "private":
        replicas = _CPU_REPLICAS if width <= _SMALL and size >= 16 * width else 1
    if chosen.histograms == "replicas":
        most = min(_MOST_REPLICAS, max(able.asked_local_memory // nbytes, 1))
        replicas = 1 << most.bit_length() - 1
    local = nbytes * replicas if chosen.histograms in ("local", "replicas") else 0
    # No more groups than find room at the same time.
    resident = max(1, min(chosen.groups_per_unit or 1, able.asked_local_memory // (local + _RESERVED)))
    units = (resident if local else chosen.groups_per_unit or 1) * able.compute_units
    # No part smaller than a tile, nor than the histogram that it leaves.
    tiles = -(-size // max(chosen.tile, width if chosen.histograms != "shared" else 1))
    parts = max(1, min(tiles, units // outputs))
    return max(parts, -(-size // _MOST_COUNTED)), replicas, local


class _Scaling(NamedTuple):
    """The power of two that weights are multiplied by before they are cut into integers."""

    exponent: int
    bits: tuple[int, int]


def _scaling(operands: Operands, shape: tuple[int, ...], plan: _Plan) -> _Scaling | None:
    """Return how weights are scaled; None where some are not finite."""
    if plan.binning.sums != "limbs":
        return _Scaling(0, (0, 0))
    if math.prod(shape) > _MOST_CUT:
        raise ArgumentError(
            f"histogram: at most 2^33 float weights, whose sums are exact; got {math.prod(shape)} (deterministic=False"
            " adds them as they come)"
        )
    weights = operands.natives[1]
    largest = float(reduce(weights, map="abs(w)", op="max", device=operands.device))
    if not math.isfinite(largest):
        return None
    exponent = min(_LIMB_BITS - math.frexp(largest)[1], _MOST_SCALED) if largest else 0
    halves = np.ldexp(np.ones(2, plan.real), [exponent // 2, exponent - exponent // 2])
    first, second = halves.view(f"u{plan.real.itemsize}").tolist()
    return _Scaling(exponent, (first, second))


def _beside_infinities(operands: Operands, table: Table, axes: tuple[int, ...], asked: int, variant: str | None) -> Any:
    """Add up finite weights, and beside them the others, whose sums are the same in any order."""
    x, weights = operands.natives

    def part(expression: str, *, repeat: bool) -> Any:
        chosen = map_arrays(expression, weights, device=operands.device)
        inner = as_operands(operands.label, (x, chosen), operands.device)
        return count(inner, table, axes, Weighing("floats", repeat), asked, variant)

    finite, others = part("where(isfinite(w), w, 0)", repeat=True), part("where(isfinite(w), 0, w)", repeat=False)
    return map_arrays("x + y", finite, others, device=operands.device)


def _add_up(operands: Operands, parts: Any, plan: _Plan, scale: _Scaling) -> Any:
    """Add parts up in their order: counts and integers to int64, floats to float64."""
    dtype = _FLOAT64 if plan.binning.dtype.kind == "f" else _INT64
    whole = reduce(parts, axis=0, dtype=dtype, device=operands.device)
    if plan.binning.sums != "limbs":
        return whole
    planes = [whole[:, k, :] for k in range(3)]
    steps = [2.0 ** (-scale.exponent - k * _LIMB_BITS) for k in range(3)]
    return map_arrays(
        "a*p + (b*q + c*r)",
        a=planes[0],
        b=planes[1],
        c=planes[2],
        p=steps[0],
        q=steps[1],
        r=steps[2],
        device=operands.device,
    )


def _padded(operands: Operands, sums: Any, asked: int) -> Any:
    """Return sums of as many bins as were asked for, where the dtype has elements in fewer."""
    if sums.shape[-1] == asked:
        return sums
    whole = _zeros(operands, (*sums.shape[:-1], asked), sums.dtype)
    whole[..., : sums.shape[-1]] = sums
    return whole
