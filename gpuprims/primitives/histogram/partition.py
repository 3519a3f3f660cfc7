"""Two launches of a histogram of many bins: sort each tile's elements by ranges of bins, then count each range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.axis_order import divider
from gpuprims.core.capabilities import Capabilities
from gpuprims.core.driver import Driver, Launch
from gpuprims.core.kernel_spec import Dtype
from gpuprims.core.layout import Form, contiguous, plan_layout
from gpuprims.core.memory import section
from gpuprims.core.together import together
from gpuprims.expressions import c_type
from gpuprims.operators import Op
from gpuprims.primitives.histogram.elements import values_of
from gpuprims.primitives.histogram.reading import ALIGNMENT, STORED, Reader
from gpuprims.primitives.histogram.spec import HistogramSpec, Sums, digits_of
from gpuprims.primitives.histogram.traits import MOST_RANGES_SORTED, least_room
from gpuprims.primitives.histogram.variants import HistogramVariant

_INT64, _FLOAT64, _INT32, _UINT32 = (np.dtype(name) for name in ("i8", "f8", "i4", "u4"))
# Work-items of a group that counts, if the device has such groups.
_COUNTING = 1024
# Units that share a range, as far as its places fit in local memory.
_SHARING = 2
# Most copies of the counts of a range.
_MOST_COPIES = 4
# Shares of all elements for each compute unit, and the fewest elements of one: adding up shares takes time.
_SHARES, _LEAST_SHARE = 1, 2**14
# Fewest elements of a work-item that sorts, so that a tile has some elements of each range.
_LEAST_ITEMS = 4
# Counts of a range, so that few lanes of a warp wait for each other.
_COPIES = 8
# Local memory for running totals, in words beside one for each work-item.
_TOTALS = 64
# Carries of a float sum count up to so many weights. A share of a range has at most the square root of 1.5 times the
# elements times the share, even if elements of the range are all in the share's tiles.
_MOST_CARRIED = 2**22


@dataclass(frozen=True, eq=False, kw_only=True)
class PartitionSpec(HistogramSpec):
    """Macros of one of the two launches."""

    partitions: bool
    groups: int  # that a compute unit must have room for
    stored: Dtype | None  # of weights between the launches

    @property
    def pointers(self) -> int:
        """Number of pointer arguments: inputs, results, table, memory between the launches, counters, and edges."""
        return len(self.inputs) + 4 + self.edges

    @property
    def near(self) -> int:
        """Elements of a vector: whose weights, or 16-bit places, take 16 bytes."""
        return near_of(self.stored)

    def macros(self) -> dict[str, int | str]:
        """Define the launch, and how elements lie between the launches."""
        pointers = (
            "GLOBAL total_t *histograms, GLOBAL const u64 *RESTRICT table, GLOBAL u8 *parts, GLOBAL u32 *counters"
        )
        return {
            **super().macros(),
            "PARTITIONS": int(self.partitions),
            "HAS_WEIGHTS": int(self.stored is not None),
            "STORED": c_type(self.stored) if self.stored else "u16",
            "NEAR": self.near,
            "GROUPS_EACH": self.groups,
            "HISTOGRAMS": pointers + ", GLOBAL u32 *edges" * self.edges,
        }


def near_of(weight: Dtype | None) -> int:
    """Return the elements of a vector between the launches."""
    return 16 // (weight.itemsize if weight else 2)


class Partitioned(NamedTuple):
    """Two launches that read each element once, and the fold to another dtype, None if they store the result.

    ``scratch`` counts the bytes between the launches, ``left`` those of the sums before a fold, and ``counters`` the
    zeros in which they count.
    """

    sorts: Launch
    counts: Launch
    scratch: int
    left: int
    counters: int
    fold: Launch | None
    edges: bool
    behind: int = 0
    zeroed: bool = False
    reports: bool = False

    def run(
        self,
        driver: Driver,
        memories: Sequence[Any],
        words: Any,
        peaks: Sequence[Any],
        target: Any,
        *,
        edges: Any = None,
        report: Any = None,
    ) -> Any:
        """Launch on the memory of a call, and return the target."""
        left = target if self.fold is None else driver.scratch(self.left)
        shared = [*memories, left, words, driver.scratch(self.scratch), driver.counters(self.counters)]
        self.sorts([*shared, edges] if self.edges else shared)
        self.counts(shared)
        if self.fold is not None:
            self.fold([left, target])
        return target


def read_partitioned(reader: Reader, sums: Sums, op: Op, target: Form, *, edges: bool) -> Partitioned:
    """Return the launches of a histogram into ``target``, which has the sums by output and place.

    Sums of floats are the same in every run, whether they need to be or not.
    """
    device, call, chosen = reader.device, reader.call, reader.chosen
    able, size, width = device.capabilities, call.size, call.bins + 2
    sums = "relative" if sums == "floats" else sums
    layout = plan_layout(reader.forms, reader.forms[0].shape, reader.axes)
    values, map_ = values_of(tuple(form.dtype for form in reader.forms), sums, reader.keys)
    weight = values[-1] if len(values) > reader.keys.arrays else None
    counting = chosen.resized(block=min(_COUNTING, able.group_limit), groups_per_unit=1)
    if sums == "relative" and spans_fit(width, able.compute_units, most_places(able, digits_of("exact", weight))):
        sums = "exact"
    digits = digits_of(sums, weight)

    ranges, span = ranges_of(width, able.compute_units, most_places(able, digits), chosen.block)
    stored = _stored(weight, reader.forms[-1].dtype)
    sorting = _sorting(chosen, size, able.compute_units, stored)
    while (first_local := _room_to_sort(sorting, ranges, stored)) > able.asked_local_memory and sorting.items > 1:
        sorting = sorting.resized(items=sorting.items // 2)
    vector, pitch = min(layout.vector_width(), sorting.items), _pitch(sorting, ranges, stored)
    tiles = -(-size // sorting.tile)
    share = max(-(-size // (able.compute_units * _SHARES)), span, _LEAST_SHARE)
    if sums == "relative":
        share = max(min(share, _MOST_CARRIED**2 * 2 // (3 * size)), 1)
    most_shares = ranges + size // share
    copies = 1
    while (
        sums == "counts" and copies < _MOST_COPIES and 2 * copies * (span + 1) <= min(most_places(able, 1), share // 2)
    ):
        copies *= 2
    second_local = 4 * (digits * copies * (span + 1) + 3 * counting.block + 2 * _TOTALS)
    writers = min(
        tiles, able.compute_units * _at_once(able.unit_local_memory, first_local, sorting.groups_per_unit or 1)
    )
    groups = min(
        most_shares, able.compute_units * _at_once(able.unit_local_memory, second_local, counting.groups_per_unit or 1)
    )

    final = target.dtype in STORED
    total = target.dtype if final else _FLOAT64 if sums in ("relative", "exact") else _INT64
    left = contiguous(total, (1, 1, 1, width), ALIGNMENT)

    def launch(variant: HistogramVariant, groups: int, local: int, *, partitions: bool) -> Launch:
        spec = PartitionSpec(
            layout.accesses,
            (),
            values,
            map_,
            vector=vector,
            kind=reader.kind,
            sums=sums,
            group_dtype=_UINT32,
            dtype=total,
            local_guide=False,
            fused=True,
            digits=digits if digits > 1 else 0,
            final=True,
            merged=0,
            edges=edges and partitions,
            keys=reader.keys,
            partitions=partitions,
            groups=variant.groups_per_unit or 1,
            stored=stored,
        )
        numbers = (
            size,
            call.bins,
            target.shape[1] if final else width,
            span,
            ranges,
            divider(span),
            tiles,
            pitch,
            writers,
            share,
            most_shares,
            _COPIES if partitions else copies,
        )
        return device.kernel(variant, spec).prepare(groups, layout.pack(0), *numbers, local=local)

    sections = (
        4 * tiles * ranges,
        most_shares * section(8 * span),
        2 * tiles * pitch,
        tiles * pitch * (stored.itemsize if stored else 0),
    )
    first, second, fold = together(
        device,
        lambda: launch(sorting, writers, first_local, partitions=True),
        lambda: launch(counting, groups, second_local, partitions=False),
        lambda: None if final else reader.fold(left, op, target, ()),
    )
    return Partitioned(
        first,
        second,
        sum(map(section, sections)),
        0 if final else width * total.itemsize,
        ranges + 1 + most_shares,
        fold,
        edges,
    )


def _stored(weight: Dtype | None, given: Dtype) -> Dtype | None:
    """Return the dtype of weights between the launches: 32 bits for integers that fit."""
    small = weight == _INT64 and np.can_cast(given, _INT32)
    return _INT32 if small else weight


def _sorting(chosen: HistogramVariant, size: int, units: int, weight: Dtype | None) -> HistogramVariant:
    """Return the variant that sorts, with fewer items beside weights, or if there are too few tiles."""
    items = max(chosen.items // 2, _LEAST_ITEMS) if weight else chosen.items
    while items > _LEAST_ITEMS and size < units * max(chosen.block, 1024) * items:
        items //= 2
    return chosen.resized(items=items)


def _pitch(sorting: HistogramVariant, ranges: int, weight: Dtype | None) -> int:
    """Return the places of a sorted tile, whose ranges and elements in no bin begin at whole vectors."""
    return -(-(sorting.tile + (ranges + 1) * (near_of(weight) - 1)) // 8) * 8


def _room_to_sort(sorting: HistogramVariant, ranges: int, weight: Dtype | None) -> int:
    """Return the local memory of a group that sorts."""
    words = _COPIES * ((ranges + 1) | 1) + sorting.block + _TOTALS
    return -(-words // 4) * 16 + _pitch(sorting, ranges, weight) * (2 + (weight.itemsize if weight else 0))


def most_places(able: Capabilities, digits: int) -> int:
    """Return how many places of a range a group has room for, each a sum of ``digits`` words."""
    return min(least_room(able) // (4 * digits) - 1, 2**16 - 1)


def spans_fit(width: int, ranges: int, most: int) -> bool:
    """Return True if so many ranges have at most ``most`` places."""
    return width <= ranges * most


def ranges_of(width: int, units: int, most: int, block: int) -> tuple[int, int]:
    """Return the number of ranges and the places of each, at most ``most``.

    Two units share a range, since longer slices of tiles are read faster, unless the places need more ranges.
    """
    ranges = next((n for n in (-(-units // _SHARING), units) if spans_fit(width, n, most)), -(-width // most))
    ranges = min(ranges, block - 1, MOST_RANGES_SORTED, width)
    span = max(-(-width // ranges), 2)  # which a divider needs
    return -(-width // span), span


def _at_once(unit: int | None, local: int, most: int) -> int:
    """Return how many groups a compute unit has room for, at most ``most``."""
    return most if unit is None else max(1, min(most, unit // (local + 1024)))
