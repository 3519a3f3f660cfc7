"""The arguments of SciPy's filters: axes, modes, origins, sizes and results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import index
from typing import Any

import numpy as np

from gpuprims.core.host_values import host_values
from gpuprims.errors import ArgumentError, AxisError, ShapeError, axis_rule, quoted

# SciPy's other names of modes, which are the same for filters.
_GRID = {"grid-mirror": "reflect", "grid-constant": "constant", "grid-wrap": "wrap"}
# Largest size of a neighbourhood, and number of iterations.
_MOST = 2**31 - 1


def axis_of(label: str, axis: Any, ndim: int) -> int:
    """Return the number of one axis, counted from the first."""
    if not is_whole(axis):
        raise AxisError(f"{label}: axis= one axis, a whole number; got {quoted(axis)}")
    if not -ndim <= axis < ndim:
        raise AxisError(f"{label}: axis {axis_rule(ndim)}; got {quoted(axis)}")
    return index(axis) % ndim


def axes_of(label: str, axes: Any, ndim: int) -> tuple[int, ...]:
    """Return the numbers of the axes to filter along; all of them for None."""
    if axes is None:
        return tuple(range(ndim))
    try:
        given = (axes,) if is_whole(axes) else tuple(axes)
    except TypeError:  # an object, or an array of no axis
        given = (axes,)
    found = tuple(axis_of(label, axis, ndim) for axis in given)
    if len(set(found)) < len(found):
        raise AxisError(f"{label}: axes= each axis once; got {quoted(axes)}")
    return found


def each_axis(label: str, name: str, given: Any, count: int) -> list[Any]:
    """Return an argument for each axis, given one for all of them or a sequence."""
    if isinstance(given, str) or not (isinstance(given, Sequence) or bool(getattr(given, "ndim", False))):
        return [given] * count
    if len(given) != count or getattr(given, "ndim", 1) > 1:
        raise ArgumentError(f"{label}: {name}= one value, or one for each of {count} axes; got {quoted(given)}")
    return list(given)


def mode_of(mode: Any) -> Any:
    """Return the mode of a stencil for one of SciPy's."""
    return _GRID.get(mode, mode) if isinstance(mode, str) else mode


def whole(label: str, name: str, given: Any, least: int) -> int:
    """Return a whole number from ``least`` on that 32 bits hold."""
    if not is_whole(given) or given < least:
        raise ArgumentError(f"{label}: {name}= a whole number from {least} on; got {quoted(given)}")
    if given > _MOST:
        raise ArgumentError(f"{label}: {name}= a whole number up to {_MOST}; got {quoted(given)}")
    return index(given)


def number(label: str, name: str, given: Any, rule: str = "a number") -> float:
    """Return a finite number."""
    found = host_values(label, given, f"{name}= {rule}")
    if found.ndim or found.dtype.kind not in "biuf" or not np.isfinite(found):
        raise ArgumentError(f"{label}: {name}= {rule}; got {quoted(given)}")
    return float(found)


def first_of(label: str, origin: Any, length: int) -> int:
    """Return the offset of the first of ``length`` neighbours along an axis."""
    low, high = -(length // 2), (length - 1) // 2
    if not is_whole(origin) or not low <= origin <= high:
        raise ArgumentError(f"{label}: origin= from {low} to {high} for {length} neighbours; got {quoted(origin)}")
    return low - index(origin)


def weights_of(label: str, given: Any) -> np.ndarray:
    """Return weights as floats."""
    weights = host_values(label, given, "weights of one shape")
    if weights.dtype.kind not in "biuf":
        got = quoted(given) if weights.dtype.kind in "OSUT" else f"dtype {weights.dtype}"
        raise ArgumentError(f"{label}: real weights; got {got}")
    if not weights.size:
        raise ShapeError(f"{label}: one weight or more; got shape {weights.shape}")
    floats: np.ndarray = weights.astype(np.float64)
    if not np.isfinite(floats).all():
        raise ArgumentError(f"{label}: finite weights; got {floats[~np.isfinite(floats)][0]}")
    return floats


def extras_of(label: str, arguments: Any, keywords: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return ``extra_arguments=`` and ``extra_keywords=``, which a caller's function gets."""
    if not isinstance(arguments, Sequence):
        raise ArgumentError(f"{label}: extra_arguments= a sequence; got {quoted(arguments)}")
    if not isinstance(keywords, Mapping | None):
        raise ArgumentError(f"{label}: extra_keywords= a mapping; got {quoted(keywords)}")
    return tuple(arguments), dict(keywords or {})


def is_whole(given: Any) -> bool:
    """Return True for a whole number of Python or NumPy."""
    return isinstance(given, int | np.integer) and not isinstance(given, bool)
