"""histogram: count the elements in each bin."""

from __future__ import annotations

from functools import partial
from typing import Any, Unpack, overload

from gpuprims.core.determinism import Level, at_level
from gpuprims.core.device import Device
from gpuprims.core.keywords import keywords_of, named_keywords, refuse_keywords
from gpuprims.core.plans import OUT_OF_CALLS, planner
from gpuprims.core.primitive import Planner, Primitive
from gpuprims.primitives.beginnings import copied_to_out
from gpuprims.primitives.histogram.bincounts import bincount
from gpuprims.primitives.histogram.calls import bind
from gpuprims.primitives.histogram.exact_weights import adds_exactly, histogram_exactly
from gpuprims.primitives.histogram.here import histogram_here
from gpuprims.primitives.histogram.numbers_plan import bind_numbers, plan_numbers
from gpuprims.primitives.histogram.plan import plan_call
from gpuprims.primitives.histogram.sample import sample
from gpuprims.primitives.histogram.variants import VARIANTS
from gpuprims.primitives.signatures import Array, HistogramKeywords, Host, HostArray

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
                "out": OUT_OF_CALLS,
                "segments": "the host checks the offsets of each call (call the function itself)",
            },
        ),
        "bincount": Planner(plan_numbers, bind_numbers, refused={"out": OUT_OF_CALLS}),
        **dict.fromkeys(("histogram2d", "histogramdd"), f"{__name__}.points"),
    },
)

__all__ = ["PRIMITIVE", "bincount", "histogram"]


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
    out: Any = None,
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
    out : array, optional
        Where to write the counts: of their shape and dtype, on the device of ``x``. By default a new array.
    device : str or Device, optional
        Where to compute, for host arrays.
    variant : str, optional
        The kernel to use, instead of the best one.
    determinism : {"none", "run", "device", "order"}, optional
        As :func:`gpuprims.reduce`; sums of float weights are exact at ``"device"`` and ``"order"``.

    Returns
    -------
    counts : array
        ``out``, or a new array: int64, or the dtype of the weights, or float64 for a density. The last axis has the
        bins; the axes that are not counted along, or that of the segments, come before it.
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
    if out is not None:
        call = partial(histogram, x, bins, range, density, weights, determinism=determinism, **how)
        found: tuple[Any, Any] = copied_to_out("histogram", (x, weights), device, out, call, many=1)
        return found
    if determinism is not None:
        return at_level("histogram", determinism, histogram, x, bins, range, density, weights, **how)
    if weights is not None and adds_exactly(x, weights, deterministic, "histogram", as_floats=bool(density)):
        return histogram_exactly(
            partial(histogram_here, x, bins, range, **how), x, weights, device, density=bool(density)
        )
    return histogram_here(x, bins, range, density, weights, **how)
