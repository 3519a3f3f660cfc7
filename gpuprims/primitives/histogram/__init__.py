"""histogram and bincount: count the elements in each bin."""

from __future__ import annotations

from functools import partial
from typing import Any, Unpack, overload

from gpuprims.core.determinism import Level, at_level
from gpuprims.core.device import Device
from gpuprims.core.keywords import keywords_of, named_keywords, refuse_keywords
from gpuprims.core.plans import planner
from gpuprims.core.primitive import Planner, Primitive
from gpuprims.primitives.histogram.calls import bind
from gpuprims.primitives.histogram.exact_weights import adds_exactly, bincount_exactly, histogram_exactly
from gpuprims.primitives.histogram.here import bincount_here, histogram_here
from gpuprims.primitives.histogram.numbers_plan import bind_numbers, plan_numbers
from gpuprims.primitives.histogram.plan import plan_call
from gpuprims.primitives.histogram.sample import sample
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
    how: dict[str, Any] = {
        "axis": axis,
        "segments": segments,
        "deterministic": deterministic,
        "device": device,
        "variant": variant,
    }
    if determinism is not None:
        return at_level("histogram", determinism, histogram, x, bins, range, density, weights, **how)
    if weights is not None and adds_exactly(x, weights, deterministic, "histogram", as_floats=bool(density)):
        return histogram_exactly(
            partial(histogram_here, x, bins, range, **how), x, weights, device, density=bool(density)
        )
    return histogram_here(x, bins, range, density, weights, **how)


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
    how: dict[str, Any] = {"axis": axis, "deterministic": deterministic, "device": device, "variant": variant}
    if determinism is not None:
        return at_level("bincount", determinism, bincount, x, weights, minlength, **how)
    if weights is not None and adds_exactly(x, weights, deterministic, "bincount", as_floats=True):
        return bincount_exactly(partial(bincount_here, x, minlength=minlength, **how), x, weights, device)
    return bincount_here(x, weights, minlength, **how)
