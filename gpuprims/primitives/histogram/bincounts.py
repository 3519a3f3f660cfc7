"""bincount: count how often each number occurs."""

from __future__ import annotations

from functools import partial
from typing import Any, Unpack, overload

from gpuprims.core.determinism import Level, at_level
from gpuprims.core.device import Device
from gpuprims.core.keywords import keywords_of, named_keywords, refuse_keywords
from gpuprims.primitives.beginnings import copied_to_out
from gpuprims.primitives.histogram.exact_weights import adds_exactly, bincount_exactly
from gpuprims.primitives.histogram.here import bincount_here
from gpuprims.primitives.signatures import Array, BincountKeywords, Host, HostArray


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
    out: Any = None,
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
    out : array, optional
        Where to write, on the device of ``x``: of the result's dtype, and at least as long as the result, which is its
        beginning. By default a new array.
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
        weights, as in NumPy. The call waits until the largest number is known. With ``out``, a view of its beginning.

    Raises
    ------
    ArgumentError, ShapeError, AxisError, DtypeError
        A negative element or length, elements that are not integers; an ``out`` that is too short, found when the
        largest number is known.
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
    if out is not None:
        call = partial(bincount, x, weights, minlength, determinism=determinism, **how)
        return copied_to_out("bincount", (x, weights), device, out, call, varies=lambda axes: axes - 1)
    if determinism is not None:
        return at_level("bincount", determinism, bincount, x, weights, minlength, **how)
    if weights is not None and adds_exactly(x, weights, deterministic, "bincount", as_floats=True):
        return bincount_exactly(partial(bincount_here, x, minlength=minlength, **how), x, weights, device)
    return bincount_here(x, weights, minlength, **how)
