"""The launches of top_k/sampled: a threshold from a sample, one pass that keeps few elements, a sort of these."""

from __future__ import annotations

import math
from typing import NamedTuple

from gpuprims.core.counters import with_counters
from gpuprims.core.device import Device
from gpuprims.core.driver import Kernel, Launch
from gpuprims.core.launch_plan import in_turn
from gpuprims.core.layout import Layout
from gpuprims.primitives.top_k.rows import Rows
from gpuprims.primitives.top_k.variants import TopKVariant

# As in top_k_sampled.cl.
_SAMPLE, _FILTER, _ALONE, _RETRY = range(4)
_PIECE, _BESTS, _TILE_ITEMS = 4, 256, 4
# Elements for each sampled one; fewest and most sampled; most sampled ones among the k to take, on average.
_SAMPLED, _LEAST_SAMPLED, _MOST_SAMPLED, _MOST_TAKEN = 128, 1 << 12, 1 << 19, 16  # rows: sampled
# Groups that share a sample, a power of two; groups a unit up to which each takes a sample of its own.
_SAMPLING, _ALONE_PER_UNIT = 128, 2  # rows: sampled
# Fewest tiles of picks from which a group selects in a retry.
_RETRIED = 4
# Elements of a row from which each work-item loads twice as many at once.
_LONG = 1 << 26  # rows: sampled
# Standard deviations: less than once in 10^8 calls, fewer than k elements pass, or more than there is room for.
_SIGMAS = 6


class Sampling(NamedTuple):
    """The pieces of a sample of a row, the rank of the piece that gives the threshold, and room for elements."""

    pieces: int
    rank: int
    room: int

    @classmethod
    def of(cls, n: int, k: int) -> Sampling:
        """Return the sample for the first ``k`` of rows of ``n`` elements.

        The number of the first ``k`` in the sample is about Poisson distributed. So is the number of sampled elements
        among those for which there is room.
        """
        size = min(max(n // _SAMPLED, _LEAST_SAMPLED), _MOST_SAMPLED, max(_MOST_TAKEN * n // k, _PIECE), n)
        pieces = size // _PIECE
        if not pieces:
            return cls(0, 1, n)
        taken = k * pieces * _PIECE / n
        rank = math.ceil(taken + _SIGMAS * math.sqrt(taken) + _SIGMAS)
        most = rank + _SIGMAS * math.sqrt(rank) + _SIGMAS**2 / 2
        return cls(pieces, rank, min(math.ceil(most * n / (pieces * _PIECE)), n))


def geometry_for(variant: TopKVariant, rows: Rows) -> TopKVariant:
    """Return the variant with half the work-items for picks of 16 bytes, or twice the items for long rows."""
    if rows.far:
        return variant.resized(block=variant.block // 2)
    return variant.resized(items=2 * variant.items) if rows.n >= _LONG else variant


def launch_sampled(device: Device, variant: TopKVariant, kernel: Kernel, layout: Layout, rows: Rows) -> Launch:
    """Return the launches: a sample unless groups take their own, the pass, and a retry, which rarely has work."""
    (outputs, n, k), able = (rows.outputs, rows.n, rows.k), device.capabilities
    most, packed, tile = variant.groups(2**30, able), layout.pack(0), _TILE_ITEMS * variant.block
    sampling = Sampling.of(n, k)
    tiles = max(n // variant.tile, 1)
    parts = min(-(-most // outputs), tiles)
    retries = max(min(-(-2 * able.compute_units // outputs), -(-n // (_RETRIED * tile))), 1)
    room = max(sampling.room, retries * tile)

    def launch(step: int, parts: int) -> Launch:
        numbers = outputs, n, k, parts, room, sampling.pieces, sampling.rank, step
        return kernel.prepare(min(outputs * parts, most), packed, *numbers)

    if outputs * tiles <= _ALONE_PER_UNIT * able.compute_units:
        launches = [launch(_ALONE, parts)]
    else:
        launches = [launch(_SAMPLE, min(_SAMPLING, variant.block)), launch(_FILTER, parts)]
    launches.append(launch(_RETRY, retries))
    scratch = outputs * (2 + min(_BESTS, variant.block) + room) * rows.pick_bytes
    return with_counters(device, in_turn(launches), 2 * outputs, scratch)
