"""Room for a tile of elements in the local memory of each group of a sort in one launch."""

from __future__ import annotations

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.geometry import Geometry, Refusal
from gpuprims.core.refusals import lacks_local
from gpuprims.core.traits import CallTraits
from gpuprims.core.variant import Variant
from gpuprims.primitives.sort.keys import DIGITS

# Fewest elements of a work-item; they are doubled while they fit in local memory.
_LEAST_ITEMS = 4
# Vendors whose compute units have room for a group of any allowed size.
_HOLDING = ("nvidia",)
# Bytes of local memory that sort/resident and sort/rows declare.
_DECLARED, _DECLARED_ROWS = 4 * (3 * DIGITS + 64), 4 * (2 * DIGITS + 16)
# Most elements of a row of sort/lanes: an index has 8 bits. Fewest work-items of a group.
_MOST_OF_LANES, _LEAST_LANES = 256, 32


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


def word_bytes(nbytes: int, *, alone: bool) -> int:
    """Return the bytes that sort/rows keeps of an element: itself, or its key and its place in the row."""
    return nbytes if alone else {1: 4, 2: 4, 4: 8, 8: 10}[nbytes]


def row_fits(at: Geometry) -> Refusal:
    """Refuse rows that do not fit in the local memory of a group."""

    def refuse(capabilities: Capabilities, call: CallTraits) -> str | None:
        nbytes = call.dtypes[0].itemsize
        alone = call.value_bytes == nbytes
        if fitted_to_row(at, call.size, word_bytes(nbytes, alone=alone), capabilities):
            return None
        return (
            f"is for rows that fit in the local memory of a group; {capabilities.name} has too little for {call.size}"
        )

    return refuse


def fitted_to_row(at: Geometry, n: int, nbytes: int, able: Capabilities) -> tuple[Geometry, int] | None:
    """Return the smallest tile that holds a row of words, and its bytes of local memory; None without one."""
    warp = able.warp or 1
    if n > at.block * at.items:
        return None
    for items in (at.items, 2 * at.items):  # fewer warps have fewer counts
        warps = max(-(-n // (warp * items)), 1)
        fitted = at._replace(block=warps * warp, items=-(-n // (warps * warp)) or 1)
        local = 4 * DIGITS * warps + fitted.block * fitted.items * nbytes
        if fitted.block <= at.block and local <= able.asked_local_memory - _DECLARED_ROWS:
            return fitted, local
    return None


def lanes_fit(at: Geometry) -> Refusal:
    """Refuse long rows, and those that do not fit in the local memory of a group."""

    def refuse(capabilities: Capabilities, call: CallTraits) -> str | None:
        if call.size > _MOST_OF_LANES:
            return f"is for rows of at most {_MOST_OF_LANES} elements; this call has rows of {call.size}"
        block, length = fitted_to_lanes(at, call.size, call.dtypes[0].itemsize, capabilities)
        return lacks_local(_lane_bytes(block, call.size, length, call.dtypes[0].itemsize), capabilities)

    return refuse


def fitted_to_lanes(at: Geometry, n: int, nbytes: int, able: Capabilities) -> tuple[int, int]:
    """Return the work-items of a group whose rows fit in local memory, if any do, and elements of each work-item."""
    block, length = at.block, -(-n // -(-n // at.items)) if n else 1
    while block > _LEAST_LANES and _lane_bytes(block, n, length, nbytes) > able.local_memory:
        block //= 2
    return block, length


def _lane_bytes(block: int, n: int, length: int, nbytes: int) -> int:
    """Return the bytes of local memory of rows, of the places of their elements, and of runs of several work-items."""
    runs = -(-n // length)
    shared = block * (length | 1) * nbytes if runs > 1 else 0
    return block // max(runs, 1) * (n | 1) * (nbytes + 1) + shared
