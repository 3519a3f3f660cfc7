"""binary_erosion, binary_dilation, binary_opening and binary_closing: neighbours that are all True, or one of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.keywords import check_flags
from gpuprims.core.operands import as_operands
from gpuprims.errors import ArgumentError, ShapeError, quoted
from gpuprims.ndimage.arguments import axes_of, is_whole, number, whole
from gpuprims.ndimage.binary_by_numpy import Shifted, takes
from gpuprims.ndimage.calls import Bound, Call, begin, copied, filtering, on_device, run_bound
from gpuprims.ndimage.neighbourhoods import Neighbourhood, neighbourhood_of
from gpuprims.ndimage.ranks import ranked
from gpuprims.primitives.map import map as map_arrays
from gpuprims.primitives.reduce import reduce

_BOOL = np.dtype(bool)
# Iterations between two checks for changes.
_BATCH = 8
# Most axes for which the default structure is made: 3^12 bools.
_MOST_CROSSED = 12


@filtering
def binary_erosion(
    input: Any,  # noqa: A002 - SciPy's name
    structure: Any = None,
    iterations: int = 1,
    mask: Any = None,
    output: Any = None,
    border_value: int = 0,
    origin: Any = 0,
    brute_force: bool = False,
    *,
    axes: Any = None,
    device: str | Device | None = None,
) -> Any:
    """Return True where all neighbours are, as :func:`scipy.ndimage.binary_erosion`.

    Parameters
    ----------
    input : array_like
        Real numbers; all but 0 are True.
    structure : array_like of bool, optional
        Which elements of a box are neighbours; by default an element and those beside it along each axis.
    iterations : int, default 1
        How many times to erode; below 1, until nothing changes.
    mask : array_like, optional
        Where elements may change, of the shape of ``input`` and on the same device.
    output, origin, axes, device
        As :func:`correlate` takes them; without an array the result is of bools.
    border_value : int, default 0
        1 if the elements beyond the borders are True.
    brute_force : bool, default False
        Makes no difference; SciPy has it.

    Returns
    -------
    array of bool
        Of the shape of ``input``; ``output`` itself if that is an array.

    Raises
    ------
    ArgumentError, ShapeError, AxisError, DtypeError
        A structure without neighbours, a mask of another shape, or as :func:`correlate`.
    ArrayError, DeviceMismatchError, NoVariantError
        As :func:`gpuprims.map`.

    Examples
    --------
    >>> import numpy as np
    >>> from gpuprims import ndimage
    >>> ndimage.binary_erosion([1, 1, 1, 0, 1], device="reference")
    array([False,  True, False, False, False])
    """
    check_flags("ndimage.binary_erosion", brute_force=brute_force)
    return _binary("binary_erosion", input, structure, iterations, mask, output, border_value, origin, axes, device)


@filtering
def binary_dilation(
    input: Any,  # noqa: A002 - SciPy's name
    structure: Any = None,
    iterations: int = 1,
    mask: Any = None,
    output: Any = None,
    border_value: int = 0,
    origin: Any = 0,
    brute_force: bool = False,
    *,
    axes: Any = None,
    device: str | Device | None = None,
) -> Any:
    """Return True where a neighbour is, as :func:`scipy.ndimage.binary_dilation`.

    Parameters, results and errors are those of :func:`binary_erosion`; neighbours lie on the opposite side.

    Examples
    --------
    >>> import numpy as np
    >>> from gpuprims import ndimage
    >>> ndimage.binary_dilation([0, 0, 0, 1, 0], iterations=2, device="reference")
    array([False,  True,  True,  True,  True])
    """
    check_flags("ndimage.binary_dilation", brute_force=brute_force)
    return _binary("binary_dilation", input, structure, iterations, mask, output, border_value, origin, axes, device)


@filtering
def binary_opening(
    input: Any,  # noqa: A002 - SciPy's name
    structure: Any = None,
    iterations: int = 1,
    output: Any = None,
    origin: Any = 0,
    mask: Any = None,
    border_value: int = 0,
    brute_force: bool = False,
    *,
    axes: Any = None,
    device: str | Device | None = None,
) -> Any:
    """Return an erosion and then its dilation, as :func:`scipy.ndimage.binary_opening`.

    Parameters, results and errors are those of :func:`binary_erosion`.

    Examples
    --------
    >>> import numpy as np
    >>> from gpuprims import ndimage
    >>> ndimage.binary_opening([0, 1, 0, 1, 1, 1, 0], device="reference")
    array([False, False, False,  True,  True,  True, False])
    """
    how = structure, iterations, mask
    between = binary_erosion(input, *how, None, border_value, origin, brute_force, axes=axes, device=device)
    return binary_dilation(between, *how, output, border_value, origin, brute_force, axes=axes, device=device)


@filtering
def binary_closing(
    input: Any,  # noqa: A002 - SciPy's name
    structure: Any = None,
    iterations: int = 1,
    output: Any = None,
    origin: Any = 0,
    mask: Any = None,
    border_value: int = 0,
    brute_force: bool = False,
    *,
    axes: Any = None,
    device: str | Device | None = None,
) -> Any:
    """Return a dilation and then its erosion, as :func:`scipy.ndimage.binary_closing`.

    Parameters, results and errors are those of :func:`binary_erosion`.

    Examples
    --------
    >>> import numpy as np
    >>> from gpuprims import ndimage
    >>> ndimage.binary_closing([0, 1, 1, 0, 1, 1, 0], device="reference")
    array([False,  True,  True,  True,  True,  True, False])
    """
    how = structure, iterations, mask
    between = binary_dilation(input, *how, None, border_value, origin, brute_force, axes=axes, device=device)
    return binary_erosion(between, *how, output, border_value, origin, brute_force, axes=axes, device=device)


def _binary(
    name: str,
    given: Any,
    structure: Any,
    iterations: Any,
    mask: Any,
    output: Any,
    border_value: Any,
    origin: Any,
    axes: Any,
    device: str | Device | None,
) -> Any:
    call = begin(f"ndimage.{name}", given, output if _is_array(output) else _BOOL, device)
    label, larger = call.label, name == "binary_dilation"
    along = axes_of(label, axes, len(call.shape))
    if not is_whole(iterations):
        raise ArgumentError(f"{label}: iterations= a whole number; got {quoted(iterations)}")
    iterations = whole(label, "iterations", iterations, min(int(iterations), 0))
    if structure is None and len(along) > _MOST_CROSSED:
        rule = f"structure= for more than {_MOST_CROSSED} axes, where the default is an array of 3^{len(along)} bools"
        raise ArgumentError(f"{label}: {rule}; got none (axes= names those to filter along)")
    places = cross(len(along)) if structure is None else structure
    near = neighbourhood_of(label, len(call.shape), None, places, origin, along, name="structure", flipped=larger)
    if iterations < 1 and (0,) * len(near.axes) not in near.offsets:
        rule = "iterations= from 1 on for a structure without the element itself, which may never stop changing"
        raise ArgumentError(f"{label}: {rule}; got {iterations}")
    rank, beyond = near.size - 1 if larger else 0, bool(number(label, "border_value", border_value))
    if takes(call, near, plain=mask is None and call.behind is None):
        masked = None if mask is None else _mask(call, call, mask)
        return Shifted(call, near, masked, iterations, larger=larger, beyond=beyond)
    if call.element == call.result == _BOOL and mask is call.behind is None and iterations >= 1:
        alone = ranked(call, near, rank, "constant", beyond)
        if isinstance(alone, Bound) and len(alone.requests) == 1:
            return alone._replace(requests=(alone.requests[0]._replace(iterations=iterations),))
    return _repeated(call, near, rank, mask, iterations, beyond=beyond)


def _repeated(call: Call, near: Neighbourhood, rank: int, mask: Any, iterations: int, *, beyond: bool) -> Any:
    """Filter where the mask allows it; below one iteration, until nothing changes."""
    there = on_device(call)
    array = there.operands.natives[0]
    if call.element != _BOOL:
        array = map_arrays(lambda v: v != 0, array, device=call.operands.device)
    allowed = None if mask is None else _mask(call, there, mask)

    def once(array: Any) -> Any:
        one = there._replace(operands=as_operands(call.label, (array,), call.operands.device), result=_BOOL)
        return ranked(one, near, rank, "constant", beyond)

    def step(array: Any, times: int) -> Any:
        for left in range(times, 0, -1):
            bound = once(array)
            if isinstance(bound, Bound) and len(bound.requests) == 1 and allowed is None:
                return run_bound(bound._replace(requests=(bound.requests[0]._replace(iterations=left),)))
            changed = run_bound(bound) if isinstance(bound, Bound) else bound
            array = (
                changed if allowed is None else map_arrays(_where, allowed, changed, array, device=call.operands.device)
            )
        return array

    if iterations >= 1:
        return copied(call, step(array, iterations))
    while True:
        before = step(array, _BATCH)
        array = step(before, 1)
        if not bool(reduce(array, before, map=lambda a, b: a != b, op="any", device=call.operands.device)):
            return copied(call, array)


def _is_array(output: Any) -> bool:
    """Return True for an array to write to; SciPy's results are bools for any dtype."""
    return output is not None and not isinstance(output, str | type | np.dtype)


def _where(condition: Any, one: Any, other: Any) -> Any:
    return np.where(condition, one, other)


def cross(ndim: int) -> np.ndarray:
    """Return the structure of an element and its neighbours along each axis."""
    places = np.zeros((3,) * ndim, bool)
    for axis in range(ndim):
        places[(1,) * axis + (slice(None),) + (1,) * (ndim - axis - 1)] = True
    return places


def _mask(call: Call, there: Call, mask: Any) -> Any:
    """Return where elements may change, as an array on the device of the call."""
    found = as_operands(call.label, (mask,), call.operands.device)
    (native,) = found.natives if found.on_host == there.operands.on_host else found.place()[1]
    if tuple(native.shape) != call.shape:
        raise ShapeError(f"{call.label}: mask= of the array's shape, {call.shape}; got {tuple(native.shape)}")
    return map_arrays(lambda v: v != 0, native, device=call.operands.device)
