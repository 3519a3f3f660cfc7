"""uniform_filter and uniform_filter1d: means of neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuprims.core.device import Device
from gpuprims.ndimage.arguments import axes_of, axis_of, each_axis, first_of, whole
from gpuprims.ndimage.box_sums import Means, takes_blocks
from gpuprims.ndimage.calls import Call, begin, filtering
from gpuprims.ndimage.lines import Line, filtered


@filtering
def uniform_filter1d(
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
    """Return means of neighbours along one axis, as :func:`scipy.ndimage.uniform_filter1d`.

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
        Of the shape of ``input``, as :func:`correlate` returns it. Means of integers are truncated towards zero. Errors
        are those of :func:`correlate`.

    Examples
    --------
    >>> import numpy as np
    >>> from gpuprims import ndimage
    >>> ndimage.uniform_filter1d(np.int32([1, 2, 6, 8]), 2, device="reference")
    array([1, 1, 4, 7], dtype=int32)
    """
    call = begin("ndimage.uniform_filter1d", input, output, device)
    along = axis_of(call.label, axis, len(call.shape))
    return _filtered(call, [_mean(call.label, along, size, mode, origin)], cval)


@filtering
def uniform_filter(
    input: Any,  # noqa: A002 - SciPy's name
    size: Any = 3,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
    device: str | Device | None = None,
) -> Any:
    """Return means of boxes around elements, as :func:`scipy.ndimage.uniform_filter`.

    Parameters
    ----------
    input, output, cval, axes, device
        As :func:`correlate` takes them.
    size : int or sequence of int, default 3
        Lengths of the box.
    mode, origin : str and int, or sequences of them
        As for :func:`correlate`, also one for each axis.

    Returns
    -------
    array
        Of the shape of ``input``, as :func:`correlate` returns it. Means of integers are truncated towards zero along
        each axis in turn. Errors are those of :func:`correlate`.

    Examples
    --------
    >>> import numpy as np
    >>> from gpuprims import ndimage
    >>> ndimage.uniform_filter(np.float32([[0, 0, 8], [0, 0, 0]]), (2, 1), device="reference")
    array([[0., 0., 8.],
           [0., 0., 4.]], dtype=float32)
    """
    call = begin("ndimage.uniform_filter", input, output, device)
    label, along = call.label, axes_of(call.label, axes, len(call.shape))
    each = [
        each_axis(label, name, one, len(along)) for name, one in (("size", size), ("mode", mode), ("origin", origin))
    ]
    lines = [_mean(label, axis, *one) for axis, *one in zip(along, *each, strict=True)]
    return _filtered(call, [line for line in lines if line.mean_of > 1], cval)


def _filtered(call: Call, lines: Sequence[Line], cval: Any) -> Any:
    return Means(call, lines, cval) if takes_blocks(call, lines) else filtered(call, lines, cval)


def _mean(label: str, axis: int, size: Any, mode: Any, origin: Any) -> Line:
    count = whole(label, "size", size, 1)
    return Line(axis, (1.0,) * count, first_of(label, origin, count), mode, count)
