"""The launch plan of a stencil: one or several passes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.launch_plan import LaunchPlan, Sample, nothing
from gpuprims.core.layout import VECTOR_BYTES, Form, Layout, contiguous, is_contiguous
from gpuprims.core.operands import Operands
from gpuprims.core.outputs import Out, result_forms
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.variant import MOST_GROUPS, Variant
from gpuprims.errors import ArgumentError
from gpuprims.primitives.stencil.grids import Border, Grid, grid_of, layout_of
from gpuprims.primitives.stencil.refusals import ROWS_AT_ONCE, TILE_WIDTH, fitted_block, register_bytes
from gpuprims.primitives.stencil.spec import READING, StencilSpec, columns_of, reach_of
from gpuprims.primitives.stencil.stencils import Stencil, of_function
from gpuprims.primitives.stencil.traits import Neighbourhood, StencilTraits
from gpuprims.primitives.stencil.variants import StencilVariant

# A strip has at least this many rows for each row that it loads beyond its end.
_LEAST_DEPTH = 4
# Up to this many neighbours a byte of an element, memory sets the pace.
_FEW_TAPS = 2  # rows: rolling


# Bytes of a CPU's vector of sums.
_CPU_VECTOR_BYTES = 64


class StencilRequest(NamedTuple):
    """A stencil to apply to an array, its border, and the number of iterations."""

    label: str
    stencil: Stencil
    border: Border
    grid: Grid
    iterations: int = 1


@dataclass(slots=True, eq=False)
class StencilPlan(LaunchPlan):
    """A chain of passes, each on the results of the previous one."""

    passes: Sequence[LaunchPlan] = ()

    def compiled(self) -> Launch:
        """Compile every pass, and return the last."""
        return [one.compiled() for one in self.passes][-1]

    def run(self, operands: Operands, out: Out | None) -> Any:
        """Launch every pass on the memory of a call, and return the last pass's results."""
        kept = []  # keeps host memory alive until the kernels have written to it
        with operands.settled():
            for one in self.passes[:-1]:
                one.compiled()
                (form,) = one.results
                result = operands.empty(form.shape, form.dtype)
                one.start(operands, [result])
                kept.append(result)
                operands = operands.instead(result)
            return self.passes[-1].run(operands, out)


