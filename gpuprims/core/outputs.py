"""Where a caller wants results: the arrays of ``out=``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from gpuprims.core.device import device_of
from gpuprims.errors import ArgumentError, DtypeError, ShapeError


class Targets:
    """The caller's ``out=``.

    Parameters
    ----------
    natives : tuple
        The arrays, as NumPy's or as the device's vendor's.
    given : array or tuple of arrays
        As the caller gave it.
    order : callable, optional
        What has the caller's library wait for the work in the device's queue, which is what its reading of the native
        array by DLPack does; by default nothing.
    """

    __slots__ = ("_given", "_order", "natives")

    def __init__(self, natives: tuple[Any, ...], given: Any, order: Callable[[Any], Any] | None = None) -> None:
        self.natives = natives
        self._given = given
        self._order = order

    @property
    def given(self) -> Any:
        """The caller's own; to be taken when the work that writes to it is queued, behind which its library falls."""
        if self._order is not None:
            for native in self.natives:
                self._order(native)
        return self._given


class _Shaped(Protocol):
    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def dtype(self) -> np.dtype[Any]: ...


def check_targets(label: str, results: Sequence[_Shaped], given: Sequence[_Shaped]) -> None:
    """Raise unless there is one ``out=`` array for each result, of its shape and dtype."""
    if len(given) != len(results):
        raise ArgumentError(f"{label}: out= {len(results)} array(s), one a result; got {len(given)}")
    for target, result in zip(given, results, strict=True):
        if target.shape != result.shape:
            raise ShapeError(f"{label}: out= of the result's shape, {result.shape}; got {target.shape}")
        if target.dtype != result.dtype:
            raise DtypeError(f"{label}: out= of the result's dtype, {result.dtype}; got {target.dtype}")


def same_elements(one: Any, other: Any) -> bool:
    """Whether two arrays of one library that meet in memory have each element, in order, at the same place."""
    if one.dtype.itemsize != other.dtype.itemsize or one.size != other.size:
        return False
    walks = [(array.shape, array.strides) for array in (one, other)]
    flat = all(array.flags.c_contiguous for array in (one, other))
    return _first_byte(one) == _first_byte(other) and (walks[0] == walks[1] or flat)


def _first_byte(array: Any) -> Any:
    if isinstance(array, np.ndarray):
        return array.__array_interface__["data"][0]
    place = device_of(array)
    return None if place is None else place.driver.span(array)
