"""grey_erosion, grey_dilation, grey_opening and grey_closing: extremes of neighbours, with or without heights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuprims.core.device import Device
from gpuprims.errors import ArgumentError, ShapeError
from gpuprims.ndimage.arguments import weights_of
from gpuprims.ndimage.calls import Bound, Call, begin, filtering
from gpuprims.ndimage.neighbourhoods import Index, Neighbourhood, footprint_of, neighbourhood_of
from gpuprims.ndimage.padded import in_row
from gpuprims.ndimage.ranks import MOST_COMPARED, ranked, spread
from gpuprims.primitives.stencil.grids import reaches
from gpuprims.primitives.stencil.order_statistics import of_raised
from gpuprims.primitives.stencil.stencils import Stencil


@filtering
def grey_erosion(
    input: Any,  # noqa: A002 - SciPy's name
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
    device: str | Device | None = None,
) -> Any:
    """Return the smallest of each element's neighbours minus their heights, as :func:`scipy.ndimage.grey_erosion`.

    Parameters
    ----------
    input, size, footprint, output, mode, cval, origin, axes, device
        As :func:`rank_filter` takes them.
    structure : array_like, optional
        The height of each neighbour, instead of ``size``; up to 128 neighbours.

    Returns
    -------
    array
        As :func:`rank_filter`, with its errors.

    Examples
    --------
    >>> import numpy as np
    >>> from gpuprims import ndimage
    >>> ndimage.grey_erosion(np.int32([5, 1, 7, 9]), structure=[0, 0, 3], device="reference")
    array([-2,  1,  1,  6], dtype=int32)
    """
    return _grey("grey_erosion", input, size, footprint, structure, output, mode, cval, origin, axes, device)


@filtering
def grey_dilation(
    input: Any,  # noqa: A002 - SciPy's name
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
    device: str | Device | None = None,
) -> Any:
    """Return the largest of each element's neighbours plus their heights, as :func:`scipy.ndimage.grey_dilation`.

    Parameters, results and errors are those of :func:`grey_erosion`; neighbours lie on the opposite side.

    Examples
    --------
    >>> import numpy as np
    >>> from gpuprims import ndimage
    >>> ndimage.grey_dilation(np.int32([5, 1, 7, 3]), size=3, device="reference")
    array([5, 7, 7, 7], dtype=int32)
    """
    return _grey("grey_dilation", input, size, footprint, structure, output, mode, cval, origin, axes, device)


@filtering
def grey_opening(
    input: Any,  # noqa: A002 - SciPy's name
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
    device: str | Device | None = None,
) -> Any:
    """Return an erosion and then its dilation, as :func:`scipy.ndimage.grey_opening`.

    Parameters, results and errors are those of :func:`grey_erosion`.

    Examples
    --------
    >>> import numpy as np
    >>> from gpuprims import ndimage
    >>> ndimage.grey_opening(np.int32([5, 9, 5, 5, 3]), size=3, device="reference")
    array([5, 5, 5, 5, 3], dtype=int32)
    """
    how = size, footprint, structure
    between = grey_erosion(input, *how, None, mode, cval, origin, axes=axes, device=device)
    return grey_dilation(between, *how, output, mode, cval, origin, axes=axes, device=device)


@filtering
def grey_closing(
    input: Any,  # noqa: A002 - SciPy's name
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
    device: str | Device | None = None,
) -> Any:
    """Return a dilation and then its erosion, as :func:`scipy.ndimage.grey_closing`.

    Parameters, results and errors are those of :func:`grey_erosion`.

    Examples
    --------
    >>> import numpy as np
    >>> from gpuprims import ndimage
    >>> ndimage.grey_closing(np.int32([5, 9, 5, 9, 9]), size=3, device="reference")
    array([9, 9, 9, 9, 9], dtype=int32)
    """
    how = size, footprint, structure
    between = grey_dilation(input, *how, None, mode, cval, origin, axes=axes, device=device)
    return grey_erosion(between, *how, output, mode, cval, origin, axes=axes, device=device)


def _grey(
    name: str,
    given: Any,
    size: Any,
    footprint: Any,
    structure: Any,
    output: Any,
    mode: Any,
    cval: Any,
    origin: Any,
    axes: Any,
    device: str | Device | None,
) -> Any:
    call = begin(f"ndimage.{name}", given, output, device)
    larger, ndim = name == "grey_dilation", len(call.shape)
    heights = None if structure is None else weights_of(call.label, structure)
    named = "footprint"
    if heights is not None and footprint is None:
        footprint, named = np.ones(heights.shape, bool), "structure"
    near = neighbourhood_of(call.label, ndim, size, footprint, origin, axes, name=named, flipped=larger)
    if heights is None:
        return ranked(call, near, near.size - 1 if larger else 0, mode, cval)
    places = footprint_of(call.label, footprint, heights.ndim)
    if places.shape != heights.shape:
        raise ShapeError(f"{call.label}: structure= of the footprint's shape, {places.shape}; got {heights.shape}")
    order = np.argsort(range(ndim) if axes is None else np.atleast_1d(axes))
    turned = np.transpose(np.flip(heights) if larger else heights, order)
    shown = np.transpose(np.flip(places) if larger else places, order)
    return _raised(call, near, tuple(turned[shown].tolist()), mode, cval, larger=larger)


def _raised(call: Call, near: Neighbourhood, heights: Sequence[float], mode: Any, cval: Any, *, larger: bool) -> Any:
    """Return the extreme of neighbours with heights."""
    if len(heights) > MOST_COMPARED:
        raise ArgumentError(f"{call.label}: structure= of up to {MOST_COMPARED} neighbours; got {len(heights)}")
    offsets: tuple[Index, ...] = near.offsets

    told = tuple(heights), call.element, call.result
    border = call.border(mode, cval, call.element)
    if not reaches(near.axes):
        return in_row(
            call,
            near.axes,
            offsets,
            border,
            lambda places: of_raised(tuple((at,) for at in places), *told, larger=larger, double=call.double),
        )

    def stencil(count: int, places: tuple[int, ...]) -> Stencil:
        spaced = tuple(spread(one, count, places) for one in offsets)
        return of_raised(spaced, *told, larger=larger, double=call.double)

    return Bound(call, (call.along(near.axes, stencil, border),))
