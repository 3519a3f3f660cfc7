"""Filters made of derivatives along each axis, by Gaussian weights or by the caller's function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gpuprims.core.device import Device
from gpuprims.errors import ArgumentError, quoted
from gpuprims.ndimage.arguments import axes_of, each_axis, extras_of
from gpuprims.ndimage.calls import Call, begin, filtering
from gpuprims.ndimage.gaussians import gaussian_lines
from gpuprims.ndimage.lines import Line
from gpuprims.ndimage.sums import length, length_of, sum_of, summed


@filtering
def gaussian_laplace(
    input: Any,  # noqa: A002 - SciPy's name
    sigma: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    *,
    axes: Any = None,
    truncate: float = 4.0,
    radius: Any = None,
    device: str | Device | None = None,
) -> Any:
    """Return sums of second derivatives of Gaussian filters, as :func:`scipy.ndimage.gaussian_laplace`.

    Parameters
    ----------
    input, output, cval, axes, device
        As :func:`correlate` takes them.
    sigma, mode, truncate, radius
        As :func:`gaussian_filter` takes them.

    Returns
    -------
    array
        Of the shape of ``input``, as :func:`correlate` returns it. Errors are those of :func:`correlate`.

    Examples
    --------
    >>> import numpy as np
    >>> from gpuprims import ndimage
    >>> ndimage.gaussian_laplace(np.float32([0, 0, 9, 0, 0]), 1, device="reference").round(2)
    array([ 1.78,  0.02, -3.59,  0.02,  1.78], dtype=float32)
    """
    call = begin("ndimage.gaussian_laplace", input, output, device)
    return summed(call, _derivatives(call, 2, sigma, mode, truncate, radius, axes), cval)


@filtering
def gaussian_gradient_magnitude(
    input: Any,  # noqa: A002 - SciPy's name
    sigma: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    *,
    axes: Any = None,
    truncate: float = 4.0,
    radius: Any = None,
    device: str | Device | None = None,
) -> Any:
    """Return gradient magnitudes by Gaussian derivatives, as :func:`scipy.ndimage.gaussian_gradient_magnitude`.

    Parameters, results and errors are those of :func:`gaussian_laplace`.

    Examples
    --------
    >>> import numpy as np
    >>> from gpuprims import ndimage
    >>> ndimage.gaussian_gradient_magnitude(np.float32([0, 0, 9, 0, 0]), 1, device="reference").round(2)
    array([0.85, 2.17, 0.  , 2.17, 0.85], dtype=float32)
    """
    call = begin("ndimage.gaussian_gradient_magnitude", input, output, device)
    return length(call, _derivatives(call, 1, sigma, mode, truncate, radius, axes), cval)


def _derivatives(
    call: Call, order: int, sigma: Any, mode: Any, truncate: Any, radius: Any, axes: Any
) -> list[list[Line]]:
    """Return, for each axis, Gaussian weights with the derivative along that axis, all in the axis' mode."""
    along = axes_of(call.label, axes, len(call.shape))
    modes = each_axis(call.label, "mode", mode, len(along))
    each = [[order if k == axis else 0 for k in range(len(along))] for axis in range(len(along))]
    return [
        gaussian_lines(call, sigma, orders, how, truncate, radius, along)
        for orders, how in zip(each, modes, strict=True)
    ]


@filtering
def generic_laplace(
    input: Any,  # noqa: A002 - SciPy's name
    derivative2: Callable[..., Any],
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    extra_arguments: Sequence[Any] = (),
    extra_keywords: Mapping[str, Any] | None = None,
    *,
    axes: Any = None,
    device: str | Device | None = None,
) -> Any:
    """Return sums of second derivatives by a function of yours, as :func:`scipy.ndimage.generic_laplace`.

    Parameters
    ----------
    input, output, mode, cval, axes, device
        As :func:`laplace` takes them.
    derivative2 : callable
        Returns the derivative of an array along an axis, from
        ``(input, axis, output, mode, cval, *extra_arguments, **extra_keywords)``; ``output`` is a dtype.
    extra_arguments, extra_keywords : sequence and mapping, optional
        Further arguments of the function.

    Returns
    -------
    array
        Of the shape of ``input``. Errors are those of :func:`correlate`.

    Examples
    --------
    >>> import numpy as np
    >>> from gpuprims import ndimage
    >>> def second(x, axis, output, mode, cval):
    ...     return ndimage.correlate1d(x, [1, -2, 1], axis, output, mode, cval, device="reference")
    >>> ndimage.generic_laplace(np.float32([1, 2, 4, 8]), second, device="reference")
    array([ 1.,  1.,  2., -4.], dtype=float32)
    """
    call = begin("ndimage.generic_laplace", input, output, device)
    return sum_of(call, _by(call, input, derivative2, mode, cval, extra_arguments, extra_keywords, axes))


@filtering
def generic_gradient_magnitude(
    input: Any,  # noqa: A002 - SciPy's name
    derivative: Callable[..., Any],
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    extra_arguments: Sequence[Any] = (),
    extra_keywords: Mapping[str, Any] | None = None,
    *,
    axes: Any = None,
    device: str | Device | None = None,
) -> Any:
    """Return lengths of gradients by a function of yours, as :func:`scipy.ndimage.generic_gradient_magnitude`.

    Parameters, results and errors are those of :func:`generic_laplace`.

    Examples
    --------
    >>> import numpy as np
    >>> from gpuprims import ndimage
    >>> def sobel(x, axis, output, mode, cval):
    ...     return ndimage.sobel(x, axis, output, mode, cval, device="reference")
    >>> ndimage.generic_gradient_magnitude(np.float32([[1, 4], [5, 8]]), sobel, device="reference")
    array([[20., 20.],
           [20., 20.]], dtype=float32)
    """
    call = begin("ndimage.generic_gradient_magnitude", input, output, device)
    return length_of(call, _by(call, input, derivative, mode, cval, extra_arguments, extra_keywords, axes))


def _by(
    call: Call,
    given: Any,
    function: Callable[..., Any],
    mode: Any,
    cval: Any,
    arguments: Sequence[Any],
    keywords: Mapping[str, Any] | None,
    axes: Any,
) -> list[Any]:
    """Return the derivative along each axis by a caller's function."""
    label = call.label
    if not callable(function):
        raise ArgumentError(f"{label}: a function as derivative, such as sobel; got {quoted(function)}")
    more, named = extras_of(label, arguments, keywords)
    along = axes_of(label, axes, len(call.shape))
    modes = each_axis(label, "mode", mode, len(along))
    found = [
        function(given, axis, call.result, how, cval, *more, **named) for axis, how in zip(along, modes, strict=True)
    ]
    for one in found:
        shape = getattr(one, "shape", None)
        if shape != call.shape:
            got = f"an array of shape {shape}" if shape is not None else quoted(one)
            raise ArgumentError(f"{label}: a derivative that returns an array of shape {call.shape}; got {got}")
    return found
