"""How a histogram is divided into parts, and how each group uses local memory."""

from __future__ import annotations

from typing import NamedTuple

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.kernel_spec import Dtype
from gpuprims.primitives.histogram.refusals import BEHIND_RANGE
from gpuprims.primitives.histogram.spec import CPU_REPLICAS
from gpuprims.primitives.histogram.variants import HistogramVariant

# A part has fewer elements, so that 32 bits hold its counts.
MOST_COUNTED = 2**31
# Local memory of each group that CUDA keeps for itself.
_RESERVED = 1024
# Most replicas in local memory, and most bins of replicas on a CPU.
_MOST_REPLICAS, _SMALL = 32, 2048
# Slots in local memory, with a count and a place each, for the bins that a group meets first.
_MOST_SLOTS, _SLOT_BYTES = 8192, 8
# A guide with 16 bits an entry distinguishes fewer bins.
_MOST_NEAR, _ENTRY_BYTES = 2**15, 2


class Room(NamedTuple):
    """A group's memory: its number of histograms, slots or places of a range, and its bytes of local memory.

    ``near`` is True if the guide is in local memory.
    """

    copies: int
    near: bool
    local: int


def ranges_of(nbytes: int, local_memory: int) -> int:
    """Return the number of ranges to split a histogram into, so that each fits in local memory."""
    return max(2, -(-nbytes // (local_memory - BEHIND_RANGE)))


def room_of(
    chosen: HistogramVariant, able: Capabilities, size: int, sums: int, planes: int, dtype: Dtype, guide: int
) -> Room:
    """Return the room of a group for ``size`` elements an output, ``sums`` in all planes, and ``guide`` entries."""
    if chosen.histograms == "private":
        return Room(CPU_REPLICAS if sums <= _SMALL and size >= 16 * sums else 1, near=False, local=0)
    if not chosen.asks_local_memory:
        return Room(1, near=False, local=0)
    if chosen.histograms == "cached":
        slots = _power_of_two(min(_MOST_SLOTS, able.asked_local_memory // _SLOT_BYTES))
        return Room(slots, near=False, local=slots * _SLOT_BYTES)
    places = sums
    if chosen.histograms == "split":
        span = -(-(sums // planes) // ranges_of(sums * dtype.itemsize, able.asked_local_memory))
        places = planes * (span + 1)
    nbytes, beside = places * dtype.itemsize, guide * _ENTRY_BYTES
    near = guide > 0 and sums < _MOST_NEAR and nbytes + beside <= able.asked_local_memory
    if chosen.histograms == "split":
        return Room(span, near, nbytes + near * beside)
    left = able.asked_local_memory - near * beside
    copies = _power_of_two(max(min(_MOST_REPLICAS, left // nbytes), 1)) if chosen.histograms == "replicas" else 1
    return Room(copies, near, nbytes * copies + near * beside)


def parts_of(chosen: HistogramVariant, able: Capabilities, outputs: int, size: int, sums: int, local: int) -> int:
    """Return the number of parts of an output: one for each group, if that pays.

    Each range of a split histogram counts as an output.
    """
    groups = chosen.groups_per_unit or 1
    if able.unit_local_memory is not None:  # no more than fit at the same time
        groups = max(1, min(groups, able.unit_local_memory // (local + _RESERVED)))
    # A part has at least a tile, and at least as many elements as its histogram has sums.
    tiles = -(-size // max(chosen.tile, 1 if chosen.shares_histograms else sums))
    parts = max(1, min(tiles, groups * able.compute_units // outputs))
    return max(parts, -(-size // MOST_COUNTED))


def _power_of_two(most: int) -> int:
    return 1 << most.bit_length() - 1
