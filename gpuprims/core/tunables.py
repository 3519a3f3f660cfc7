"""The shapes that each kernel may be tuned to, the same for twins; what is registered with none keeps its own.

They are what the kernel's text allows, not what is fast: trees and warps want blocks of a power of two, a histogram has
a bit of a 32-bit word for each of a work-item's elements, and groups that wait for each other must all find room at the
same time. A shape is asked again whether it fits, for the rules of a registered variant speak of its own shape alone.
"""

from __future__ import annotations

from dataclasses import replace

from gpuprims.core.driver import Capabilities
from gpuprims.core.geometry import Refusal, Shape, Tunable, shapes
from gpuprims.core.refusals import group_fits, partials_fit, shuffles, strips_fit, tile_fits, values_fit, whole_warps
from gpuprims.core.registry import first_refusal
from gpuprims.core.traits import Call

_BLOCKS = (64, 128, 256, 512, 1024)
_GROUPS = (2, 4, 6, 8, 12, 16, 24, 32)
_THREAD_GROUPS = (1, 2, 4, 8, 16, 32, 64)
# CUDA refuses a launch whose groups are to run at the same time and find no room. Every multiprocessor of NVIDIA's has
# room for this many work-items, and the compiler is told to leave registers for them.
_AT_ONCE = 1024
# Bytes of local memory for each work-item in which a scan gathers what goes side by side (scanning.h).
_STAGED = 32


def _thread(shape: Shape) -> Refusal:
    """Refuse nothing: a work-item by itself needs no room."""
    return first_refusal()


def _group(shape: Shape) -> Refusal:
    return group_fits(shape.block)


def _tree(shape: Shape) -> Refusal:
    return first_refusal(group_fits(shape.block), values_fit(shape.block))


def _warps(shape: Shape) -> Refusal:
    return first_refusal(
        group_fits(shape.block), shuffles(shape.block), whole_warps(shape.block), partials_fit(shape.block)
    )


def _board(shape: Shape) -> Refusal:
    return first_refusal(group_fits(shape.block), whole_warps(shape.block), partials_fit(shape.block), _stages(shape))


def _stages(shape: Shape) -> Refusal:
    def refuse(capabilities: Capabilities, call: Call) -> str | None:
        return values_fit(shape.block + 128)(capabilities, replace(call, value_bytes=_STAGED))

    return refuse


def _blelloch(shape: Shape) -> Refusal:
    return first_refusal(group_fits(shape.block), values_fit(2 * shape.block + shape.block // 16))


def _hillis_steele(shape: Shape) -> Refusal:
    return first_refusal(group_fits(shape.block), values_fit(2 * shape.block))


def _strips(shape: Shape) -> Refusal:
    return first_refusal(group_fits(shape.block), strips_fit(shape.block))


def _tile(shape: Shape) -> Refusal:
    return first_refusal(group_fits(shape.block), tile_fits(shape.block, shape.items))


CPU_MAP = Tunable(shapes((1,), tuple(2**k for k in range(10, 21))), _thread)
# As many parts as there are groups, each at least as long as the items.
CPU_FOLD = Tunable(shapes((1,), tuple(2**k for k in range(10, 19)), _THREAD_GROUPS), _thread)
# Items also decide how many levels of folds there are.
CPU_SCAN = Tunable(shapes((1,), tuple(2**k for k in range(12, 19)), _THREAD_GROUPS), _thread)
CPU_HISTOGRAM = Tunable(shapes((1,), tuple(2**k for k in range(12, 19)), _THREAD_GROUPS), _thread)
# The primitive halves them until a window fits in a core's cache.
CPU_STENCIL = Tunable(shapes((1,), (256, 512, 1024, 2048, 4096, 8192), _THREAD_GROUPS), _thread)

MAP_GRID = Tunable(shapes(_BLOCKS, (1, 2, 4, 8, 16)), _group)
REDUCE_WARP = Tunable(shapes(_BLOCKS, (4, 8, 16, 32), _GROUPS), _warps)
REDUCE_TREE = Tunable(shapes(_BLOCKS, (4, 8, 16, 32), _GROUPS), _tree)
# A work-item looks after each of the other groups: with fewer of them than compute units, some have no group.
SCAN_ROUND_ROBIN = Tunable(
    tuple(
        shape
        for shape in shapes((256, 512, 1024), (8, 16, 32, 64), (1, 2), most_elements=16384)
        if shape.block * (shape.groups_per_unit or 1) <= _AT_ONCE
    ),
    _board,
)
SCAN_BLELLOCH = Tunable(shapes((64, 128, 256, 512, 1024), (2,)), _blelloch)
SCAN_HILLIS_STEELE = Tunable(shapes((64, 128, 256, 512, 1024), (1,)), _hillis_steele)
# What of a tile is left to do is a bit for each item.
HISTOGRAM = Tunable(shapes(_BLOCKS, (4, 8, 16, 32), (1, 2, 4, 8, 16)), _group)
HISTOGRAM_BYTES = Tunable(shapes(_BLOCKS, (16, 32, 64, 128), (1, 2, 4, 8)), _group)
# Items are what one load moves. With more work-items the kernel's bound of registers leaves no room for a group.
STENCIL_ROLLING = Tunable(shapes((64, 128, 256), (4,), (4, 6, 8, 12, 16, 24, 48)), _strips)
STENCIL_TILED = Tunable(shapes(_BLOCKS, (1, 2, 4, 8, 16), (8, 16, 32, 64)), _tile)
STENCIL_DIRECT = Tunable(shapes(_BLOCKS, (1,), (8, 16, 32, 64, 128)), _group)
