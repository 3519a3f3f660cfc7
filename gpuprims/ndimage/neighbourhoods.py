"""The neighbours of a filter: a box of some lengths, or those of a footprint."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.host_values import host_values
from gpuprims.errors import ArgumentError, ShapeError, quoted
from gpuprims.ndimage.arguments import axes_of, each_axis, first_of, whole

Index = tuple[int, ...]
# Each offset is an object of Python's; arrays of 33 axes have 3^33 neighbours.
_MOST_NEIGHBOURS = 2**24


class Neighbourhood(NamedTuple):
    """Axes in order, the lengths of a box along them, its first element's offset, and which elements count.

    ``places`` is None for all elements of the box.
    """

    axes: tuple[int, ...]
    lengths: tuple[int, ...]
    first: tuple[int, ...]
    places: np.ndarray | None

    @property
    def offsets(self) -> tuple[Index, ...]:
        """The offset of each neighbour, in C order."""
        if self.places is None and math.prod(self.lengths) > _MOST_NEIGHBOURS:
            rule = f"a box of at most {_MOST_NEIGHBOURS} neighbours along all axes"
            raise ArgumentError(f"size= {rule}; got {math.prod(self.lengths)} (axes= names those to filter along)")
        found = np.argwhere(np.ones(self.lengths, bool) if self.places is None else self.places) + self.first
        return tuple(tuple(one) for one in found.tolist())

    @property
    def size(self) -> int:
        """The number of neighbours."""
        return int(np.prod(self.lengths) if self.places is None else self.places.sum())


def neighbourhood_of(
    label: str,
    ndim: int,
    size: Any,
    footprint: Any,
    origin: Any,
    axes: Any,
    *,
    name: str = "footprint",
    flipped: bool = False,
) -> Neighbourhood:
    """Return the neighbours that ``size=`` or ``footprint=`` gives; ``flipped`` ones lie on the other side.

    ``name`` is what messages call the footprint.
    """
    along = axes_of(label, axes, ndim)
    if (size is None) == (footprint is None):
        got = "neither" if size is None else "both"
        raise ArgumentError(f"{label}: size= or {name}=; got {got} (size=3 is a box of 3 elements along each axis)")
    if footprint is None:
        lengths, places = [whole(label, "size", one, 1) for one in each_axis(label, "size", size, len(along))], None
    else:
        places = footprint_of(label, footprint, len(along), name)
        lengths = list(places.shape)
    origins = each_axis(label, "origin", origin, len(along))
    if flipped:
        places = None if places is None else np.flip(places)
        origins = [turned(one, length) for one, length in zip(origins, lengths, strict=True)]
    first = [first_of(label, one, length) for one, length in zip(origins, lengths, strict=True)]
    order = sorted(range(len(along)), key=along.__getitem__)
    wide = [k for k in order if lengths[k] > 1] or order[-1:]
    if places is not None:
        places = None if places.all() else np.transpose(places, order).reshape([lengths[k] for k in wide])
    axes, lengths, first = ([one[k] for k in wide] for one in (along, lengths, first))
    return Neighbourhood(tuple(axes), tuple(lengths), tuple(first), places)


def footprint_of(label: str, given: Any, ndim: int, name: str = "footprint") -> np.ndarray:
    """Return which elements of a box count."""
    found = host_values(label, given, f"{name}= an array of bools")
    if found.ndim != ndim:
        raise ShapeError(f"{label}: {name}= of {ndim} axes; got shape {found.shape}")
    if found.dtype.kind not in "biuf":
        raise ArgumentError(f"{label}: {name}= an array of bools; got dtype {found.dtype}")
    places: np.ndarray = found != 0
    if not places.any():
        raise ArgumentError(f"{label}: {name}= with an element that counts; got {quoted(given)}")
    return places


def turned(origin: Any, length: int) -> Any:
    """Return the origin of neighbours in the opposite order."""
    is_whole = isinstance(origin, int | np.integer) and not isinstance(origin, bool)
    return -origin - (length % 2 == 0) if is_whole else origin
