"""minimum_filter and maximum_filter, of boxes and along one axis: the smallest and the largest neighbour."""

from __future__ import annotations

from typing import Any

from gpuprims.core.device import Device
from gpuprims.ndimage.arguments import axes_of, axis_of, each_axis, first_of, whole
from gpuprims.ndimage.calls import begin, filtering
from gpuprims.ndimage.neighbourhoods import neighbourhood_of
from gpuprims.ndimage.ranks import extreme, ranked


@filtering
def minimum_filter1d(
    input: Any,  # noqa: A002 - SciPy's name
    size: int,
    axis: int = -1,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
    *,
    device: str | Device | None = None,
) -> Any:
    """Return the smallest neighbours along one axis, as :func:`scipy.ndimage.minimum_filter1d`.

    Parameters
    ----------
    input, output, mode, cval, origin, device
        As :func:`correlate` takes them.
    size : int
        The number of neighbours.
    axis : int, default -1
        The axis.

    Returns
    -------
    array
        As :func:`rank_filter`, with its errors.

    Examples
    --------
    >>> import numpy as np
    >>> from gpuprims import ndimage
    >>> ndimage.minimum_filter1d(np.int32([5, 1, 7, 3]), 2, device="reference")
    array([5, 1, 1, 3], dtype=int32)
    """
    return _along("minimum_filter1d", input, size, axis, output, mode, cval, origin, device)


@filtering
def maximum_filter1d(
    input: Any,  # noqa: A002 - SciPy's name
    size: int,
    axis: int = -1,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
    *,
    device: str | Device | None = None,
) -> Any:
    """Return the largest neighbours along one axis, as :func:`scipy.ndimage.maximum_filter1d`.

    Parameters, results and errors are those of :func:`minimum_filter1d`.

    Examples
    --------
    >>> import numpy as np
    >>> from gpuprims import ndimage
    >>> ndimage.maximum_filter1d(np.int32([5, 1, 7, 3]), 2, device="reference")
    array([5, 5, 7, 7], dtype=int32)
    """
    return _along("maximum_filter1d", input, size, axis, output, mode, cval, origin, device)


def _along(
    name: str,
    given: Any,
    size: Any,
    axis: Any,
    output: Any,
    mode: Any,
    cval: Any,
    origin: Any,
    device: str | Device | None,
) -> Any:
    call = begin(f"ndimage.{name}", given, output, device)
    along, count = axis_of(call.label, axis, len(call.shape)), whole(call.label, "size", size, 1)
    line = along, count, first_of(call.label, origin, count), mode
    return extreme(call, [line], cval, larger=name == "maximum_filter1d")


@filtering
def minimum_filter(
    input: Any,  # noqa: A002 - SciPy's name
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
    device: str | Device | None = None,
) -> Any:
    """Return each element's smallest neighbour, as :func:`scipy.ndimage.minimum_filter`.

    Parameters
    ----------
    input, size, footprint, output, cval, origin, axes, device
        As :func:`rank_filter` takes them.
    mode : str or sequence of str, default "reflect"
        As for :func:`correlate`; with ``size``, also one for each axis.

    Returns
    -------
    array
        As :func:`rank_filter`, with its errors.

    Examples
    --------
    >>> import numpy as np
    >>> from gpuprims import ndimage
    >>> ndimage.minimum_filter(np.int32([5, 1, 7, 3]), footprint=[True, False, True], device="reference")
    array([1, 5, 1, 3], dtype=int32)
    """
    return _extreme("minimum_filter", input, size, footprint, output, mode, cval, origin, axes, device)


@filtering
def maximum_filter(
    input: Any,  # noqa: A002 - SciPy's name
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
    device: str | Device | None = None,
) -> Any:
    """Return each element's largest neighbour, as :func:`scipy.ndimage.maximum_filter`.

    Parameters, results and errors are those of :func:`minimum_filter`.

    Examples
    --------
    >>> import numpy as np
    >>> from gpuprims import ndimage
    >>> ndimage.maximum_filter(np.int32([[5, 1], [7, 3]]), size=(1, 2), device="reference")
    array([[5, 5],
           [7, 7]], dtype=int32)
    """
    return _extreme("maximum_filter", input, size, footprint, output, mode, cval, origin, axes, device)


def _extreme(
    name: str,
    given: Any,
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
    larger = name == "maximum_filter"
    if near.places is not None:
        return ranked(call, near, near.size - 1 if larger else 0, mode, cval)
    along = axes_of(call.label, axes, len(call.shape))
    modes = dict(zip(along, each_axis(call.label, "mode", mode, len(along)), strict=True))
    lines = [(axis, n, low, modes[axis]) for axis, n, low in zip(near.axes, near.lengths, near.first, strict=True)]
    return extreme(call, lines, cval, larger=larger)
