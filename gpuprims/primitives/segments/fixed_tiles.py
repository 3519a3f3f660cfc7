"""Launch plans of folds of segments by tiles in the order of fixed_scans.py, which check the offsets on the device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.faults import KnownArrays
from gpuprims.core.geometry import Geometry, Refusal, first_refusal
from gpuprims.core.kernel_spec import value_bytes, value_words
from gpuprims.core.launch_plan import in_turn
from gpuprims.core.layout import Layout
from gpuprims.core.refusals import (
    SPARE_LOCAL,
    double_precision,
    few_outputs,
    group_fits,
    lacks_local,
    not_for_cpus,
    whole_warps,
)
from gpuprims.core.traits import CallTraits
from gpuprims.core.variant import Variant
from gpuprims.operators import Folding
from gpuprims.primitives.fixed_scans import RUN, TILE
from gpuprims.primitives.segments.checked import ALONE, CHECK, CHECKED, CheckedCall, CheckingVariant, check_groups
from gpuprims.primitives.segments.spec import FixedTilesSpec

_TILES, _FOLD, _SCAN, _JOIN = range(4)  # stages, as in the kernel
_MOST_ENDS = 8  # ends of segments that a work-item reads at once (rows: fixed_tiles)
_FEWEST = 64  # work-items of the smallest group, for values that leave no room for more
_FLAT = 4096  # segments of a block, as in tiles.h
# Registers of a compute unit, and of a work-item: some, and for each word of a value (rows: fixed_tiles).
_REGISTERS, _SOME, _EACH_WORD = 65536, 32, 18
# Values in local memory beside those of work-items and warps, and bytes of words for each work-item.
_KEPT, _WORDS = 10, 8


def for_fixed_tiles(at: Geometry) -> Refusal:
    """Refuse CPUs, too little local memory for a group's values, and more elements than three levels of tiles have."""
    block, most = min(at.block, _FEWEST), TILE**3

    def room(able: Capabilities, call: CallTraits) -> str | None:
        if call.size > most:
            return f"is for at most {most} elements in all; this call has {call.size}"
        return lacks_local(_nbytes(block, at.items, call.value_bytes, able), able)

    return first_refusal(not_for_cpus, double_precision, few_outputs, group_fits(at.block), whole_warps(block), room)


def _nbytes(block: int, items: int, each: int, able: Capabilities) -> int:
    """Return the bytes of local memory of a group whose values have ``each`` bytes."""
    folds = 2 * (block // able.warp if able.warp and block % able.warp == 0 else block) + _KEPT
    flag = 8 if each % 8 == 0 else 4  # beside each fold, and its padding
    return block * ((items + 1) * each + _WORDS) + folds * (each + flag) + SPARE_LOCAL


@dataclass(frozen=True)
class FixedTilesVariant(CheckingVariant):
    """A variant whose groups take tiles of runs of ``items`` elements."""

    tile_runs: int = TILE // RUN

    @property
    def order_tile(self) -> int:
        """Elements of a tile in the order of the scan; a group takes some of them at once."""
        return self.tile_runs * self.items

    def fitted(self, folding: Folding, able: Capabilities) -> FixedTilesVariant:
        """Return the variant with groups that have room in local memory and in registers."""
        block, each = self.block, value_bytes(folding.values)
        while block > _FEWEST and _nbytes(block, self.items, each, able) > able.local_memory:
            block //= 2
        held = _REGISTERS // ((_SOME + _EACH_WORD * value_words(folding.values)) * block)
        groups = min((self.groups_per_unit or 1) * (self.block // block), held)
        return self.resized(block=block, groups_per_unit=max(groups, 1))


def launch_fixed_tiles(
    variant: Variant,
    device: Device,
    folding: Folding,
    layout: Layout,
    label: str,
    segments: int,
    size: int,
    known: KnownArrays,
    **how: Any,
) -> Launch:
    """Return the launches over elements, over the folds of tiles, and of tiles of these."""
    able, words = device.capabilities, value_words(folding.values)
    chosen = FixedTilesVariant.of(variant).fitted(folding, able)
    vector, window = min(layout.vector_width(), chosen.items), _window(chosen.tile, chosen.block, size // segments)
    numbers = {"vector": vector, "window": window, "resident": chosen.groups_per_unit, "tile_runs": chosen.tile_runs}
    kernel = device.kernel(chosen, FixedTilesSpec.of(folding, layout, **numbers, **how))
    tiles = max(-(-size // chosen.order_tile), 1)
    above = -(-tiles // chosen.order_tile)
    packed = layout.pack(0)

    def prepared(step: int, stage: int, groups: int) -> Launch:
        return kernel.prepare(groups, packed, segments, size, step, stage)

    def stages(step: int) -> list[Launch]:
        work = [prepared(step, _TILES, chosen.groups(max(tiles, segments // _FLAT), able))]
        if above > 1:
            work += [prepared(step, _FOLD, above), prepared(step, _SCAN, 1)]
        sharers = min(-(-tiles // chosen.block), chosen.items)  # of the heads of a tile of tiles
        return [*work, prepared(step, _JOIN, above * sharers)] if tiles > 1 else work

    check = prepared(CHECK, _TILES, check_groups(segments, chosen.block, able))
    checks = CheckedCall(device, label, len(layout.forms) - len(folding.outputs) - 1, known)
    return checks.launch(check, in_turn(stages(CHECKED)), stages(ALONE), tiles * (3 + 3 * words) + above * (1 + words))


def _window(tile: int, block: int, mean: int) -> int:
    """Return how many ends of segments each work-item reads at once, so that most tiles need one reading."""
    expected = tile // max(mean, 1) + 1
    return min(-(-expected // block), _MOST_ENDS)
