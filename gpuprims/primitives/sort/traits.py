"""Facts about a sort, and what the kernels that merge ask of them."""

from __future__ import annotations

from dataclasses import dataclass

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.geometry import Geometry, Refusal
from gpuprims.core.refusals import SPARE_LOCAL, lacks_local
from gpuprims.core.traits import CallTraits

# Counts of a work-item of sort/counted, of two bytes, for the values of half a digit; those of a digit for each tile.
_HALVES, _DIGITS = 2 * 16, 256
# Work-items that share the comparisons of an element, as in sort_places.cl.
LANES = 8
# Work-items of the smallest groups that merge, and bytes of an element's place before.
LEAST_MERGING, _PLACE = 32, 2


@dataclass(frozen=True)
class SortTraits(CallTraits):
    """Facts about a sort: whether keys are floats, and whether a function of the caller compares them."""

    floats: bool = False
    compares: bool = False


def by_bits(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse an order that the bits of elements do not tell."""
    if not isinstance(call, SortTraits) or not call.compares:
        return None
    return "is for the order of numbers; this call has less="


def merged_bytes(tile: int, nbytes: int) -> int:
    """Return the local memory of a group that merges a tile of elements, each with its place before."""
    return tile * (nbytes + _PLACE) + SPARE_LOCAL


def merged_tile_fits(at: Geometry) -> Refusal:
    """Refuse devices whose local memory is too small for the tile of a small group; groups are as large as fits."""

    def refuse(capabilities: Capabilities, call: CallTraits) -> str | None:
        return lacks_local(merged_bytes(LEAST_MERGING * at.items, call.dtypes[0].itemsize), capabilities)

    return refuse


def counted_bytes(tile: Geometry, moved_bytes: int) -> int:
    """Return the local memory of a group that moves a tile by counts, whose keys and values take so many bytes."""
    each = _HALVES + (tile.items + 1) * moved_bytes + 4
    return tile.block * each + 8 * _DIGITS + SPARE_LOCAL


def counted_tile_fits(at: Geometry) -> Refusal:
    """Refuse devices whose local memory is too small for a tile of an element for each work-item."""

    def refuse(capabilities: Capabilities, call: CallTraits) -> str | None:
        return lacks_local(counted_bytes(at._replace(items=1), call.value_bytes), capabilities)

    return refuse


def chunk_fits(at: Geometry) -> Refusal:
    """Refuse devices whose local memory is too small for a chunk of elements and a copy of its half."""

    def refuse(capabilities: Capabilities, call: CallTraits) -> str | None:
        return lacks_local(merged_bytes(at.items + at.items // 2, call.dtypes[0].itemsize), capabilities)

    return refuse
