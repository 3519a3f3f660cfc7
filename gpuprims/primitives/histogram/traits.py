"""Facts about a histogram call, and the refusals that ask for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.refusals import lacks_local
from gpuprims.core.traits import CallTraits
from gpuprims.primitives.histogram.spec import MOST_FULL

# Bytes of a count, and of a float sum of three digits.
_COUNT, _SUM = 4, 12
# Most ranges of bins: a kernel reads the elements once for each.
_MOST_RANGES = 8
# Local memory for one more sum in each plane of a range.
BEHIND_RANGE = 64
# Local memory beside counts of 16 bits, for groups of up to 1024 (histogram_packed.cl). The fewest axes of a grid: bins
# of one axis are found so fast that finding them for two ranges takes less time (rows: packed).
BESIDE_PACKED, _FEWEST_AXES = 4 * (MOST_FULL + 8 + 1024), 2
# Most ranges of sorted elements: with more, a tile has too few elements of each. Local memory beside the sums.
MOST_RANGES_SORTED, _BESIDE_SUMS = 511, 4 * 3 * 1100
# Sums in fewer bins are faster in one launch. With more elements, so are histograms that fit in local memory, and
# counts or integers in a few ranges: a launch reads all elements for each range (rows: few, many).
_LEAST_SUMMED, _FEW_SUMMED, _FEW_COUNTED, _LEAST_COUNTED = 2**13, 2**20, 2**23, 3 * 2**16
# Bytes in more bins leave most of them empty, and every group looks for the values of each (rows: bytes-many).
_MOST_OF_BYTES = 2**15
# With so few different elements, the slots of a cache count nearly all.
_FEW_VALUES = 1024
# Most elements that are sorted: bins and shares are counted in 32 bits; with weights (partition.py: carries).
# Bytes of a sorted element, and the part of the device's memory that all may take.
_MOST_SORTED, _MOST_WEIGHTED, _SORTED_BYTES, _PART_OF_MEMORY = 2**31 - 1, 2**27, (2, 10), 8


@dataclass(frozen=True)
class HistogramTraits(CallTraits):
    """Facts about a histogram call; ``value_bytes`` are the bytes of a bin in a histogram that groups share.

    ``values`` counts the integers between the first and the last edge, or is 0 for floats and too many integers.
    ``arrays`` find an element's bin, in a grid of ``axes``. ``exact`` is True if a group has room for all bits of sums
    of float weights, ``exact_here`` if it has in local memory.
    """

    bins: int = 0
    values: int = 0
    arrays: int = 1
    axes: int = 1
    exact: bool = field(default=False, kw_only=True)
    exact_here: bool = field(default=False, kw_only=True)
    portable: bool = field(default=True, kw_only=True)  # bins are found by comparisons

    @classmethod
    def of(cls, call: CallTraits) -> HistogramTraits:
        """Return the traits of a histogram call; raise for those of another primitive."""
        if not isinstance(call, cls):
            raise TypeError(f"a refusal of histograms: traits of one; got {call}")
        return call

    @property
    def histogram_bytes(self) -> int:
        """Bytes of a histogram: its bins, and two places for elements outside them."""
        return (self.bins + 2) * self.value_bytes

    @property
    def counts(self) -> bool:
        """True if the call adds no weights."""
        return self.value_bytes == _COUNT

    @property
    def measured(self) -> dict[str, Any]:
        """The number of bins."""
        return {"bins": self.bins}

    def resembles(self, measured: Mapping[str, Any]) -> bool:
        """Return True for at most as many bins as were measured."""
        return measured.keys() == {"bins"} and self.bins <= measured["bins"]


def histogram_fits(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse devices whose local memory is too small for a histogram."""
    traits, there = HistogramTraits.of(call), capabilities.asked_local_memory
    if traits.histogram_bytes <= there:
        return None
    asked = f"{traits.histogram_bytes} bytes of local memory for {traits.bins} bins"
    return f"needs {asked}; {capabilities.name} has {there}"


