"""gaussian_filter and gaussian_filter1d: Gaussian weights and their derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuprims.core.determinism import asks_for_device, cached_by_level
from gpuprims.core.device import Device
from gpuprims.errors import ArgumentError, quoted
from gpuprims.ndimage.arguments import axes_of, axis_of, each_axis, number, whole
from gpuprims.ndimage.calls import Call, begin, filtering
from gpuprims.ndimage.lines import Line, filtered
from gpuprims.primitives.stencil.weights import exponential

# SciPy leaves out axes with smaller standard deviations.
_LEAST_SIGMA = 1e-15
# Most weights on each side: more are refused before they are computed.
_MOST = 2**20


@filtering
def gaussian_filter1d(
    input: Any,  # noqa: A002 - SciPy's name
    sigma: float,
    axis: int = -1,
    order: int = 0,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    truncate: float = 4.0,
    *,
    radius: int | None = None,
    device: str | Device | None = None,
) -> Any:
    """Apply Gaussian weights along one axis, as :func:`scipy.ndimage.gaussian_filter1d`.

    Parameters
    ----------
    input, output, mode, cval, device
        As :func:`correlate` takes them.
    sigma : float
        Standard deviation of the weights.
    axis : int, default -1
        The axis.
    order : int, default 0
        Which derivative of the Gaussian function the weights are; 0 for the function itself.
    truncate : float, default 4.0
        Weights end after so many standard deviations.
    radius : int, optional
        The number of weights on each side, instead of ``truncate``.

    Returns
    -------
    array
        Of the shape of ``input``, as :func:`correlate` returns it. Errors are those of :func:`correlate`.

    Examples
    --------
    >>> import numpy as np
    >>> from gpuprims import ndimage
    >>> ndimage.gaussian_filter1d(np.float64([0, 0, 8, 0]), 1, device="reference").round(2)
    array([0.47, 1.94, 3.23, 2.37])
    """
    call = begin("ndimage.gaussian_filter1d", input, output, device)
    along = axis_of(call.label, axis, len(call.shape))
    return filtered(call, [gaussian_line(call, along, sigma, order, mode, truncate, radius)], cval)


@filtering
def gaussian_filter(
    input: Any,  # noqa: A002 - SciPy's name
    sigma: Any,
    order: Any = 0,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    truncate: float = 4.0,
    *,
    radius: Any = None,
    axes: Any = None,
    device: str | Device | None = None,
) -> Any:
    """Apply Gaussian weights along each axis, as :func:`scipy.ndimage.gaussian_filter`.

    Parameters
    ----------
    input, output, cval, axes, device
        As :func:`correlate` takes them.
    sigma : float or sequence of float
        Standard deviations of the weights. Along an axis with 0 nothing changes.
    order, mode, radius : int, str and int, or sequences of them
        As :func:`gaussian_filter1d` takes them, also one for each axis.
    truncate : float, default 4.0
        Weights end after so many standard deviations.

    Returns
    -------
    array
        Of the shape of ``input``, as :func:`correlate` returns it. Integers are truncated towards zero along each axis
        in turn. Errors are those of :func:`correlate`.

    Examples
    --------
    >>> import numpy as np
    >>> from gpuprims import ndimage
    >>> spot = np.zeros((3, 4))
    >>> spot[1, 1] = 10
    >>> ndimage.gaussian_filter(spot, 1, device="reference").round(2)
    array([[0.88, 1.19, 0.72, 0.17],
           [1.21, 1.64, 0.99, 0.24],
           [0.88, 1.19, 0.72, 0.17]])
    """
    call = begin("ndimage.gaussian_filter", input, output, device)
    return filtered(call, gaussian_lines(call, sigma, order, mode, truncate, radius, axes), cval)


def gaussian_lines(call: Call, sigma: Any, order: Any, mode: Any, truncate: Any, radius: Any, axes: Any) -> list[Line]:
    """Return the weights of each axis."""
    along = axes_of(call.label, axes, len(call.shape))
    given = ("sigma", sigma), ("order", order), ("mode", mode), ("radius", radius)
    sigmas, orders, modes, radii = (each_axis(call.label, name, one, len(along)) for name, one in given)
    return [
        gaussian_line(call, axis, sd, which, how, truncate, reach)
        for axis, sd, which, how, reach in zip(along, sigmas, orders, modes, radii, strict=True)
        if number(call.label, "sigma", sd) > _LEAST_SIGMA
    ]


def gaussian_line(call: Call, axis: int, sigma: Any, order: Any, mode: Any, truncate: Any, radius: Any) -> Line:
    """Return the weights of one axis."""
    deviation, ends = number(call.label, "sigma", sigma), number(call.label, "truncate", truncate)
    reach = int(ends * deviation + 0.5) if radius is None else whole(call.label, "radius", radius, 0)
    if not deviation > 0 or not 0 <= reach <= _MOST:
        rule = f"sigma= above 0, and up to {_MOST:,} weights on each side"
        raise ArgumentError(f"{call.label}: {rule}; got sigma={quoted(sigma)} and {reach:,} weights")
    return Line(axis, gaussian_weights(deviation, whole(call.label, "order", order, 0), reach), -reach, mode)


@cached_by_level(256)
def gaussian_weights(sigma: float, order: int, reach: int) -> tuple[float, ...]:
    """Return SciPy's weights for a derivative of the Gaussian function, in the order of the neighbours."""
    variance, x = sigma * sigma, np.arange(-reach, reach + 1)
    normal = exponential(-0.5 / variance * x**2)
    normal = normal / normal.sum()
    # The derivative of factor(x) * normal(x) is (factor'(x) - x / variance * factor(x)) * normal(x). Rounded as SciPy
    # does, so that integers truncate alike.
    powers, factor = np.arange(order + 1), np.zeros(order + 1)
    factor[0] = 1
    for _ in range(order):
        falling, rising = np.append(powers[1:] * factor[1:], 0), np.append(0, factor[:-1] * (1 / -variance))
        factor = falling + rising
    along = x[:, np.newaxis] ** powers
    values = (along * factor).sum(axis=1) if asks_for_device() else along.dot(factor)
    weights = values * normal if order else normal
    return tuple(weights[::-1].tolist())
