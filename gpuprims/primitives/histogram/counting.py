"""The sums of a histogram: how often its elements are read, into what memory. Written once, for every table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.kernel_spec import Dtype
from gpuprims.core.launch_plan import Result
from gpuprims.core.layout import Form, contiguous
from gpuprims.core.operands import Operands
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.registry import REGISTRY
from gpuprims.core.variant_checks import asked_by_name
from gpuprims.errors import ArgumentError
from gpuprims.operators import Op, find_op
from gpuprims.primitives.histogram.binning import Table, key_dtype
from gpuprims.primitives.histogram.limbs import joining_limbs
from gpuprims.primitives.histogram.reading import ALIGNMENT, Reader, Reading
from gpuprims.primitives.histogram.traits import HistogramTraits
from gpuprims.primitives.histogram.variants import HistogramVariant

_INT64, _FLOAT64, _UINT32 = np.dtype(np.int64), np.dtype(np.float64), np.dtype(np.uint32)
# What weights are cut into: as many sums of 64 bits hold 2^33 integers of 30 bits.
_MOST_CUT = 2**33
# Tables that are large are soon too many.
_LARGE = 2**16


class Weighing(NamedTuple):
    """How weights are added up.

    ``sums`` says what is asked of the kernel: counts, integers, or floats, which ``repeat`` from run to run or not.
    """

    sums: Literal["counts", "integers", "floats"]
    repeat: bool = True


class _Plan(NamedTuple):
    """What is decided about a call before its memory is known.

    Parameters
    ----------
    sums : Reading or None
        None where there is nothing to count.
    peaks : Reading or None
        What comes before, of weights that are cut: the exponents of the largest.
    result : Result
    room : tuple of int
        The shape of memory that has the result in front, and perhaps places behind it.
    zeroed : bool
        Whether that is zero before.
    """

    sums: Reading | None
    peaks: Reading | None
    result: Result
    room: tuple[int, ...]
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
    dtype: Dtype | None = None,
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
    dtype : dtype, optional
        Of the result; by default int64, of floats float64.
    """
    bins = table.kind, table.bins, table.guide.size, asked, outside, dtype
    where = operands.fresh_alignment, operands.device, asked_by_name("histogram", variant), REGISTRY.generation
    plan = _prepare(operands.label, operands.forms, axes, weighing, *bins, *where)
    result = (operands.zeros if plan.zeroed else operands.empty)(plan.room, plan.result.dtype)
    if plan.sums is not None:
        with operands.settled():
            words = table_on(operands, table)
            plan.sums.run(operands, words, _peaks(operands, words, plan.peaks), operands.memory(result))
            if operands.in_place:
                operands.driver.synchronize()
    return result if plan.room == plan.result.shape else operands.cut(result, 0, plan.result.shape)


def _peaks(operands: Operands, words: Any, reading: Reading | None) -> Sequence[Any]:
    """Return the memory of the exponents of the largest weights, where they are asked for."""
    if reading is None:
        return ()
    driver, fold = operands.driver, reading.fold
    peaks = reading.room(driver) if fold is None else driver.scratch(math.prod(fold.results[0].shape) * 4)
    reading.run(operands, words, (), peaks)
    return (peaks,)


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


@keeps_calls()
def _prepare(
    label: str,
    forms: tuple[Form, ...],
    axes: tuple[int, ...],
    weighing: Weighing,
    kind: Literal["direct", "even", "edges"],
    bins: int,
    guide: int,
    asked: int,
    outside: bool,
    dtype: Dtype | None,
    alignment: int,
    device: Device,
    variant: str | None,
    generation: int,
) -> _Plan:
    shape = forms[0].shape
    kept = tuple(n for k, n in enumerate(shape) if k not in axes)
    call = _call(tuple(form.dtype for form in forms), kept, math.prod(shape[k] for k in axes), bins, weighing)
    chosen = HistogramVariant.of(device.select("histogram", call, variant))
    length, width = asked + 2 * outside, bins + 2 * outside
    result = Result((*kept, length), dtype or (_FLOAT64 if weighing.sums == "floats" else _INT64))
    if not math.prod(shape) or not width:
        return _Plan(None, None, result, result.shape, zeroed=True)
    reader = Reader(device, chosen, forms, axes, call, kind, guide)
    target = contiguous(result.dtype, (call.outputs, length), alignment)._replace(shape=(call.outputs, width))
    peaks = None
    if weighing.sums != "floats" or chosen.histograms == "private" or not weighing.repeat:
        sums = reader.read(weighing.sums, _adding(weighing.sums == "floats", result.dtype), target, alone=bins == asked)
    elif math.prod(shape) > _MOST_CUT:
        raise ArgumentError(
            f"{label}: at most 2^33 float weights, whose sums are the same from run to run; got {math.prod(shape)}"
            " (deterministic=False adds them as they come)"
        )
    else:
        beside = contiguous(_UINT32, (call.outputs, bins + 2), ALIGNMENT)
        peaks = reader.read("peaks", find_op("max"), beside, alone=True)
        weights = forms[1].dtype
        joining = joining_limbs(result.dtype, single=weights.kind == "f" and weights.itemsize < 8)
        sums = reader.read("limbs", joining, target, beside, alone=False)
    if sums.fold is None:
        return _Plan(sums, peaks, result, (bins + 2,), sums.zeroed)
    return _Plan(sums, peaks, result, result.shape, zeroed=bins < asked)


@cache
def _adding(floats: bool, result: Dtype) -> Op:
    """Return the operator that adds parts up, and gives them a dtype in the end."""
    dtypes = (_FLOAT64 if floats else _INT64,), (result,)
    return Op("a + b", 0, name="sum", commutative=True, dtypes=lambda elements, dtype: dtypes)


def _call(
    dtypes: tuple[Dtype, ...], kept: tuple[int, ...], size: int, bins: int, weighing: Weighing
) -> HistogramTraits:
    limbs = weighing.sums == "floats" and weighing.repeat
    return HistogramTraits(
        dtypes=(dtypes[0], key_dtype(dtypes[0]), *dtypes[1:], *([_FLOAT64] if weighing.sums == "floats" else [])),
        size=size,
        outputs=math.prod(kept),
        value_bytes={"counts": 4, "integers": 8, "floats": 24 if limbs else 8}[weighing.sums],
        bins=bins,
    )
