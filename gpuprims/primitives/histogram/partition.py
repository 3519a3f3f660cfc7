"""Two launches of a histogram of many bins: sort each tile's elements by ranges of bins, then count each range."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gpuprims.core.axis_order import divider
from gpuprims.core.capabilities import Capabilities
from gpuprims.core.driver import Launch
from gpuprims.core.kernel_spec import Dtype
from gpuprims.core.layout import Form, Layout, contiguous, plan_layout
from gpuprims.core.memory import section
from gpuprims.core.together import together
from gpuprims.expressions import TypedExpr
from gpuprims.operators import Op
from gpuprims.primitives.histogram.elements import values_of
from gpuprims.primitives.histogram.partitioned import Partitioned, PartitionSpec, near_of
from gpuprims.primitives.histogram.reading import ALIGNMENT, STORED, Reader
from gpuprims.primitives.histogram.spec import Sums, digits_of
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


@dataclass(frozen=True)
class _Work:
    """The two launches of a histogram.

    ``writers`` groups sort the elements of ``tiles`` tiles, which take ``pitch`` places each, by ``ranges`` ranges of
    ``span`` bins. Then groups count ``share`` elements of a range or so, ``most_shares`` times in all, each in
    ``copies`` copies of the range. ``stored`` is the dtype of weights between the launches.
    """

    reader: Reader
    target: Form
    edges: bool
    layout: Layout
    values: tuple[Dtype, ...]
    map: TypedExpr
    sums: Sums
    digits: int
    stored: Dtype | None
    sorting: HistogramVariant
    counting: HistogramVariant
    ranges: int
    span: int
    tiles: int
    share: int

    @property
    def width(self) -> int:
        """Bins, and the two places of elements in no bin."""
        return self.reader.call.bins + 2

    @property
    def final(self) -> bool:
        """True if the second launch stores results, not sums that a fold converts."""
        return self.target.dtype in STORED

    @property
    def total(self) -> Dtype:
        """The dtype that the second launch stores."""
        return self.target.dtype if self.final else _FLOAT64 if self.sums in ("relative", "exact") else _INT64

    @property
    def pitch(self) -> int:
        """Places of a sorted tile."""
        return _pitch(self.sorting, self.ranges, self.stored)

    @property
    def most_shares(self) -> int:
        """The most shares of all ranges."""
        return self.ranges + self.reader.call.size // self.share

    @cached_property
    def copies(self) -> int:
        """Counts of a range that a group has, so that few work-items wait for each other."""
        able, copies = self.reader.device.capabilities, 1
        if self.sums == "counts":
            most = min(most_places(able, 1), self.share // 2)
            while copies < _MOST_COPIES and 2 * copies * (self.span + 1) <= most:
                copies *= 2
        return copies

    @cached_property
    def writers(self) -> int:
        """Groups that sort."""
        return min(self.tiles, self._resident(self.sorting, self._sorting_local))

    @property
    def scratch(self) -> int:
        """Bytes between the launches."""
        sections = (
            4 * self.tiles * self.ranges,
            self.most_shares * section(8 * self.span),
            2 * self.tiles * self.pitch,
            self.tiles * self.pitch * (self.stored.itemsize if self.stored else 0),
        )
        return sum(map(section, sections))

    @property
    def counters(self) -> int:
        """Zeros in which the launches count."""
        return self.ranges + 1 + self.most_shares

    def launch_sort(self) -> Launch:
        """Return the launch that sorts the elements of each tile by ranges."""
        return self._launch(self.sorting, self.writers, self._sorting_local, _COPIES, partitions=True)

    def launch_count(self) -> Launch:
        """Return the launch that counts the elements of each range."""
        local = 4 * (self.digits * self.copies * (self.span + 1) + 3 * self.counting.block + 2 * _TOTALS)
        groups = min(self.most_shares, self._resident(self.counting, local))
        return self._launch(self.counting, groups, local, self.copies, partitions=False)

    @property
    def _sorting_local(self) -> int:
        """Bytes of local memory of a group that sorts."""
        return _room_to_sort(self.sorting, self.ranges, self.stored)

    def _resident(self, variant: HistogramVariant, local: int) -> int:
        """Return how many groups with so much local memory the device runs at the same time."""
        able = self.reader.device.capabilities
        return able.compute_units * _at_once(able.unit_local_memory, local, variant.groups_per_unit or 1)

    def _launch(self, variant: HistogramVariant, groups: int, local: int, copies: int, *, partitions: bool) -> Launch:
        call, target = self.reader.call, self.target
        numbers = (
            call.size,
            call.bins,
            target.shape[1] if self.final else self.width,
            self.span,
            self.ranges,
            divider(self.span),
            self.tiles,
            self.pitch,
            self.writers,
            self.share,
            self.most_shares,
            copies,
        )
        kernel = self.reader.device.kernel(variant, self._spec(variant, partitions=partitions))
        return kernel.prepare(groups, self.layout.pack(0), *numbers, local=local)

    def _spec(self, variant: HistogramVariant, *, partitions: bool) -> PartitionSpec:
        """Return the kernel spec of one of the launches."""
        return PartitionSpec(
            self.layout.accesses,
            (),
            self.values,
            self.map,
            vector=min(self.layout.vector_width(), self.sorting.items),
            kind=self.reader.kind,
            sums=self.sums,
            group_dtype=_UINT32,
            dtype=self.total,
            local_guide=False,
            fused=True,
            digits=self.digits if self.digits > 1 else 0,
            final=True,
            merged=0,
            edges=self.edges and partitions,
            keys=self.reader.keys,
            partitions=partitions,
            groups=variant.groups_per_unit or 1,
            stored=self.stored,
        )


def read_partitioned(reader: Reader, sums: Sums, op: Op, target: Form, *, edges: bool) -> Partitioned:
    """Return the launches of a histogram into ``target``, which has the sums by output and place.

    Sums of floats are the same in every run, whether they need to be or not.
    """
    work = _work(reader, sums, target, edges=edges)
    left = contiguous(work.total, (1, 1, 1, work.width), ALIGNMENT)
    first, second, fold = together(
        reader.device,
        work.launch_sort,
        work.launch_count,
        lambda: None if work.final else reader.fold(left, op, target, ()),
    )
    nbytes = 0 if work.final else work.width * left.item
    return Partitioned(first, second, work.scratch, nbytes, work.counters, fold, edges)


def _work(reader: Reader, sums: Sums, target: Form, *, edges: bool) -> _Work:
    """Divide bins into ranges, and elements into tiles and shares."""
    call, chosen, able = reader.call, reader.chosen, reader.device.capabilities
    size, width, units = call.size, call.bins + 2, able.compute_units
    sums = "relative" if sums == "floats" else sums
    layout = plan_layout(reader.forms, reader.forms[0].shape, reader.axes)
    values, map_ = values_of(tuple(form.dtype for form in reader.forms), sums, reader.keys)
    weight = values[-1] if len(values) > reader.keys.arrays else None
    if sums == "relative" and spans_fit(width, units, most_places(able, digits_of("exact", weight))):
        sums = "exact"
    digits = digits_of(sums, weight)
    ranges, span = ranges_of(width, units, most_places(able, digits), chosen.block)
    stored = _stored(weight, reader.forms[-1].dtype)
    sorting = _sorting(chosen, size, units, stored)
    while _room_to_sort(sorting, ranges, stored) > able.asked_local_memory and sorting.items > 1:
        sorting = sorting.resized(items=sorting.items // 2)
    counting = chosen.resized(block=min(_COUNTING, able.group_limit), groups_per_unit=1)
    share = max(-(-size // (units * _SHARES)), span, _LEAST_SHARE)
    if sums == "relative":
        share = max(min(share, _MOST_CARRIED**2 * 2 // (3 * size)), 1)
    read, how = (layout, values, map_, sums, digits, stored), (sorting, counting, ranges, span)
    return _Work(reader, target, edges, *read, *how, -(-size // sorting.tile), share)


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
    """Return True if ``ranges`` ranges of at most ``most`` places cover ``width`` places."""
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