@keeps_calls()
def plan_call(
    request: StencilRequest,
    forms: tuple[Form, ...],
    written: tuple[Form, ...] | None,
    alignment: int,
    device: Device,
    variant: str | Variant | None,
    generation: int,
) -> LaunchPlan:
    """Decide everything about a stencil but its memory.

    A separable stencil takes two passes, unless a variant, or the requested one, computes both in one launch. A variant
    may also apply a stencil twice in one launch.
    """
    label, stencil, border, grid, iterations = request
    if stencil.halves is not None:
        raise ArgumentError(f"plan of {label}: weights that one kernel holds; got too many")
    out = result_forms(label, [contiguous(stencil.result, grid.shape, alignment)], written)[0]
    once, twice = (Pass(request._replace(iterations=times), (forms[0], out)) for times in (1, 2))
    parts = _in_passes(once, device, variant) * iterations
    if iterations > 1 and len(parts) == iterations:
        chosen = StencilVariant.of(device.select("stencil", once.traits, variant))
        if chosen.twice and chosen.refuse(device.capabilities, twice.traits) is None:
            parts = [twice] * (iterations // 2) + parts[: iterations % 2]
    array, plans = forms[0], []
    for k, part in enumerate(parts, 1):
        target = out if k == len(parts) else contiguous(part.request.stencil.result, grid.shape, alignment)
        plans.append(part._replace(forms=(array, target)).plan(device, variant))
        array = target
    if len(plans) == 1:
        return plans[0]
    last, traits = plans[-1], plans[0].traits
    described = device, "stencil", traits, last.results, last.compiling
    return StencilPlan(*described, passes=plans, asked=variant, inputs=last.inputs)


def _in_passes(whole: Pass, device: Device, variant: str | Variant | None) -> list[Pass]:
    """Return the launches of one application: one, or those of each pass."""
    request, stencil, border = whole.request, whole.request.stencil, whole.request.border
    if not stencil.passes or (stencil.across is not None and _in_one_launch(whole.traits, device, variant)):
        return [whole]
    launches = []
    for one in stencil.passes:
        launches += _in_passes(Pass(request._replace(stencil=one, border=border), whole.forms), device, variant)
        border = Border.around(border.mode, one.value.type(one.of_constant(border.beyond)))
    return launches


def _in_one_launch(traits: StencilTraits, device: Device, variant: str | Variant | None) -> bool:
    """Return True if a variant, or the requested one, computes both passes in one launch."""
    able = [known.name for known, reason in device.explain("stencil", traits).refusals if reason is None]
    return bool(able) if variant is None else variant in able


def sample(call: Sample) -> LaunchPlan:
    """Return the plan for three rows and columns of neighbours."""
    form = contiguous(call.dtype, (1, call.size), 16)
    stencil = of_function(_nine, call.dtype, call.dtype)
    border, grid = Border.around("nearest", call.dtype.type(0)), grid_of("stencil", form.shape, 2, None)
    return plan_call(StencilRequest("stencil", stencil, border, grid), (form,), None, 16, call.device, None, 0)


def _nine(n: Any) -> Any:
    return sum((n[dy, dx] for dy in (-1, 0, 1) for dx in (-1, 0, 1)), n[0, 0])


class Pass(NamedTuple):
    """One launch: how often it applies which stencil, and the forms of the array and of the result."""

    request: StencilRequest
    forms: tuple[Form, Form]

    @property
    def traits(self) -> StencilTraits:
        """Facts for the variants."""
        _, stencil, _, grid, times = self.request
        left, right = columns_of(stencil.column_offsets, times)
        offsets = [(0, 0, *offset)[-3:] for offset in stencil.offsets]
        (front, back), (top, bottom) = (reach_of([offset[axis] for offset in offsets]) for axis in range(2))
        lines = grid.lines(self.forms)
        reads = Neighbourhood(
            lines=lines is not None,
            across=stencil.across is not None,
            table=stencil.table is not None,
            span=bottom - top + 1,
            beside=(right - left) * grid.channels,
            taps=stencil.taps,
            paired=stencil.paired is not None,
            times=times,
            written=stencil.function is not None,
            planes=lines is not None and lines.reduced[1] > 1,
            deep=back - front + 1,
            channels=grid.channels,
        )
        computed = () if stencil.function is None else stencil.function.computed_in
        dtypes = (self.forms[0].dtype, stencil.value, stencil.result, *computed)
        return StencilTraits(dtypes, math.prod(grid.lengths), neighbourhood=reads)

    def simplified(self) -> Pass:
        """Return the launch with planes as batches or as rows, if neighbours do not lie beside an element."""
        stencil, grid = self.request.stencil, self.request.grid
        used = [any(offset[axis] for offset in stencil.offsets) for axis in range(stencil.rank)]
        if len(grid.space) < 3:
            return self
        if stencil.rank < 3 or not used[0]:
            flat = grid.flat()
            if any(flat.strides(form) is None for form in self.forms):
                return self
            kept = replace(stencil, offsets=tuple(offset[-2:] for offset in stencil.offsets))
            return self._replace(request=self.request._replace(grid=flat, stencil=kept))
        if any(used[1:]) or not all(map(is_contiguous, self.forms)) or grid.channel is not None:
            return self
        kept = replace(stencil, offsets=tuple(offset[:2] for offset in stencil.offsets))
        tall = grid.tall()
        array, out = (contiguous(form.dtype, tall.shape, form.alignment)._replace(offset=form.offset) for form in self.forms)
        return self._replace(request=self.request._replace(grid=tall, stencil=kept), forms=(array, out))

    def plan(self, device: Device, variant: str | Variant | None) -> LaunchPlan:
        """Return the plan of the launch, by the variant that is asked for or the best one."""
        simple = self.simplified()
        traits, stencil = simple.traits, simple.request.stencil

        def compiling(variant: Variant) -> Launch:
            if not traits.size:
                return nothing
            chosen = StencilVariant.of(variant)
            table = None
            if chosen.window in READING or (chosen.window == "listed" and stencil.function is None):
                if stencil.table is None:
                    raise TypeError(f"{self.request.label}: a table of weights; got none")
                table = device.driver.asarray(stencil.table.ravel())
                device.driver.synchronize()  # calls on other queues or streams may come first
            prepare = simple._listed if chosen.window == "listed" else simple._in_lines
            launch = prepare(traits, chosen, device, () if table is None else (device.driver.form(table),))
            return launch if table is None else lambda memories: launch([memories[0], table, memories[1]])

        out = self.forms[1]
        results = (contiguous(out.dtype, out.shape, out.alignment),)
        return LaunchPlan(device, "stencil", traits, results, compiling, asked=variant, inputs=(0,))

    def _listed(
        self, traits: StencilTraits, chosen: StencilVariant, device: Device, tables: tuple[Form, ...]
    ) -> Launch:
        """Return the launch of a kernel that reads elements one by one, wherever they lie."""
        array, out = self.forms
        grid = self.request.grid
        read, written = grid.strides(array), grid.strides(out)
        if read is None or written is None:
            rule = "out= with one stride for all axes before the neighbourhoods"
            raise ArgumentError(f"{self.request.label}: {rule}; got another")
        strides = [read, *[(0,) * 5] * len(tables), written]  # kernels read all weights, by no stride
        layout = layout_of((array, *tables, out), grid.lengths, strides)
        kernel = device.kernel(chosen, self._spec(layout, chosen))
        groups = chosen.groups(-(-traits.size // chosen.tile), device.capabilities)
        return kernel.prepare(groups, layout.pack(0), traits.size)

    def _in_lines(
        self, traits: StencilTraits, chosen: StencilVariant, device: Device, tables: tuple[Form, ...]
    ) -> Launch:
        """Return the launch of a kernel that computes along rows whose elements lie side by side."""
        _, stencil, _, grid, times = self.request
        around, able = traits.neighbourhood, device.capabilities
        layout, result = grid.lines((self.forms[0], *tables, self.forms[1])), 1 + len(tables)
        if layout is None:
            raise TypeError(f"{self.request.label}: rows side by side; got {self.forms}")
        batches, planes, rows, length = layout.reduced
        block = fitted_block(chosen, around, self.forms[0].dtype, stencil.value, length)
        if chosen.window == "planes":
            widths = [layout.width_of(k) for k in (0, result)]
            while block.items > min(widths) or length % block.items:
                block = block._replace(items=block.items // 2)
        fitted = chosen.resized(items=block.items)
        vector, vector_out = (
            min(layout.width_of(k), fitted.items) if chosen.vectors else 1 for k in (0, result)
        )
        local = min(VECTOR_BYTES // register_bytes(self.forms[0].dtype), fitted.items)
        if chosen.window == "rows":
            local = _CPU_VECTOR_BYTES // stencil.value.itemsize
        reach = max(map(abs, columns_of(stencil.column_offsets, times))) * grid.channels * times
        spec = self._spec(
            layout,
            chosen,
            vector=vector,
            vector_out=vector_out,
            vector_local=local,
            vector_halo=min(local, 1 << (reach - 1).bit_length()) if reach else 1,
            channels=grid.channels,
            times=times,
            block=block,
            some_zero=stencil.table is not None and stencil.value.kind == "f" and not stencil.table.all(),
        )
        kernel, packed = device.kernel(fitted, spec), layout.pack(0)
        if chosen.window == "tile":
            tiles = batches * -(-rows // (fitted.tile // TILE_WIDTH)) * -(-length // TILE_WIDTH)
            return kernel.prepare(fitted.groups(tiles, able), packed)
        if chosen.window == "rows":
            tiles = -(-length // block.items) * -(-rows // 16) * planes * batches
            return kernel.prepare(fitted.groups(tiles, able), packed)
        if chosen.window == "dense":
            high, wide = fitted.block // block.lanes * block.rows, block.lanes * block.items * block.vectors
            tiles = -(-length // wide) * -(-rows // high) * -(-planes // block.planes) * batches
            return kernel.prepare(fitted.groups(tiles, able), packed)
        if chosen.window in ("columns", "planes"):
            along, span = (rows, around.span) if chosen.window == "columns" else (planes, around.deep)
            if chosen.window == "columns":
                tiles, least = -(-length // fitted.block) * planes * batches, _LEAST_DEPTH * span
            else:
                tiles = -(-length // (block.lanes * block.items)) * -(-rows // (fitted.block // block.lanes)) * batches
                least = _LEAST_DEPTH * span
            wanted = max(1, (fitted.groups_per_unit or 1) * able.compute_units // tiles)
            depth = max(-(-along // wanted), least)
            depth = -(-depth // block.items) * block.items if chosen.window == "columns" else depth
            strips = -(-along // depth)
            return kernel.prepare(min(tiles * strips, MOST_GROUPS), packed, strips, depth)
        across = -(-length // fitted.tile)
        # Long strips: one for each group, and few rows loaded beyond their ends.
        wanted = max(1, (fitted.groups_per_unit or 1) * able.compute_units // (across * batches))
        least = _LEAST_DEPTH * around.span
        depth = max(-(-rows // wanted), least)
        if chosen.window == "ring":
            depth = min(rows, depth)
            strips = -(-rows // depth)
            return kernel.prepare(fitted.groups(across * strips * planes * batches, able), packed, strips, depth)
        # Strips cover the rows whose neighbours all lie inside, a multiple of ROWS_AT_ONCE; other rows are computed one
        # by one. Where memory sets the pace, strips are short: their rows are still in a cache when the next strip
        # loads them.
        if around.taps * times <= _FEW_TAPS * self.forms[0].item:
            depth = least
        depth = -(-depth // ROWS_AT_ONCE) * ROWS_AT_ONCE
        covered = max(rows - times * (around.span - 1), 0) // ROWS_AT_ONCE * ROWS_AT_ONCE
        tasks = -(-covered // depth) + rows - covered
        return kernel.prepare(fitted.groups(across * tasks * batches, able), packed, depth, covered)

    def _spec(self, layout: Layout, chosen: StencilVariant, **more: Any) -> StencilSpec:
        _, stencil, border, *_ = self.request
        accesses = layout.accesses
        return StencilSpec(
            accesses[:-1],
            accesses[-1:],
            (stencil.value,),
            stencil.finish if stencil.function is None else stencil.function,
            stencil.finish,
            offsets=tuple((0, 0, *offset)[-3:] for offset in stencil.offsets),
            mode=border.mode,
            beyond=border.beyond,
            across=stencil.across,
            columns=stencil.columns,
            window="table" if stencil.function is None and chosen.window == "listed" else chosen.window,
            paired=stencil.paired if chosen.window == "strip" else None,
            **more,
        )
