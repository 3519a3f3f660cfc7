"""Room for a tile of elements in the local memory of each group of a sort in one launch."""

from __future__ import annotations

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.geometry import Geometry, Refusal
from gpuprims.core.traits import CallTraits
from gpuprims.core.variant import Variant
from gpuprims.primitives.sort.keys import DIGITS

# Fewest elements of a work-item; they are doubled while they fit in local memory.
_LEAST_ITEMS = 4
# Vendors whose compute units have room for a group of any allowed size.
_HOLDING = ("nvidia",)
# Bytes of local memory that the kernel declares.
_DECLARED = 4 * (3 * DIGITS + 64)


def fits_at_once(at: Geometry) -> Refusal:
    """Refuse several rows, rows that do not fit in a tile for each compute unit, and units that may lack room for it.

    Groups wait for each other, and would wait forever for one that cannot start.
    """

    def refuse(capabilities: Capabilities, call: CallTraits) -> str | None:
        if call.outputs > 1:
            return f"is for one row; this call has {call.outputs}"
        if not any(name in capabilities.vendor.lower() for name in _HOLDING):
            return f"needs compute units that surely have room for {at.block} work-items; {capabilities.name} may not"
        nbytes = call.dtypes[0].itemsize
        items = _most_items(at.items, at.block, max(nbytes, call.value_bytes - nbytes), capabilities)
        most = items * at.block * capabilities.compute_units
        if call.size > most:
            return f"is for rows of at most {most} on {capabilities.name}, a tile a unit; this call has {call.size}"
        return None

    return refuse


def fitted_at_once(variant: Variant, n: int, widest: int, able: Capabilities) -> tuple[Variant, int]:
    """Return the variant in the smallest tiles that give each unit one at most, and the bytes of local memory."""
    items, most = _LEAST_ITEMS, _most_items(variant.items, variant.block, widest, able)
    while items < most and items * variant.block * able.compute_units < n:
        items *= 2
    chosen = variant.resized(items=items)
    return chosen, max(_counting(chosen.block, able), chosen.tile * widest)


def _most_items(items: int, block: int, widest: int, able: Capabilities) -> int:
    """Return the elements of a work-item in the largest tile that fits; 0 if not even the smallest does."""
    room = able.asked_local_memory - _DECLARED
    if _counting(block, able) > room:
        return 0
    while items >= _LEAST_ITEMS and items * block * widest > room:
        items //= 2
    return items if items >= _LEAST_ITEMS else 0


def _counting(block: int, able: Capabilities) -> int:
    """Return the bytes of a count of each value of the digit, for each warp."""
    return 4 * DIGITS * block // (able.warp or 1)
