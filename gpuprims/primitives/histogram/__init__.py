"""histogram and bincount: count the elements in each bin."""

from __future__ import annotations

from functools import partial
from typing import Any, Unpack, overload

import numpy as np

from gpuprims.core.determinism import Level, at_level
from gpuprims.core.device import Device
from gpuprims.core.keywords import check_flags, keywords_of, named_keywords, refuse_keywords
from gpuprims.core.lazy import call_by_chunks
from gpuprims.core.plans import planner
from gpuprims.core.primitive import Planner, Primitive
from gpuprims.core.warm_calls import AS_GIVEN, WarmCalls
from gpuprims.errors import LazyArrayError
from gpuprims.primitives.axes import as_axis, axes_of
from gpuprims.primitives.histogram.calls import as_density, as_weighing, bind, planned, weighed
from gpuprims.primitives.histogram.exact_weights import adds_exactly, bincount_exactly, histogram_exactly
from gpuprims.primitives.histogram.in_slabs import histogram_in_slabs, numbers_in_slabs
from gpuprims.primitives.histogram.keys import WarmTables, warm_key
from gpuprims.primitives.histogram.numbers import find_warm, keep_warm, numbers_of
from gpuprims.primitives.histogram.numbers_plan import bind_numbers, plan_numbers
from gpuprims.primitives.histogram.plan import plan_call, with_table
from gpuprims.primitives.histogram.request import COUNTS
from gpuprims.primitives.histogram.rules import bins_by_rule
from gpuprims.primitives.histogram.sample import sample
from gpuprims.primitives.histogram.segmented import histogram_of_segments, refuse_beside_segments
from gpuprims.primitives.histogram.tables import new_edges
from gpuprims.primitives.histogram.variants import VARIANTS
from gpuprims.primitives.signatures import Array, BincountKeywords, HistogramKeywords, Host, HostArray

PRIMITIVE = Primitive(
    *("histogram", VARIANTS, plan_call, sample, bind),
    tuning_case=f"{__name__}.tuning_case",
    plans={
        "histogram": planner(
            "histogram",
            bind,
            plan_call,
            refused={
                "density": "plans return counts (divide these)",
                "segments": "the host checks the offsets of each call (call the function itself)",
            },
        ),
        "bincount": Planner(plan_numbers, bind_numbers),
    },
    unplanned=dict.fromkeys(
        ("histogram2d", "histogramdd"), "the host finds the bins in each call (call the function itself)"
    ),
)

_WARM = WarmTables()


@overload
def histogram(
    x: Host,
    bins: Any = 10,
    range: tuple[float, float] | None = None,
    density: bool | None = None,
    weights: Any = None,
    **keywords: Unpack[HistogramKeywords],
) -> tuple[HostArray, HostArray]: ...
@overload
def histogram(
    x: Array,
    bins: Any = 10,
    range: tuple[float, float] | None = None,
    density: bool | None = None,
    weights: Any = None,
    **keywords: Unpack[HistogramKeywords],
) -> tuple[Array, Array]: ...