def ranges_fit(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse histograms that need too many ranges of bins."""
    most = _MOST_RANGES * (capabilities.asked_local_memory - BEHIND_RANGE)
    asked = HistogramTraits.of(call).histogram_bytes
    if asked <= most:
        return None
    return f"is for sums of {most} bytes at most, {_MOST_RANGES} times the local memory; this call's have {asked}"


def packed_places(capabilities: Capabilities) -> int:
    """Return how many places a group counts in 16 bits."""
    return (capabilities.asked_local_memory - BESIDE_PACKED) // 4 * 2


def packing_pays(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse calls that other variants run faster: bins of one axis, and counts that fit in 32 bits."""
    traits = HistogramTraits.of(call)
    if traits.axes < _FEWEST_AXES:
        return f"is for grids of bins; this call has {traits.axes} axis"
    if traits.histogram_bytes <= capabilities.asked_local_memory:
        return f"is for more bins than local memory counts in 32 bits; this call has {traits.bins}"
    return None


def least_room(capabilities: Capabilities) -> int:
    """Return the bytes of local memory for the sums of a range of sorted elements."""
    return capabilities.asked_local_memory - _BESIDE_SUMS


def sorting_pays(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse calls that other variants run faster: few bins, or few different elements."""
    traits = HistogramTraits.of(call)
    split = traits.histogram_bytes > capabilities.asked_local_memory
    floats = traits.value_bytes == _SUM
    if traits.size > _FEW_COUNTED and not floats:
        pays = traits.bins >= _LEAST_COUNTED or ranges_fit(capabilities, call) is not None
    else:
        small = traits.value_bytes > _COUNT and traits.size <= _FEW_SUMMED
        pays = split or (small and traits.bins >= _LEAST_SUMMED)
    if not pays:
        return f"is for more bins, with {traits.size} elements; this call has {traits.bins}"
    if 0 < traits.values <= _FEW_VALUES:  # which the slots of a cache hold
        return f"is for elements of more than {_FEW_VALUES} values; this call's have {traits.values}"
    return None


def sorted_fit(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse several outputs, more bins than ranges hold, and more elements than memory for sorted ones."""
    traits = HistogramTraits.of(call)
    if traits.outputs != 1:
        return f"is for one histogram; this call has {traits.outputs}"
    counts = traits.value_bytes == _COUNT
    room = capabilities.memory // _PART_OF_MEMORY // _SORTED_BYTES[not counts]
    if traits.size > (most_sorted := min(_MOST_SORTED if counts else _MOST_WEIGHTED, room)):
        return f"is for {most_sorted} elements at most on {capabilities.name}; this call has {traits.size}"
    bytes_of_sum = _COUNT if counts else _SUM  # also where floats may be added in any order
    most = MOST_RANGES_SORTED * (least_room(capabilities) // bytes_of_sum - 1)
    if traits.bins + 2 > most:
        return f"is for {most - 2} bins at most on {capabilities.name}; this call has {traits.bins}"
    return None


def counted(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse weights."""
    return "counts elements; this call has weights" if call.value_bytes > 4 else None


def counted_bytes(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse weights, elements larger than a byte, and bins that a group does not pass in short time."""
    if (traits := HistogramTraits.of(call)).bins > _MOST_OF_BYTES:
        return f"is for {_MOST_OF_BYTES} bins at most, since every group adds to each; this call has {traits.bins}"
    if (arrays := traits.arrays) > 1:
        return f"is for bins of one array; this call has {arrays}"
    if call.dtypes[0].itemsize > 1:
        return f"is for elements of one byte; this call has {call.dtypes[0]}"
    return counted(capabilities, call) or lacks_local(256 * 32 * 4, capabilities)  # 32 counts for each value


def sums_add_atomically(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse sums of 64 bits on devices without 64-bit atomics."""
    if call.value_bytes > 4 and not capabilities.int64_atomics:
        return f"needs atomics on 64 bits, which {capabilities.name} lacks"
    return None


def entries_of_sums(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse devices whose groups cannot read 64 bits that others write."""
    return None if capabilities.int64_atomics else f"needs atomics on 64 bits, which {capabilities.name} lacks"


def floats_with_all_bits(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse counts, integer weights, and more bins than there is room for, with all bits of the sums."""
    if not call.rounds:
        return "adds float weights; this call has none"
    if (traits := HistogramTraits.of(call)).exact:
        return None
    return f"is for sums that repeat, of so few bins that all bits fit; this call has {traits.bins} bins"
