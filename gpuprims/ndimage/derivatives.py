"""sobel, prewitt and laplace: differences of neighbours."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from gpuprims.core.device import Device
from gpuprims.ndimage.arguments import axes_of, axis_of, each_axis, mode_of
from gpuprims.ndimage.calls import Bound, Call, begin, filtering
from gpuprims.ndimage.lines import Line, filtered
from gpuprims.ndimage.sums import summed
from gpuprims.primitives.stencil.filters import Filter, of_filter
from gpuprims.primitives.stencil.grids import reaches
from gpuprims.primitives.stencil.stencils import Stencil

_DIFFERENCE, _SECOND = (-1.0, 0.0, 1.0), (1.0, -2.0, 1.0)
_SOBEL, _PREWITT = (1.0, 2.0, 1.0), (1.0, 1.0, 1.0)


@filtering
def sobel(
    input: Any,  # noqa: A002 - SciPy's name
    axis: int = -1,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    *,
    device: str | Device | None = None,
) -> Any:
    """Return differences along an axis, smoothed along the others, as :func:`scipy.ndimage.sobel`.

    Parameters
    ----------
    input, output, cval, device
        As :func:`correlate` takes them.
    axis : int, default -1
        The axis of differences ``-1 0 1``; the weights along all others are ``1 2 1``.
    mode : str or sequence of str, default "reflect"
        As for :func:`correlate`, also one for each axis.

    Returns
    -------
    array
        Of the shape of ``input``, as :func:`correlate` returns it. Errors are those of :func:`correlate`.

    Examples
    --------
    >>> import numpy as np
    >>> from gpuprims import ndimage
    >>> ndimage.sobel(np.int32([[1, 2, 4], [1, 2, 4]]), device="reference")
    array([[ 4, 12,  8],
           [ 4, 12,  8]], dtype=int32)
    """
    return _smoothed("sobel", _SOBEL, input, axis, output, mode, cval, device)


@filtering
def prewitt(
    input: Any,  # noqa: A002 - SciPy's name
    axis: int = -1,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    *,
    device: str | Device | None = None,
) -> Any:
    """Return differences along an axis, summed along the others, as :func:`scipy.ndimage.prewitt`.

    Parameters, results and errors are those of :func:`sobel`; the weights along other axes are ``1 1 1``.

    Examples
    --------
    >>> import numpy as np
    >>> from gpuprims import ndimage
    >>> ndimage.prewitt(np.int32([[1, 2, 4], [1, 2, 4]]), device="reference")
    array([[3, 9, 6],
           [3, 9, 6]], dtype=int32)
    """
    return _smoothed("prewitt", _PREWITT, input, axis, output, mode, cval, device)


def _smoothed(
    name: str,
    smooth: tuple[float, ...],
    given: Any,
    axis: Any,
    output: Any,
    mode: Any,
    cval: Any,
    device: str | Device | None,
) -> Bound:
    call = begin(f"ndimage.{name}", given, output, device)
    ndim = len(call.shape)
    along, modes = axis_of(call.label, axis, ndim), each_axis(call.label, "mode", mode, ndim)
    lines = [Line(k, _DIFFERENCE if k == along else smooth, -1, modes[k]) for k in range(ndim)]
    lines.insert(0, lines.pop(along))
    same = len({mode_of(one) for one in modes if isinstance(one, str)}) == 1
    if not (same and _wraps(call) and reaches(tuple(range(ndim))) and (cval == 0 or mode_of(modes[0]) != "constant")):
        return filtered(call, lines, cval)
    # Integers that wrap: the sum of all products equals the sums along one axis after the other.
    table = reduce(np.multiply.outer, [np.array(line.weights) for line in sorted(lines)])
    return _at_once(call, table, tuple(range(ndim)), modes[0], cval)


def _wraps(call: Call) -> bool:
    """Return True if sums along one axis after the other are the low bits of an exact sum."""
    return call.element.kind in "iu" and call.element.itemsize < 8 and call.result.kind in "iu"


def _at_once(call: Call, weights: np.ndarray, axes: tuple[int, ...], mode: Any, cval: Any) -> Bound:
    """Return one stencil of weights of length 3."""
    chosen = Filter.of(weights, (-1,) * len(axes), line=False)

    def stencil(rank: int, places: tuple[int, ...]) -> Stencil:
        return of_filter(chosen.placed(rank, places), call.element, call.result, call.double)

    return Bound(call, (call.along(axes, stencil, call.border(mode, cval, call.element)),))


@filtering
def laplace(
    input: Any,  # noqa: A002 - SciPy's name
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    *,
    axes: Any = None,
    device: str | Device | None = None,
) -> Any:
    """Return sums of second differences along each axis, as :func:`scipy.ndimage.laplace`.

    Parameters
    ----------
    input, output, cval, axes, device
        As :func:`correlate` takes them.
    mode : str or sequence of str, default "reflect"
        As for :func:`correlate`, also one for each axis.

    Returns
    -------
    array
        Of the shape of ``input``, as :func:`correlate` returns it. Errors are those of :func:`correlate`.

    Examples
    --------
    >>> import numpy as np
    >>> from gpuprims import ndimage
    >>> ndimage.laplace(np.float32([1, 2, 4, 8]), device="reference")
    array([ 1.,  1.,  2., -4.], dtype=float32)
    """
    call = begin("ndimage.laplace", input, output, device)
    along = axes_of(call.label, axes, len(call.shape))
    modes = each_axis(call.label, "mode", mode, len(along))
    near = tuple(sorted(along))
    same = len({mode_of(one) for one in modes if isinstance(one, str)}) == 1
    if along and same and reaches(near) and (_wraps(call) or call.result.kind == "f"):
        return _at_once(call, _cross(len(near)), near, modes[0], cval)
    lines = [[Line(axis, _SECOND, -1, how)] for axis, how in zip(along, modes, strict=True)]
    return summed(call, lines, cval)


def _cross(rank: int) -> np.ndarray:
    """Return the second differences along each of some axes, summed."""
    weights = np.zeros((3,) * rank)
    for axis in range(rank):
        line = weights[tuple(slice(None) if k == axis else 1 for k in range(rank))]
        line += _SECOND
    return weights
