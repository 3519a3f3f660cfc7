"""The array API's sorting, searching, sets and takes."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from gpuprims.core.arrays import native_of
from gpuprims.core.keywords import refusing_keywords
from gpuprims.errors import ArgumentError
from gpuprims.primitives.compact.nonzero import nonzero as places_not_zero
from gpuprims.primitives.grouping.unique import unique
from gpuprims.primitives.searchsorted import searchsorted as search
from gpuprims.primitives.searchsorted.isin import isin as among
from gpuprims.primitives.sort import argsort as places_in_order
from gpuprims.primitives.sort import sort as in_order
from gpuprims.primitives.take import take as take_elements


class UniqueAll(NamedTuple):
    """The distinct elements, the index of each one's first occurrence, the inverse, and counts."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCounts(NamedTuple):
    """The distinct elements, and how often each occurs."""

    values: Any
    counts: Any


class UniqueInverse(NamedTuple):
    """The distinct elements, and for each element the index of its value among them."""

    values: Any
    inverse_indices: Any


@refusing_keywords
def sort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """Return the elements sorted along an axis. Every sort is stable.

    Examples
    --------
    >>> import numpy as np, gpuprims
    >>> with gpuprims.use_device("reference"):
    ...     gpuprims.xp.sort(np.array([2, 3, 1]), descending=True).tolist()
    [3, 2, 1]
    """
    return in_order(x, axis, descending=descending, stable=stable)


@refusing_keywords
def argsort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """Return the indices that sort the elements."""
    return places_in_order(x, axis, descending=descending, stable=stable)


@refusing_keywords
def searchsorted(x1: Any, x2: Any, /, *, side: Literal["left", "right"] = "left", sorter: Any = None) -> Any:
    """Return where elements of ``x2`` belong in ``x1``, which is sorted or has a ``sorter``."""
    return search(x1, x2, side, sorter)


@refusing_keywords
def isin(x1: Any, x2: Any, /, *, invert: bool = False) -> Any:
    """Return True for each element of ``x1`` that is among those of ``x2``."""
    return among(x1, x2, invert=invert)


@refusing_keywords
def take(x: Any, indices: Any, /, *, axis: int | None = None) -> Any:
    """Return the elements at some indices along an axis, which is optional for 1-d arrays.

    Examples
    --------
    >>> import numpy as np, gpuprims
    >>> with gpuprims.use_device("reference"):
    ...     gpuprims.xp.take(np.array([5, 6, 7]), np.array([2, 0])).tolist()
    [7, 5]
    """
    x = x if hasattr(x, "ndim") else native_of("take", x)
    if axis is None and x.ndim != 1:
        raise ArgumentError(f"take: axis= for an array of {x.ndim} axes; got None")
    return take_elements(x, indices, 0 if axis is None else axis)


def nonzero(x: Any, /) -> tuple[Any, ...]:
    """Return the indices of elements that are not zero, an array for each axis.

    Examples
    --------
    >>> import numpy as np, gpuprims
    >>> with gpuprims.use_device("reference"):
    ...     [one.tolist() for one in gpuprims.xp.nonzero(np.array([[0, 5], [7, 0]]))]
    [[0, 1], [1, 0]]
    """
    found: tuple[Any, ...] = places_not_zero(x)
    return found


def unique_values(x: Any, /) -> Any:
    """Return the distinct elements in order. Each NaN counts as distinct, as the array API requires.

    Examples
    --------
    >>> import numpy as np, gpuprims
    >>> with gpuprims.use_device("reference"):
    ...     gpuprims.xp.unique_values(np.array([2.0, np.nan, 1.0, 2.0, np.nan])).tolist()
    [1.0, 2.0, nan, nan]
    """
    return unique(x, equal_nan=False)


def unique_counts(x: Any, /) -> UniqueCounts:
    """Return the distinct elements in order, and how often each occurs."""
    return UniqueCounts(*unique(x, return_counts=True, equal_nan=False))


def unique_inverse(x: Any, /) -> UniqueInverse:
    """Return the distinct elements in order, and for each element the index of its value among them."""
    return UniqueInverse(*unique(x, return_inverse=True, equal_nan=False))


def unique_all(x: Any, /) -> UniqueAll:
    """Return the distinct elements in order, the indices of their first occurrences, the inverse and counts."""
    return UniqueAll(*unique(x, return_index=True, return_inverse=True, return_counts=True, equal_nan=False))
