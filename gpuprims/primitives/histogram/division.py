"""How a histogram is divided: parts of an output, and what each group has in local memory."""

from __future__ import annotations

from typing import NamedTuple

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.kernel_spec import Dtype
from gpuprims.primitives.histogram.refusals import BEHIND_RANGE
from gpuprims.primitives.histogram.spec import CPU_REPLICAS
from gpuprims.primitives.histogram.variants import HistogramVariant

# Counts of 32 bits: a part has fewer elements.
MOST_COUNTED = 2**31
# Local memory of each group that CUDA keeps for itself.
_RESERVED = 1024
# Replicas in local memory, and bins that a CPU has several histograms of.
_MOST_REPLICAS, _SMALL = 32, 2048
# Slots in local memory, of a count and a place each, for bins that a group comes across first.
_MOST_SLOTS, _SLOT_BYTES = 8192, 8
# A guide of 16 bits an entry tells fewer bins.
_MOST_NEAR, _ENTRY_BYTES = 2**15, 2


class Room(NamedTuple):
    """What a group has beside its elements.

    ``copies`` are its histograms, or its slots, or the places of its range; ``near`` says whether the guide is in local
    memory. ``local`` is the local memory in bytes.
    """

    copies: int
    near: bool
    local: int


def ranges_of(nbytes: int, local_memory: int) -> int:
    """Return how many ranges a histogram is split into, so that each fits in local memory."""
    return max(2, -(-nbytes // (local_memory - BEHIND_RANGE)))


def room_of(
    chosen: HistogramVariant, able: Capabilities, size: int, sums: int, planes: int, dtype: Dtype, guide: int
) -> Room:
    """Return the room of a group.

    Parameters
    ----------
    chosen : HistogramVariant
    able : Capabilities
    size : int
        Elements of an output.
    sums : int
        Of a histogram, all planes together.
    planes : int
    dtype : dtype
    guide : int
        Entries of the guide to thresholds; 0 where there is none.
    """
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
    """Return in how many parts the elements of an output are counted: as many as there are groups, if they pay.

    If a histogram is split into ranges, which have groups of their own, ``outputs`` is a multiple of the outputs.
    """
    groups = chosen.groups_per_unit or 1
    if able.unit_local_memory is not None:  # no more than find room at the same time
        groups = max(1, min(groups, able.unit_local_memory // (local + _RESERVED)))
    # No part smaller than a tile, nor than the histogram that it leaves.
    tiles = -(-size // max(chosen.tile, 1 if chosen.shares_histograms else sums))
    parts = max(1, min(tiles, groups * able.compute_units // outputs))
    return max(parts, -(-size // MOST_COUNTED))


def _power_of_two(most: int) -> int:
    return 1 << most.bit_length() - 1
