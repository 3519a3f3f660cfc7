"""The launches of top_k's variants."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.counters import with_counters, with_scratch
from gpuprims.core.device import Device
from gpuprims.core.driver import Kernel, Launch
from gpuprims.core.launch_plan import in_turn
from gpuprims.core.layout import Layout
from gpuprims.primitives.ordering import DIGIT_BITS, STATE_BYTES, digits
from gpuprims.primitives.top_k.rows import Rows
from gpuprims.primitives.top_k.sampled import launch_sampled
from gpuprims.primitives.top_k.variants import TopKVariant

# As in top_k_radix.cl.
_CLEAR, _SAMPLE, _FILTER, _DIGIT, _COLLECT, _SORT, _FLIP, _MERGE, _STORE = range(9)
_TILE_ITEMS = 4
# top_k/rows: least and most work-items of a group, and the fewest best elements that they compare.
_LEAST_BLOCK, _MOST_BLOCK, _LEAST_BESTS = 256, 512, 32  # rows: rows
# top_k/cpu_runs: picks of scratch memory for a work-item beyond 2 k. Least length of a part over k: with at most a part
# for each compute unit, and with more parts.
_ROOM, _PART, _FINE_PART = 64, 4, 4096  # rows: cpu_runs


# top_k/radix samples one of _SAMPLED elements of rows from _LEAST_SAMPLED elements on, up to k and number of rows.
_SAMPLED, _LEAST_SAMPLED, _MOST_SAMPLED, _MOST_ROWS = 1024, 1 << 18, 1 << 13, 64


class Sample(NamedTuple):
    """The size of a sample of each row, the rank of its threshold, and room for candidates; 0 without a sample."""

    size: int
    rank: int
    room: int

    @classmethod
    def of(cls, rows: Rows) -> Sample:
        """Return the sample that filters a few long rows for a small ``k``."""
        if rows.segmented or rows.n < _LEAST_SAMPLED or rows.k > _MOST_SAMPLED or rows.outputs > _MOST_ROWS:
            return cls(0, 0, 0)
        size = rows.n // _SAMPLED
        taken = rows.k * size / rows.n
        rank = math.ceil(taken + 6 * math.sqrt(taken) + 6)  # less than once in 10^8 calls, fewer than k elements pass
        return cls(size, rank, 2 * rank * _SAMPLED)


def launch_whole(device: Device, variant: TopKVariant, kernel: Kernel, layout: Layout, rows: Rows) -> Launch:
    """Return one launch, for the reference backend."""
    return kernel.prepare(1, layout.pack(0), rows.outputs, rows.n, rows.k)


def launch_runs(device: Device, variant: TopKVariant, kernel: Kernel, layout: Layout, rows: Rows) -> Launch:
    """Return the launches of top_k/cpu_runs: one for parts of rows, and one to join the parts."""
    most = variant.groups(2**30, device.capabilities)
    units = device.capabilities.compute_units
    fine = min(-(-most // rows.outputs), rows.mean // max(_FINE_PART * rows.k, variant.items))
    coarse = min(-(-units // rows.outputs), rows.mean // max(_PART * rows.k, variant.items))
    parts = max(fine, coarse, 1)
    if rows.outputs >= most // _PART:
        parts = 1
    room = min(-(-rows.n // parts), 2 * rows.k + _ROOM)
    tasks = rows.outputs * parts
    groups = tasks if parts > 1 else min(most, tasks)
    numbers = rows.outputs, rows.n, rows.k, parts, room
    launches = [kernel.prepare(groups, layout.pack(0), *numbers, 0)]
    if parts > 1:
        launches.append(kernel.prepare(min(most, rows.outputs), layout.pack(0), *numbers, 1))
    return with_scratch(device, in_turn(launches), groups * room * rows.pick_bytes)


def launch_lanes(device: Device, variant: TopKVariant, kernel: Kernel, layout: Layout, rows: Rows) -> Launch:
    """Return the launch of top_k/lanes."""
    groups = variant.groups(-(-rows.outputs // variant.block), device.capabilities)
    return kernel.prepare(groups, layout.pack(0), rows.outputs, rows.n, rows.k)


def launch_rows(device: Device, variant: TopKVariant, kernel: Kernel, layout: Layout, rows: Rows) -> Launch:
    """Return the launch of top_k/rows."""
    groups = variant.groups(rows.outputs, device.capabilities)
    bests = min(max(1 << (2 * rows.k - 1).bit_length(), _LEAST_BESTS), variant.block)
    return kernel.prepare(groups, layout.pack(0), rows.outputs, rows.n, rows.k, bests)


def block_for(k: int, capabilities: Capabilities) -> int:
    """Return the work-items of a group of top_k/rows: 2 k, so that few elements pass the k-th of their best ones."""
    most = _MOST_BLOCK if capabilities.group_limit >= _MOST_BLOCK else _MOST_BLOCK // 2
    return min(max(1 << (2 * k - 1).bit_length(), _LEAST_BLOCK), most)


def launch_radix(device: Device, variant: TopKVariant, kernel: Kernel, layout: Layout, rows: Rows) -> Launch:
    """Return the launches of top_k/radix."""
    able, (outputs, k) = device.capabilities, (rows.outputs, rows.k)
    most = variant.groups(2**30, able)
    parts = max(min(-(-most // outputs), -(-rows.mean // variant.tile)), 1)
    tile, packed, sample = _TILE_ITEMS * variant.block, layout.pack(0), Sample.of(rows)

    def launch(tasks: int, step: int, at: int = 0, turn: int = 0) -> Launch:
        numbers = outputs, rows.n, k, parts, sample.room, sample.size, sample.rank
        return kernel.prepare(max(min(tasks, most), 1), packed, *numbers, step, at, turn)

    by_item = -(-outputs * k // variant.block)
    tiles = outputs * -(-k // tile)
    places = [-1 - shift for shift in digits((rows.n - 1).bit_length())]
    every = *digits(rows.order_bits), *places
    passes = [(_DIGIT, at) for at in every]
    if sample.size:
        passes = [*((_SAMPLE, at) for at in every), (_FILTER, 0), *passes]
    passes.append((_COLLECT, 0))
    launches = [launch(outputs * 8, _CLEAR, turn=1)]
    launches += [launch(outputs * parts, step, at, turn % 2) for turn, (step, at) in enumerate(passes)]
    launches.append(launch(tiles, _SORT))
    sorted_ = tile
    while sorted_ < k:
        launches.append(launch(by_item, _FLIP, -sorted_))
        stride = sorted_ // 2
        while 2 * stride > tile:
            launches.append(launch(by_item, _FLIP, stride))
            stride //= 2
        launches.append(launch(tiles, _MERGE))
        sorted_ *= 2
    launches.append(launch(by_item, _STORE))
    counts = (8 if rows.many else 4) << DIGIT_BITS
    scratch = outputs * (2 * STATE_BYTES + counts + 16 + (k + sample.room) * rows.pick_bytes)
    return with_counters(device, in_turn(launches), outputs, scratch)


LAUNCHES: dict[str, Callable[[Device, TopKVariant, Kernel, Layout, Rows], Launch]] = {
    "whole": launch_whole,
    "runs": launch_runs,
    "lanes": launch_lanes,
    "rows": launch_rows,
    "sampled": launch_sampled,
    "radix": launch_radix,
}
