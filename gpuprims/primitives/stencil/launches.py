"""The launch of one pass of a stencil: element by element, or along rows."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.layout import VECTOR_BYTES, Form, Layout
from gpuprims.errors import ArgumentError
from gpuprims.primitives.stencil.border import Border
from gpuprims.primitives.stencil.grids import Grid
from gpuprims.primitives.stencil.passes import Step
from gpuprims.primitives.stencil.refusals import (
    CPU_NUMBERS,
    LEAST_ITEMS,
    MOST_NUMBERS,
    ROWS_AT_ONCE,
    TILE_WIDTH,
    register_bytes,
)
from gpuprims.primitives.stencil.spec import StencilSpec, Window
from gpuprims.primitives.stencil.traits import Neighbourhood, StencilTraits
from gpuprims.primitives.stencil.variants import StencilVariant

# Rows of a strip for each row that it loads beyond its end.
_LEAST_DEPTH = 4
# Up to this many neighbours a byte of an element, memory sets the pace. H200, 2026-11-21, 16384 x 16384
# float32: five neighbours 4.00 TB/s by strips of 12 rows and 3.83 by 332; applied twice in a launch 7.1 and 7.5.
_FEW_TAPS = 2


class Pass(NamedTuple):
    """One launch: a step, its border, and how many times the launch applies it."""

    label: str
    step: Step
    border: Border
    times: int
    grid: Grid


def listed(of: Pass, forms: tuple[Form, ...], traits: StencilTraits, chosen: StencilVariant, device: Device) -> Launch:
    """Return the launch of a kernel that reads elements one by one, wherever they lie."""
    step, grid = of.step, of.grid
    layout = grid.layout([forms[0], *forms[2:]] if step.weights else forms)
    if layout is None:
        raise ArgumentError(f"{of.label}: out= with one stride for all axes before the neighbourhoods; got another")
    if step.weights:  # no axis runs along the weights
        beside = forms[1]
        steps = layout.reduced_strides[0], (0,) * 5, layout.reduced_strides[1]
        offsets = layout.offsets[0], beside.offset // beside.item, layout.offsets[1]
        layout = Layout((forms[0], beside, forms[2]), (), layout.reduced, ((), (), ()), steps, offsets)
    kernel = device.kernel(chosen, _spec(of, layout, chosen.window))
    groups = chosen.groups(-(-traits.size // chosen.tile), device.capabilities)
    return kernel.prepare(groups, layout.pack(0), traits.size)


def in_lines(
    of: Pass, forms: tuple[Form, ...], traits: StencilTraits, chosen: StencilVariant, device: Device
) -> Launch:
    """Return the launch of a kernel that computes along rows whose elements lie side by side."""
    grid, around = of.grid, traits.neighbourhood
    layout = grid.lines(forms)
    if layout is None or around is None:
        raise TypeError(f"{of.label}: rows side by side; got {forms}")
    fitted = _fitted(chosen, around, forms[0].item)
    vectors = [min(layout.width_of(k), fitted.items) if chosen.vectors else 1 for k in range(2)]
    local = min(VECTOR_BYTES // register_bytes(forms[0].dtype), fitted.items)
    spec = replace(
        _spec(of, layout, chosen.window),
        vector=vectors[0],
        vector_out=vectors[1],
        vector_local=local,
        channels=grid.lengths[-1],
        times=around.times,
    )
    beside = max(map(abs, spec.reach(2))) * spec.channels * spec.times
    spec = replace(spec, vector_halo=min(local, 1 << (beside - 1).bit_length()) if beside else 1)
    kernel, able = device.kernel(fitted, spec), device.capabilities
    batches, rows, length = layout.reduced
    if chosen.window == "tile":
        tiles = batches * -(-rows // (fitted.tile // TILE_WIDTH)) * -(-length // TILE_WIDTH)
        return kernel.prepare(fitted.groups(tiles, able), layout.pack(0))
    across = -(-length // fitted.tile)
    # Long strips: one for each group, and few rows loaded beyond their ends.
    wanted = max(1, (fitted.groups_per_unit or 1) * able.compute_units // (across * batches))
    if chosen.block == 1:
        depth = min(rows, max(-(-rows // wanted), _LEAST_DEPTH * around.span))
        strips = -(-rows // depth)
        return kernel.prepare(fitted.groups(across * strips * batches, able), layout.pack(0), strips, depth)
    # Strips cover the rows whose neighbours all lie inside, a multiple of ROWS_AT_ONCE; other rows are computed one by
    # one. Where memory sets the pace, strips are short: their rows are still in a cache when the next strip loads them.
    least = _LEAST_DEPTH * around.span
    depth = least if around.taps * around.times <= _FEW_TAPS * forms[0].item else max(-(-rows // wanted), least)
    depth = -(-depth // ROWS_AT_ONCE) * ROWS_AT_ONCE
    covered = max(rows - around.times * (around.span - 1), 0) // ROWS_AT_ONCE * ROWS_AT_ONCE
    tasks = -(-covered // depth) + rows - covered
    return kernel.prepare(fitted.groups(across * tasks * batches, able), layout.pack(0), depth, covered)


def _fitted(chosen: StencilVariant, around: Neighbourhood, item: int) -> StencilVariant:
    """Return the variant with items reduced until their window fits in registers, or in a core's cache."""
    items = chosen.items if chosen.block == 1 or chosen.window == "tile" else max(VECTOR_BYTES // item, 1)
    most = CPU_NUMBERS if chosen.block == 1 else MOST_NUMBERS // around.times
    if chosen.window != "tile":
        while items > LEAST_ITEMS and (around.numbers if chosen.block == 1 else around.registers)(items) > most:
            items //= 2
    return chosen.resized(items=items)


def _spec(of: Pass, layout: Layout, window: Window) -> StencilSpec:
    step, border, accesses = of.step, of.border, layout.accesses
    return StencilSpec(
        accesses[:-1],
        accesses[-1:],
        (step.value,),
        step.finish if step.function is None else step.function,
        step.finish,
        offsets=tuple(_in_space(offset) for offset in step.offsets),
        mode=border.mode,
        beyond=border.beyond,
        across=step.across,
        columns=step.columns,
        window="table" if step.weights else window,
        paired=step.paired if window == "strip" else None,
    )


def _in_space(offset: tuple[int, ...]) -> tuple[int, int, int]:
    dz, dy, dx = (0,) * (3 - len(offset)) + offset
    return dz, dy, dx
