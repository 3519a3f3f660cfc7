"""The local memory of a histogram's groups, and the number of elements that each takes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.geometry import Geometry
from gpuprims.core.kernel_spec import Dtype, value_words
from gpuprims.primitives.histogram.elements import power_of_two
from gpuprims.primitives.histogram.spec import CPU_REPLICAS, digits_of
from gpuprims.primitives.histogram.traits import BEHIND_RANGE, BESIDE_PACKED, HistogramTraits, packed_places
from gpuprims.primitives.histogram.variants import HistogramVariant

_FLOAT64, _FLOAT32 = np.dtype(np.float64), np.dtype(np.float32)
# Local memory of each group that CUDA keeps for itself.
_RESERVED = 1024
# Most replicas in local memory, most bytes of several, and most bins of replicas on a CPU.
_MOST_REPLICAS, _REPLICATED, _SMALL = 32, 96 * 1024, 2048
_FEWEST_REPLICATED = 2**14  # elements on a CPU: with fewer, the sum of replicas takes longer (row cpu_private-short)
# Windows (sums.h): words for each place and column, by digits of a sum, and the bytes of local memory that the kernel
# declares; additions that a word holds, and the fewest columns: lanes that share one wait for each other.
_WINDOWS = {digits_of("exact", _FLOAT32): (2, 1040), digits_of("exact", _FLOAT64): (4, 8208)}
_HELD, _FEWEST_COLUMNS = 4095, 8
# Slots in local memory for the bins that a group meets first, and bytes of a slot's place.
_MOST_SLOTS, _PLACE = 8192, 4
# A guide with 16 bits for each entry distinguishes fewer bins.
_MOST_NEAR, ENTRY_BYTES = 2**15, 2
# Bytes of a digit in local memory, and of a total.
_DIGIT, TOTAL = 4, 8
# Groups that count in a grid in local memory, before they are fitted to the values (rows: grids).
_OF_GRIDS = Geometry(1024, 16, 2)
# Fewest work-items of a group that reads a row.
_LEAST_BLOCK = 64


class Room(NamedTuple):
    """A group's memory: ``copies`` histograms, slots or places of a range, and ``local`` bytes of local memory.

    ``near`` is True if the guide is in local memory, and ``windowed`` if copies are columns of a window instead.
    """

    copies: int
    near: bool = False
    local: int = 0
    windowed: bool = False


class Group(NamedTuple):
    """The groups of a variant that run calls like ``call`` on a device."""

    able: Capabilities
    call: HistogramTraits
    chosen: HistogramVariant

    def fitted(self, values: tuple[Dtype, ...]) -> Group:
        """Return groups with fewer items if values are wide, and smaller ones for short rows."""
        chosen = self.chosen
        if chosen.block == 1:
            return self
        grid = chosen.histograms == "local" and self.call.axes > 1 and self.call.counts
        if grid and self.able.group_limit >= _OF_GRIDS.block:
            chosen = chosen.resized(**_OF_GRIDS._asdict())
        words, groups = value_words(values), chosen.groups_per_unit or 1
        items = power_of_two(max(chosen.items // words, 1))
        if words > 1 and chosen.histograms != "bytes":
            groups = max(groups // 2, 1)
        block = chosen.block
        if self.call.outputs >= groups * self.able.compute_units and chosen.histograms == "local":
            while block > _LEAST_BLOCK and block // 2 * items >= self.call.size:
                block, groups = block // 2, min(2 * groups, 32)
        return self._replace(chosen=chosen.resized(block=block, items=items, groups_per_unit=groups))

    def room(self, digits: int, dtype: Dtype, guide: int) -> Room:
        """Return the memory for ``digits`` words, or one sum, of each place, and for a guide of ``guide`` entries."""
        chosen, width, most = self.chosen, self.call.bins + 2, self.able.asked_local_memory
        if chosen.histograms == "private":
            few = width > _SMALL or self.call.size < max(16 * width, _FEWEST_REPLICATED)
            return Room(1 if few else CPU_REPLICAS)
        if chosen.histograms in ("shared", "bytes", "digits"):
            return Room(1)
        each = digits * _DIGIT if digits > 1 else dtype.itemsize
        if chosen.histograms == "cached":
            slots = power_of_two(min(_MOST_SLOTS, most // (each + _PLACE)))
            return Room(slots, local=slots * (each + _PLACE))
        copies, nbytes = 1, width * each
        if chosen.histograms == "split":
            ranges = max(2, -(-nbytes // (most - BEHIND_RANGE)))
            copies = -(-width // ranges)
            nbytes = (copies + 1) * each
        if chosen.histograms == "packed":
            ranges = -(-width // packed_places(self.able))
            copies = -(-width // ranges)
            nbytes = (copies + 1) // 2 * _DIGIT + BESIDE_PACKED
        beside = guide * ENTRY_BYTES
        near = guide > 0 and width < _MOST_NEAR and nbytes + beside <= most
        beside *= near
        if columns := self._columns(digits, most - nbytes - beside):
            words = columns * width * _WINDOWS[digits][0]
            return Room(columns, near, nbytes + words * _DIGIT + beside, windowed=True)
        if chosen.histograms == "local" and digits > 1:
            room = min(_REPLICATED, most - beside, _DIGIT * self.call.size)
            copies = power_of_two(max(min(_MOST_REPLICAS, room // nbytes), 1))
            nbytes *= copies
        return Room(copies, near, nbytes + beside)

    def _columns(self, digits: int, most: int) -> int:
        """Return how many columns of a window fit in ``most`` bytes; 0 if groups need none, or too few fit."""
        chosen = self.chosen
        if chosen.histograms != "local" or digits not in _WINDOWS:
            return 0
        each, declared = _WINDOWS[digits]
        width, groups = self.call.bins + 2, chosen.groups_per_unit or 1
        if width * digits * TOTAL + declared > self.able.asked_local_memory:
            return 0  # the last group would have no room for the totals
        words = width * each
        share = self.call.size // max(groups * self.able.compute_units // self.call.outputs, 1)
        room = min(_REPLICATED, most - declared) // _DIGIT  # and clearing takes less time than counting
        columns = power_of_two(max(min(_MOST_REPLICAS, room // words, share // (2 * words)), 1))
        return columns if columns >= max(_FEWEST_COLUMNS, chosen.block * chosen.items // _HELD) else 0

    def parts(self, outputs: int, least: int, local: int) -> int:
        """Return the number of parts of an output, a group each, of ``least`` elements or more.

        A range of a split histogram counts as an output.
        """
        able, groups = self.able, self.chosen.groups_per_unit or 1
        if able.unit_local_memory is not None:  # no more than fit at the same time
            groups = max(1, min(groups, able.unit_local_memory // (local + _RESERVED)))
        return max(1, min(-(-self.call.size // least), groups * able.compute_units // outputs))
