"""rank_filter, median_filter and percentile_filter: an element by its rank among its neighbours."""

from __future__ import annotations

from typing import Any

from gpuprims.core.device import Device
from gpuprims.errors import ArgumentError, quoted
from gpuprims.ndimage.arguments import is_whole, number
from gpuprims.ndimage.calls import begin, filtering
from gpuprims.ndimage.neighbourhoods import neighbourhood_of
from gpuprims.ndimage.ranks import ranked


@filtering
def rank_filter(
    input: Any,  # noqa: A002 - SciPy's name
    rank: int,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
    device: str | Device | None = None,
) -> Any:
    """Return the element of a rank among each element's neighbours, as :func:`scipy.ndimage.rank_filter`.

    Parameters
    ----------
    input, output, mode, cval, origin, axes, device
        As :func:`correlate` takes them.
    rank : int
        The rank, from 0 for the smallest; negative ranks count from the largest.
    size : int or sequence of int, optional
        Lengths of a box of neighbours.
    footprint : array_like of bool, optional
        Which elements of a box are neighbours, instead of ``size``.

    Returns
    -------
    array
        Of the shape of ``input``; ``output`` itself if that is an array. Unspecified where a neighbour is NaN, as in
        SciPy.

    Raises
    ------
    ArgumentError, ShapeError, AxisError, DtypeError
        A rank outside the neighbours, no neighbours, or as :func:`correlate`.
    ArrayError, DeviceMismatchError, NoVariantError
        As :func:`gpuprims.map`.

    Notes
    -----
    Up to 128 neighbours are compared in registers, by a sorting network reduced to the comparisons that the rank needs.
    More neighbours are gathered in memory, for some rows at a time, and the element is selected from them.

    Examples
    --------
    >>> import numpy as np
    >>> from gpuprims import ndimage
    >>> ndimage.rank_filter(np.int32([5, 1, 7, 3]), 1, size=3, device="reference")
    array([5, 5, 3, 3], dtype=int32)
    """
    return _ranked("rank_filter", input, rank, size, footprint, output, mode, cval, origin, axes, device)


@filtering
def median_filter(
    input: Any,  # noqa: A002 - SciPy's name
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
    device: str | Device | None = None,
) -> Any:
    """Return the median of each element's neighbours, as :func:`scipy.ndimage.median_filter`.

    Parameters, results and errors are those of :func:`rank_filter`; the rank is half the number of neighbours.

    Examples
    --------
    >>> import numpy as np
    >>> from gpuprims import ndimage
    >>> ndimage.median_filter(np.float32([5, 1, 7, 3]), 3, device="reference")
    array([5., 5., 3., 3.], dtype=float32)
    """
    return _ranked("median_filter", input, None, size, footprint, output, mode, cval, origin, axes, device)


@filtering
def percentile_filter(
    input: Any,  # noqa: A002 - SciPy's name
    percentile: float,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
    device: str | Device | None = None,
) -> Any:
    """Return a percentile of each element's neighbours, as :func:`scipy.ndimage.percentile_filter`.

    Parameters
    ----------
    input, size, footprint, output, mode, cval, origin, axes, device
        As :func:`rank_filter` takes them.
    percentile : float
        From 0 to 100, or below 0 to count from 100. The rank is this part of the number of neighbours, rounded down.

    Returns
    -------
    array
        As :func:`rank_filter`, with its errors.

    Examples
    --------
    >>> import numpy as np
    >>> from gpuprims import ndimage
    >>> ndimage.percentile_filter(np.int32([5, 1, 7, 3]), 100, size=2, device="reference")
    array([5, 5, 7, 7], dtype=int32)
    """
    given = number("ndimage.percentile_filter", "percentile", percentile)
    part = given + 100 if given < 0 else given
    if not 0 <= part <= 100:
        raise ArgumentError(f"ndimage.percentile_filter: percentile= from -100 to 100; got {quoted(percentile)}")
    return _ranked("percentile_filter", input, part, size, footprint, output, mode, cval, origin, axes, device)


def _ranked(
    name: str,
    given: Any,
    rank: Any,
    size: Any,
    footprint: Any,
    output: Any,
    mode: Any,
    cval: Any,
    origin: Any,
    axes: Any,
    device: str | Device | None,
) -> Any:
    call = begin(f"ndimage.{name}", given, output, device)
    near = neighbourhood_of(call.label, len(call.shape), size, footprint, origin, axes)
    count = near.size
    if name == "median_filter":
        rank = count // 2
    elif name == "percentile_filter":
        rank = count - 1 if rank == 100 else int(count * rank / 100)
    elif not is_whole(rank) or not -count <= rank < count:
        raise ArgumentError(f"{call.label}: rank= a whole number from {-count} to {count - 1}; got {quoted(rank)}")
    return ranked(call, near, int(rank) % count, mode, cval)
