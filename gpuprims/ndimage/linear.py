"""correlate, convolve, correlate1d and convolve1d: weighted sums of neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuprims.core.device import Device
from gpuprims.errors import ShapeError
from gpuprims.ndimage.arguments import axes_of, axis_of, each_axis, first_of, weights_of
from gpuprims.ndimage.calls import Bound, begin, filtering
from gpuprims.ndimage.lines import Line, filtered
from gpuprims.ndimage.padded import in_row
from gpuprims.primitives.stencil.filters import Filter, of_filter
from gpuprims.primitives.stencil.grids import reaches
from gpuprims.primitives.stencil.stencils import Stencil


@filtering
def correlate(
    input: Any,  # noqa: A002 - SciPy's name
    weights: Any,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
    device: str | Device | None = None,
) -> Any:
    """Sum each element's neighbours, times weights, as :func:`scipy.ndimage.correlate`.

    Parameters
    ----------
    input : array_like
        Real numbers.
    weights : array_like
        Weights, with an axis for each axis of the array; of any lengths.
    output : array or dtype, optional
        Where to write, or the dtype of the result; by default a new array of the dtype of ``input``.
    mode : {"reflect", "constant", "nearest", "mirror", "wrap"}, default "reflect"
        How the array continues beyond its borders: ``d c b a | a b c d | d c b a``, with ``cval``, with the element at
        the border, ``d c b | a b c d | c b a``, or with the opposite end. SciPy's names ``"grid-mirror"``,
        ``"grid-constant"`` and ``"grid-wrap"`` are the same as ``"reflect"``, ``"constant"`` and ``"wrap"``.
    cval : scalar, default 0.0
        The element beyond the borders in mode "constant"; the dtype of ``input`` must hold it.
    origin : int or sequence of int, default 0
        How far the neighbourhood is moved to the left, for each axis.
    axes : tuple of int, optional
        Axes of the array that have neighbours; by default all.
    device : str or Device, optional
        Where to compute, for host arrays.

    Returns
    -------
    array
        Of the shape of ``input``; ``output`` itself if that is an array. Floats are summed in float32, or in float64
        if ``input`` or the result is float64. Integer results are SciPy's: sums in float64, truncated towards zero.

    Raises
    ------
    ArgumentError, ShapeError, AxisError, DtypeError
        Weights of other axes or that are not finite, an unknown mode, an origin outside the weights, or complex
        numbers.
    ArrayError, DeviceMismatchError, NoVariantError
        As :func:`gpuprims.map`; float weights of integers of 32 and 64 bits on a device without float64.

    Notes
    -----
    Out of the range of 32 and 64 bits, integer results saturate; SciPy's differ between platforms there. Weights of
    zero keep NaN out, which SciPy's filters of one axis spread.

    Examples
    --------
    >>> import numpy as np
    >>> from gpuprims import ndimage
    >>> ndimage.correlate(np.int32([1, 2, 3, 4]), [0, 1, 2], device="reference")
    array([ 5,  8, 11, 12], dtype=int32)
    """
    return _sum("correlate", input, weights, output, mode, cval, origin, axes, device)


@filtering
def convolve(
    input: Any,  # noqa: A002 - SciPy's name
    weights: Any,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
    device: str | Device | None = None,
) -> Any:
    """Sum each element's neighbours, times weights from the last to the first, as :func:`scipy.ndimage.convolve`.

    Parameters, results and errors are those of :func:`correlate`; ``origin`` moves the neighbourhood to the right.

    Examples
    --------
    >>> import numpy as np
    >>> from gpuprims import ndimage
    >>> ndimage.convolve(np.int32([1, 2, 3, 4]), [0, 1, 2], device="reference")
    array([ 3,  4,  7, 10], dtype=int32)
    """
    return _sum("convolve", input, weights, output, mode, cval, origin, axes, device)


def _sum(
    name: str,
    given: Any,
    weights: Any,
    output: Any,
    mode: Any,
    cval: Any,
    origin: Any,
    axes: Any,
    device: str | Device | None,
) -> Any:
    call = begin(f"ndimage.{name}", given, output, device)
    label, table = call.label, weights_of(call.label, weights)
    along = axes_of(label, axes, len(call.shape))
    if table.ndim != len(along):
        raise ShapeError(f"{label}: weights of {len(along)} axes; got shape {table.shape}")
    origins = each_axis(label, "origin", origin, len(along))
    if name == "convolve":
        table, origins = np.flip(table), [_turned(one, n) for one, n in zip(origins, table.shape, strict=True)]
    first = [first_of(label, one, n) for one, n in zip(origins, table.shape, strict=True)]
    order = sorted(range(len(along)), key=along.__getitem__)
    wide = [k for k in order if table.shape[k] > 1] or order[-1:]
    chosen = Filter.of(
        np.transpose(table, order).reshape([table.shape[k] for k in wide]), [first[k] for k in wide], line=False
    )
    near = tuple(along[k] for k in wide)
    border, told = call.border(mode, cval, call.element), (call.element, call.result, call.double)
    if not reaches(near):
        return in_row(call, near, chosen.offsets, border, lambda places: of_filter(chosen.in_row(places), *told))

    def stencil(rank: int, places: tuple[int, ...]) -> Stencil:
        return of_filter(chosen.placed(rank, places), *told)

    return Bound(call, (call.along(near, stencil, border),))


def _turned(origin: Any, length: int) -> Any:
    """Return the origin of weights in the opposite order."""
    whole_number = isinstance(origin, int | np.integer) and not isinstance(origin, bool)
    return -origin - (length % 2 == 0) if whole_number else origin


@filtering
def correlate1d(
    input: Any,  # noqa: A002 - SciPy's name
    weights: Any,
    axis: int = -1,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
    *,
    device: str | Device | None = None,
) -> Any:
    """Sum neighbours along one axis, times weights, as :func:`scipy.ndimage.correlate1d`.

    Parameters
    ----------
    input, output, mode, cval, origin, device
        As :func:`correlate` takes them.
    weights : array_like
        Weights of one axis, of any length.
    axis : int, default -1
        The axis.

    Returns
    -------
    array
        Of the shape of ``input``, as :func:`correlate` returns it. Errors are those of :func:`correlate`.

    Examples
    --------
    >>> import numpy as np
    >>> from gpuprims import ndimage
    >>> ndimage.correlate1d(np.float32([[1, 2], [4, 8]]), [-1, 1], axis=0, device="reference")
    array([[0., 0.],
           [3., 6.]], dtype=float32)
    """
    return _line("correlate1d", input, weights, axis, output, mode, cval, origin, device)


@filtering
def convolve1d(
    input: Any,  # noqa: A002 - SciPy's name
    weights: Any,
    axis: int = -1,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
    *,
    device: str | Device | None = None,
) -> Any:
    """Sum neighbours along one axis, times weights from the last to the first, as :func:`scipy.ndimage.convolve1d`.

    Parameters, results and errors are those of :func:`correlate1d`; ``origin`` moves the neighbourhood to the right.

    Examples
    --------
    >>> import numpy as np
    >>> from gpuprims import ndimage
    >>> ndimage.convolve1d(np.float32([1, 2, 4]), [1, -1], device="reference")
    array([1., 2., 0.], dtype=float32)
    """
    return _line("convolve1d", input, weights, axis, output, mode, cval, origin, device)


def _line(
    name: str,
    given: Any,
    weights: Any,
    axis: Any,
    output: Any,
    mode: Any,
    cval: Any,
    origin: Any,
    device: str | Device | None,
) -> Bound:
    call = begin(f"ndimage.{name}", given, output, device)
    line = weights_of(call.label, weights)
    if line.ndim != 1:
        raise ShapeError(f"{call.label}: weights of one axis; got shape {line.shape}")
    if name == "convolve1d":
        line, origin = line[::-1], _turned(origin, len(line))
    first = first_of(call.label, origin, len(line))
    along = axis_of(call.label, axis, len(call.shape))
    return filtered(call, [Line(along, tuple(line.tolist()), first, mode)], cval)