@named_keywords
def histogram(
    x: Any,
    bins: Any = 10,
    range: tuple[float, float] | None = None,  # noqa: A002 - NumPy's name
    density: bool | None = None,
    weights: Any = None,
    *,
    axis: int | tuple[int, ...] | None = None,
    segments: Any = None,
    deterministic: bool = True,
    device: str | Device | None = None,
    variant: str | None = None,
    determinism: Level | None = None,
    **unknown: Any,
) -> tuple[Any, Any]:
    """Count the elements in each bin, as :func:`numpy.histogram`.

    Parameters
    ----------
    x : array_like
        Real numbers, of any shape.
    bins : int, array_like or str, default 10
        The number of bins of equal width, or the bin edges in ascending order; or the rule that finds the number from
        the elements: ``"auto"``, ``"fd"``, ``"doane"``, ``"scott"``, ``"stone"``, ``"rice"``, ``"sturges"`` or
        ``"sqrt"``, as in :func:`numpy.histogram_bin_edges`.
    range : (low, high), optional
        The first and the last edge if ``bins`` is a number; by default the smallest and the largest element. Elements
        outside, and NaN, are not counted.
    density : bool, optional
        Return a density, whose integral over the bins is 1, instead of counts.
    weights : array_like, optional
        Weight of each element, in the shape of ``x``; the sums have the dtype of the weights.
    axis : int or tuple of int, optional
        Count along these axes only, for a histogram of each row; all have the same edges.
    segments : array_like of int, optional
        Row offsets as in CSR, for arrays of one dimension, as in :func:`gpuprims.reduce`: a histogram of each segment;
        all have the same edges. A call waits for offsets on a device.
    deterministic : bool, default True
        Return the same sums of float weights in every run. False adds them by atomic operations, in any order.
    device : str or Device, optional
        Where to compute, for host arrays.
    variant : str, optional
        The kernel to use, instead of the best one.
    determinism : {"none", "run", "device", "order"}, optional
        As :func:`gpuprims.reduce`; sums of float weights are exact at ``"device"`` and ``"order"``.

    Returns
    -------
    counts : array
        Dtype int64, or the dtype of the weights, or float64 for a density. The last axis has the bins; the axes that
        are not counted along, or that of the segments, come before it.
    edges : array
        The edges, one more than there are bins.

    Raises
    ------
    ArgumentError, ShapeError, AxisError
        Edges that decrease, a range that is not finite, weights of another shape. Without ``range=``, a GPU checks
        an array that an earlier call found right without a wait: a later call raises the error.
    DtypeError
        Complex elements.
    ArrayError, DeviceMismatchError, NoVariantError
        As :func:`gpuprims.reduce`.

    Notes
    -----
    A bin includes its left edge, and the last one its right edge too. Elements on an edge, or so near that arithmetic
    rounds, fall into the same bin as in NumPy. For reproducible sums, GPUs add float weights as
    integers, scaled by the largest weight of the bin if there are many bins, and CPUs add in order.

    Examples
    --------
    >>> import gpuprims, numpy as np
    >>> counts, edges = gpuprims.histogram([1, 2, 1, 4], bins=[0, 1, 2, 3], device="reference")
    >>> counts, edges
    (array([0, 2, 1]), array([0, 1, 2, 3]))
    >>> gpuprims.histogram(np.float32([[0, 1, 1], [2, 2, 9]]), bins=3, range=(0, 3), axis=1, device="reference")[0]
    array([[1, 2, 0],
           [0, 0, 2]])
    >>> gpuprims.histogram([0, 1, 1, 2, 2, 9], bins=3, range=(0, 3), segments=[0, 1, 6], device="reference")[0]
    array([[1, 0, 0],
           [0, 2, 2]])
    """
    if unknown:
        refuse_keywords("histogram", keywords_of(histogram), unknown)
    if determinism is not None:
        how = {"axis": axis, "segments": segments, "deterministic": deterministic, "device": device, "variant": variant}
        return at_level("histogram", determinism, histogram, x, bins, range, density, weights, **how)
    if weights is not None and adds_exactly(x, weights, deterministic, "histogram", as_floats=bool(density)):
        how = {"axis": axis, "segments": segments, "device": device, "variant": variant}
        return histogram_exactly(partial(histogram, x, bins, range, **how), x, weights, device, density=bool(density))
    arrays, key = (x,) if weights is None else (x, weights), None
    if density is not None:
        check_flags("histogram", density=density)
    if device is None and variant is None and segments is None and not density:
        key = warm_key(arrays, bins, range, axis, deterministic)
        if (run := _WARM.find(key)) is not None:
            counts, edges = run(arrays)
            return counts, edges
    try:
        operands = weighed("histogram", x, weights, device)
    except LazyArrayError as found:
        how = {"axis": axis, "segments": segments, "deterministic": deterministic, "device": device, "variant": variant}
        lazy: tuple[Any, Any] = call_by_chunks(found, "histogram", x, bins, range, density, weights, **how)
        return lazy
    along = axis if axis is None else axes_of(as_axis(axis), operands.natives[0].ndim)
    bins, range = bins_by_rule(operands, bins, range)  # noqa: A001 - NumPy's name
    seeks = bins if range is None and type(bins) is int else 0
    weighing = COUNTS if weights is None else as_weighing(operands, deterministic, as_floats=bool(density))
    dtype = None if density or weights is None else operands.natives[1].dtype
    if segments is not None:
        refuse_beside_segments(along)
        counts, table = histogram_of_segments(operands, segments, bins, range, weighing, dtype, variant)
        edges = table.edges.copy() if operands.on_host else new_edges(operands, table, copied=False)
        if density:
            counts = as_density(operands, counts, table.edges)
        return operands.to_caller(counts), operands.as_caller_wants(edges)
    if operands.on_host and operands.exceed_room:
        counts, table = histogram_in_slabs(operands, bins, range, along, weighing, dtype, variant)
        if density:
            counts = as_density(operands, counts, table.edges)
        return operands.as_caller_wants(counts), operands.as_caller_wants(table.edges.copy())
    plan, table = planned(operands, bins, range, along, weighing, dtype, variant, seeks=0 if density else seeks)
    # A kept call seeks the range in the memory that it is given, which of host arrays with gaps is bytes.
    sought = not seeks or all(native.flags.carray for native in operands.natives if isinstance(native, np.ndarray))
    counts, edges, _ = plan.count(operands, table)
    if key is not None and sought:
        _WARM.keep(key, with_table(plan, table, seeks), operands)
    if operands.plain and not density:
        return counts, edges
    edges = operands.as_caller_wants(table.edges.copy() if operands.on_host else edges)
    if density:
        counts = as_density(operands, counts, table.edges)
    return operands.to_caller(counts), edges


