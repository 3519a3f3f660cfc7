"""Tables of bins from a caller's arguments: the number of bins and their range, or their edges."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from gpuprims.core.by_numpy import Few, noticed
from gpuprims.core.contents import Contents
from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.host_values import host_values
from gpuprims.core.kernel_spec import Dtype
from gpuprims.core.layout import Form
from gpuprims.core.operands import Operands
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.registry import REGISTRY
from gpuprims.errors import ArgumentError, ShapeError, quoted
from gpuprims.expressions.masks import refuse_masked
from gpuprims.operators import Op, as_map, find_op, make_folding
from gpuprims.operators.extremes import highest, lowest
from gpuprims.primitives.fold import plan_fold
from gpuprims.primitives.histogram.binning import Table, check_bins, key_dtype, make_table
from gpuprims.primitives.histogram.elements import in_memory_order

# Only a few tables of more bins are kept.
_LARGE = 2**16
_PLAIN = (int, float)
_FEW = Few(near=2**14, woken=2**16)  # rows: by_numpy-limits
_UINT64 = np.dtype(np.uint64)


def _range_table(dtype: np.dtype[Any], bins: int, low: Any, high: Any) -> Table:
    return make_table(dtype, check_bins("histogram", bins), checked_limits("histogram", (low, high)))


# NumPy's edges also depend on the types of the limits.
_tables, _large_tables = lru_cache(64, typed=True)(_range_table), lru_cache(2, typed=True)(_range_table)


def _edges_table(label: str, dtype: np.dtype[Any], contents: Contents) -> Table:
    edges = contents.array
    if not (edges[1:] >= edges[:-1]).all():
        wrong = int(np.argmin(edges[1:] >= edges[:-1]))
        one, other = edges[wrong : wrong + 2].tolist()
        raise ArgumentError(f"{label}: bin edges must not decrease or be NaN; got {one} before {other} (sort them)")
    check_bins(label, edges.size - 1)
    contents.keep()
    return make_table(dtype, contents.array, None)


_edges_tables, _large_edges_tables = lru_cache(32)(_edges_table), lru_cache(2)(_edges_table)


def table_of(operands: Operands, bins: Any, limits: Any) -> Table:
    """Return the table of a call's bins, or raise for bins or a range that are invalid."""
    dtype = operands.natives[0].dtype
    if dtype.kind == "c":
        key_dtype(dtype)  # raises
    if type(bins) is not int or bins < 1:
        bins = number_or_edges(operands.label, bins)
        if isinstance(bins, np.ndarray):
            return table_of_edges(operands.label, dtype, bins)
    if limits is None:
        low, high = start_limits(operands)()
    else:
        low, high = limits if is_plain_range(limits) else checked_limits(operands.label, limits)
    return table_between(operands.natives[0].dtype, bins, low, high)


def table_of_edges(label: str, dtype: Dtype, edges: np.ndarray) -> Table:
    """Return the table of bins between edges, for elements of a dtype."""
    return (_edges_tables if edges.size <= _LARGE else _large_edges_tables)(label, dtype, Contents(edges))


def table_between(dtype: Dtype, bins: int, low: Any, high: Any) -> Table:
    """Return the table of a number of bins between two numbers, for elements of a dtype."""
    return (_tables if bins <= _LARGE else _large_tables)(dtype, bins, low, high)


def number_or_edges(label: str, bins: Any) -> int | np.ndarray:
    """Return the number of bins, or their edges on the host."""
    if isinstance(bins, str):
        raise ArgumentError(
            f"{label}: a number of bins, or their edges; got {quoted(bins)} (rules by name are for one array: in NumPy"
            " too, histogram alone has them)"
        )
    given = host_values(label, bins, "a number of bins, or their edges")
    if given.ndim == 0:
        if given.dtype.kind not in "iu" or given < 1:
            number = given.tolist()
            hint = f" (write {int(number)})" if type(number) is float and number.is_integer() and number > 0 else ""
            raise ArgumentError(f"{label}: a positive number of bins, or their edges; got {quoted(number)}{hint}")
        return int(given)
    if given.ndim != 1:
        raise ShapeError(f"{label}: edges of one dimension; got {given.shape}")
    if given.dtype.kind not in "iufb" or given.size < 2:
        raise ArgumentError(f"{label}: two edges or more, of real numbers; got {given.size} of dtype {given.dtype}")
    return np.ascontiguousarray(given)


def is_plain_range(limits: Any) -> bool:
    """Return True for two Python numbers, which need no check to be looked up."""
    return type(limits) is tuple and len(limits) == 2 and type(limits[0]) in _PLAIN and type(limits[1]) in _PLAIN


def checked_limits(label: str, limits: Any) -> tuple[Any, Any]:
    """Return the ends of a range, or raise for other than finite numbers in order."""
    refuse_masked(f"{label}: range=", limits)
    try:
        low, high = (end[()] if isinstance(end, np.ndarray) else end for end in limits)
        times = np.result_type(np.asarray(low), np.asarray(high)).kind in "mM"
        fits = bool(not times and np.isfinite(low) and np.isfinite(high) and low <= high)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"{label}: range=(low, high), two real numbers; got {quoted(limits)}") from error
    if not fits:
        hint = " (exchange them)" if low > high else ""
        raise ArgumentError(f"{label}: range=(low, high), finite numbers with low <= high; got {quoted(limits)}{hint}")
    return low, high


