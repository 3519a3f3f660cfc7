"""Bins from a caller's arguments: their number and range, or their edges."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from gpuprims.core.device import Device, device_of
from gpuprims.core.launch_plan import LaunchPlan
from gpuprims.core.layout import Form
from gpuprims.core.operands import Operands
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.registry import REGISTRY
from gpuprims.errors import ArgumentError, ShapeError, quoted
from gpuprims.expressions.masks import plain_array, refuse_masked
from gpuprims.operators import Op, as_map, make_folding
from gpuprims.operators.extremes import highest, lowest
from gpuprims.primitives.fold import plan_fold
from gpuprims.primitives.histogram.binning import Table, check_bins, key_dtype, table_of_edges, table_of_range

# Tables of up to this many bins are kept for later calls.
_MOST_KEPT = 2**16
_PLAIN = (int, float)


def _is_plain(limits: Any) -> bool:
    return type(limits) is tuple and len(limits) == 2 and type(limits[0]) in _PLAIN and type(limits[1]) in _PLAIN


@lru_cache(maxsize=64, typed=True)
def _plain_table(dtype: np.dtype[Any], bins: int, low: Any, high: Any) -> Table:
    return table_of_range(dtype, bins, *_checked_limits((low, high)))


def table_of(operands: Operands, bins: Any, limits: Any) -> Table:
    """Return the table of a call's bins, or raise for bins or a range that are invalid."""
    array = operands.natives[0]
    if array.dtype.kind == "c":
        key_dtype(array.dtype)  # raises
    if type(bins) is int and 0 < bins <= _MOST_KEPT:
        low, high = limits_of(operands) if limits is None else limits if _is_plain(limits) else (None, None)
        if low is not None:
            return _plain_table(array.dtype, bins, low, high)
    if isinstance(bins, str):
        raise ArgumentError(
            f"histogram: a number of bins, or their edges; got {quoted(bins)} (numpy.histogram_bin_edges)"
        )
    home = device_of(bins)
    if home is not None:
        given = home.driver.to_host(bins)
    else:
        given = plain_array("histogram", bins, "a number of bins, or their edges", ArgumentError)
    if given.ndim == 0:
        if given.dtype.kind not in "iu" or given < 1:
            raise ArgumentError(f"histogram: a positive number of bins, or their edges; got {quoted(given.tolist())}")
        number = check_bins("histogram", int(given))
        low, high = limits_of(operands) if limits is None else _checked_limits(limits)
        return table_of_range(array.dtype, number, low, high)
    if given.ndim != 1:
        raise ShapeError(f"histogram: edges of one dimension; got {given.shape}")
    if given.dtype.kind not in "iufb" or given.size < 2:
        raise ArgumentError(f"histogram: two edges or more, of real numbers; got {given.size} of dtype {given.dtype}")
    if not (given[1:] >= given[:-1]).all():
        raise ArgumentError("histogram: bin edges must not decrease or be NaN; got some that do")
    check_bins("histogram", given.size - 1)
    return table_of_edges(array.dtype, given)


def _checked_limits(limits: Any) -> tuple[Any, Any]:
    refuse_masked("histogram: range=", limits)
    try:
        low, high = (end[()] if isinstance(end, np.ndarray) else end for end in limits)
        fits = bool(np.isfinite(low) and np.isfinite(high) and low <= high)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"histogram: range=(low, high), two real numbers; got {quoted(limits)}") from error
    if not fits:
        raise ArgumentError(f"histogram: range= of finite numbers, the first no larger; got {quoted(limits)}")
    return low, high


_ENDS = Op(
    lambda p, q: (np.minimum(p[0], q[0]), np.maximum(p[1], q[1])),
    lambda dtypes: (*highest(dtypes[:1]), *lowest(dtypes[1:])),
    components=2,
    prepare=lambda x, j: (x, x),
    commutative=True,
    name="the smallest and the largest",
)


def limits_of(operands: Operands) -> tuple[Any, Any]:
    """Return the smallest and the largest element; one kernel finds both."""
    array, driver = operands.natives[0], operands.driver
    if not math.prod(array.shape):
        return 0, 1
    (form, *_), (elements, *_) = operands.placed or operands.place()
    plan = _plan_ends(form, operands.alignment, operands.device, REGISTRY.generation)
    dtype = plan.results[0].dtype
    if operands.in_place:
        ends = operands.empty((2,), dtype)
        with operands.settled():
            memory = operands.memory(ends)
            plan.compiled()([elements, memory, memory])
            driver.synchronize()
        low, high = ends
    else:
        ends = driver.empty((2,), dtype)
        plan.compiled()([elements, ends, ends])
        low, high = driver.to_host(ends)
    if not (np.isfinite(low) and np.isfinite(high)):
        raise ArgumentError(f"histogram: finite elements where range= is not given; got [{low}, {high}]")
    return (int(low), int(high)) if array.dtype == np.bool_ else (low, high)


@keeps_calls()
def _plan_ends(form: Form, alignment: int, device: Device, generation: int) -> LaunchPlan:
    """Return the plan of a fold that stores the smallest element and, behind it, the largest."""
    folding = make_folding(_ENDS, as_map("reduce", None, 1), (form.dtype,), None)
    (dtype, _), axes = folding.outputs, tuple(range(len(form.shape)))
    places = [Form(dtype, (), (), k * dtype.itemsize, alignment) for k in range(2)]
    return plan_fold(device, (form,), places, folding, form.shape, axes, commutative=True)