@overload
def bincount(x: Host, weights: Any = None, minlength: int = 0, **keywords: Unpack[BincountKeywords]) -> HostArray: ...
@overload
def bincount(x: Array, weights: Any = None, minlength: int = 0, **keywords: Unpack[BincountKeywords]) -> Array: ...


@named_keywords
def bincount(
    x: Any,
    weights: Any = None,
    minlength: int = 0,
    *,
    axis: int | None = None,
    deterministic: bool = True,
    device: str | Device | None = None,
    variant: str | None = None,
    determinism: Level | None = None,
    **unknown: Any,
) -> Any:
    """Count how often each number occurs, as :func:`numpy.bincount`.

    Parameters
    ----------
    x : array_like of int
        Non-negative integers, in one dimension, or in any number of dimensions with ``axis``.
    weights : array_like, optional
        Weight of each element, in the shape of ``x``; the sums are float64.
    minlength : int, default 0
        The least length of the result, which is the largest element plus one if that is more.
    axis : int, optional
        Count along this axis only, for counts of each row.
    deterministic : bool, default True
        Return the same sums of float weights in every run; see :func:`gpuprims.histogram`.
    device : str or Device, optional
        Where to compute, for host arrays.
    variant : str, optional
        The kernel of a histogram to use, instead of the best one.
    determinism : {"none", "run", "device", "order"}, optional
        As :func:`gpuprims.reduce`; sums of float weights are exact at ``"device"`` and ``"order"``.

    Returns
    -------
    array
        Dtype int64, or float64 with weights; the last axis has the counts. An empty array gives int64, with or without
        weights, as in NumPy. The call waits until the largest number is known.

    Raises
    ------
    ArgumentError, ShapeError, AxisError, DtypeError
        A negative element or length, elements that are not integers.
    ArrayError, DeviceMismatchError, NoVariantError
        As :func:`gpuprims.reduce`.

    Examples
    --------
    >>> import gpuprims
    >>> gpuprims.bincount([0, 1, 1, 3, 2, 1, 7], device="reference")
    array([1, 3, 1, 1, 0, 0, 0, 1])
    >>> gpuprims.bincount([0, 1, 1], weights=[0.5, 1, 2], minlength=3, device="reference")
    array([0.5, 3. , 0. ])
    """
    if unknown:
        refuse_keywords("bincount", keywords_of(bincount), unknown)
    if determinism is not None:
        how = {"axis": axis, "deterministic": deterministic, "device": device, "variant": variant}
        return at_level("bincount", determinism, bincount, x, weights, minlength, **how)
    if weights is not None and adds_exactly(x, weights, deterministic, "bincount", as_floats=True):
        count = partial(bincount, x, minlength=minlength, axis=axis, device=device, variant=variant)
        return bincount_exactly(count, x, weights, device)
    if isinstance(x, list | tuple) and not len(x):
        x = np.zeros(0, np.int64)  # NumPy would make it float64
    arrays, key = (x,) if weights is None else (x, weights), None
    if variant is None and type(minlength) is int and type(axis) in AS_GIVEN:
        key = WarmCalls.key_of((minlength, axis, bool(deterministic)), arrays, device)
        if (warm := find_warm(key)) is not None:
            numbers, on_host = warm
            return numbers.run(arrays, on_host=on_host)
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