def ends(key: Dtype | None = None) -> Op:
    """Return the operator of the smallest and the largest element, stored as keys of a dtype if one is given."""
    return Op(
        lambda p, q: (np.minimum(p[0], q[0]), np.maximum(p[1], q[1])),
        lambda dtypes: (*highest(dtypes[:1]), *lowest(dtypes[1:])),
        components=2,
        prepare=lambda x, j: (x, x),
        commutative=True,
        name="the smallest and the largest",
        dtypes=None if key is None else lambda elements, dtype: (elements * 2, (key, key)),
    )


_ENDS = ends()


def _limits_by_numpy(x: np.ndarray) -> tuple[Any, Any]:
    """Return the smallest and the largest of few integers, or bools as integers."""
    low, high = np.minimum.reduce(x, None), np.maximum.reduce(x, None)
    return (int(low), int(high)) if x.dtype == np.bool_ else (low, high)


def start_limits(operands: Operands) -> Callable[[], tuple[Any, Any]]:
    """Start the kernel that finds the smallest and the largest element; return a function that waits for them."""
    array, driver = operands.natives[0], operands.driver
    if not math.prod(array.shape):
        return lambda: (0, 1)
    if operands.in_place and array.dtype.kind in "iub" and array.size <= _FEW.most(driver):
        limits = noticed(driver, operands.label, _limits_by_numpy)(array)
        return lambda: limits
    (form, *_), (elements, *_) = operands.placed or operands.place()
    launch, dtype = launch_of_ends(form, operands.alignment, operands.device, REGISTRY.generation)
    if operands.in_place:
        ends = np.empty(2, dtype)
        memory = operands.memory(ends)
        try:
            launch([elements, memory, memory])
        finally:
            driver.wait()
    else:  # two elements of 32 bits fit in one report
        first = driver.report()
        second = driver.report() if dtype.itemsize > 4 else first
        launch([elements, first.memory, second.memory])

    def wait() -> tuple[Any, Any]:
        if operands.in_place:
            low, high = ends
        else:
            numbers = (first.read(),) if second is first else (first.read(), second.read())
            low, high = np.array(numbers, np.int64).view(dtype)[:2]
        if not (np.isfinite(low) and np.isfinite(high)):
            raise ArgumentError(
                f"{operands.label}: finite elements where range= is not given; got elements from {low} to {high}"
                " (pass range=(low, high); NaN is then not counted)"
            )
        return (int(low), int(high)) if array.dtype == np.bool_ else (low, high)

    return wait


def start_largest(operands: Operands) -> Callable[[], int]:
    """Start the kernel that finds the largest integer; return a function that waits for it, or for a negative one."""
    if operands.in_place:
        limits = start_limits(operands)
        return lambda: _largest(*map(int, limits()))
    _, (elements, *_) = operands.placed or operands.place()
    report = operands.driver.report()
    find_largest(operands)([elements, report.memory])
    report.mark()

    def wait() -> int:
        found = report.read()
        return found if found >= 0 else _largest(*map(int, start_limits(operands)()))

    return wait


def find_largest(operands: Operands) -> Launch:
    """Look up the fold that finds the largest integer, or compile it."""
    (form, *_), _ = operands.placed or operands.place()
    return launch_of_largest(form, operands.alignment, operands.device, REGISTRY.generation)


def _largest(low: int, high: int) -> int:
    if low < 0:
        raise ArgumentError(f"bincount: non-negative elements; got {low} (pass x - x.min(), or call histogram)")
    return high


@keeps_calls()
def launch_of_ends(form: Form, alignment: int, device: Device, generation: int) -> tuple[Launch, Dtype]:
    """Return a fold that stores the smallest and the largest element, where reports expect them, and their dtype."""
    folding = make_folding(_ENDS, as_map("reduce", None, 1), (form.dtype,), None)
    (dtype, _), axes = folding.outputs, tuple(range(len(form.shape)))
    (form,) = in_memory_order((form,), axes)
    apart = 0 if alignment > 1 and dtype.itemsize > 4 else dtype.itemsize  # as start_limits expects
    places = [Form(dtype, (), (), k * apart, alignment) for k in range(2)]
    plan = plan_fold(device, (form,), places, folding, form.shape, axes, commutative=True)
    return plan.compiled(), dtype


@keeps_calls()
def launch_of_largest(form: Form, alignment: int, device: Device, generation: int) -> Launch:
    """Return a fold that stores the largest integer as uint64, by which negative ones are larger than others."""
    folding = make_folding(find_op("max"), as_map("reduce", None, 1), (form.dtype,), _UINT64)
    axes = tuple(range(len(form.shape)))
    (form,) = in_memory_order((form,), axes)
    place = Form(_UINT64, (), (), 0, alignment)
    return plan_fold(device, (form,), [place], folding, form.shape, axes, commutative=True).compiled()
