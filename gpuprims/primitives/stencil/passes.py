"""The launch of one pass of a stencil."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.launch_plan import LaunchPlan, nothing
from gpuprims.core.layout import VECTOR_BYTES, Form, Layout, contiguous, is_contiguous
from gpuprims.core.variant import MOST_GROUPS, Variant
from gpuprims.errors import ArgumentError
from gpuprims.primitives.stencil.blocks import Block, group_along, plane_numbers
from gpuprims.primitives.stencil.grids import Grid, layout_of
from gpuprims.primitives.stencil.loose import begins_anywhere, moved_by_words
from gpuprims.primitives.stencil.refusals import (
    CPU_ROWS,
    CPU_VECTOR_BYTES,
    ROWS_AT_ONCE,
    TILE_WIDTH,
    fitted_block,
    register_bytes,
)
from gpuprims.primitives.stencil.request import StencilRequest
from gpuprims.primitives.stencil.separable import Numbers, fitted_strip, ring_bytes
from gpuprims.primitives.stencil.spec import READING, RoundedSpec, StencilSpec, columns_of, reach_of
from gpuprims.primitives.stencil.traits import Neighbourhood, StencilTraits
from gpuprims.primitives.stencil.variants import StencilVariant

# A strip has at least this many rows for each row that it loads beyond its end, unless a compute unit then has fewer
# groups than this.
_LEAST_DEPTH, _FEWEST_GROUPS = 4, 2
# Strips of more columns than there are groups have so many rows for each that they load beyond their ends, at most.
_SPANS = 16  # rows: rolling-volumes
# Up to this many neighbours a byte of an element, memory sets the pace.
_FEW_TAPS = 2  # rows: rolling
# Up to this many numbers of 32 bits in planes, larger groups are faster.
_FEW_NUMBERS = 64  # rows: planes
# Windows of kernels that read all weights, in one pass.
_READING_ALL = ("dense", "columns", "rows", "long row")
# Work-items that may share a row of planes.
_LANES = 32, 16, 8


class Pass(NamedTuple):
    """One launch: how often it applies which stencil, and the forms of the array and of the result."""

    request: StencilRequest
    forms: tuple[Form, Form]

    @property
    def traits(self) -> StencilTraits:
        """Facts for the variants."""
        _, stencil, _, grid, times, _ = self.request
        left, right = columns_of(stencil.column_offsets, times)
        offsets = [(0, 0, *offset)[-3:] for offset in stencil.offsets]
        (front, back), (top, bottom) = (reach_of([offset[axis] for offset in offsets]) for axis in range(2))
        lines = grid.lines(self.forms)
        reads = Neighbourhood(
            lines=lines is not None,
            across=stencil.across is not None,
            table=stencil.has_weights,
            span=bottom - top + 1,
            beside=(right - left) * grid.channels,
            taps=stencil.taps,
            paired=stencil.paired is not None,
            times=times,
            written=stencil.function is not None,
            planes=lines is not None and lines.reduced[1] > 1,
            deep=back - front + 1,
            channels=grid.channels,
            loose=lines is not None and begins_anywhere(lines, self.forms),
            alone=lines is not None and math.prod(lines.reduced[:-1]) == 1,
        )
        computed = () if stencil.function is None else stencil.function.computed_in
        dtypes = (self.forms[0].dtype, stencil.value, stencil.result, *computed)
        rounds = stencil.function is None and stencil.value.kind == "f"  # else all kernels compute one function
        size, portable = math.prod(grid.lengths), stencil.portable
        return StencilTraits(dtypes, size, neighbourhood=reads, rounds=rounds, portable=portable)

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
        if any(used[1:]) or not all(map(is_contiguous, self.forms)) or grid.channel:
            return self
        kept = replace(stencil, offsets=tuple(offset[:2] for offset in stencil.offsets))
        tall = grid.tall()
        array, out = (form._replace(shape=tall.shape, strides=_strides(form, tall)) for form in self.forms)
        return self._replace(request=self.request._replace(grid=tall, stencil=kept), forms=(array, out))

    def plan(self, device: Device, variant: str | Variant | None) -> LaunchPlan:
        """Return the plan of the launch, by the variant that is asked for or the best one."""
        simple = self.simplified()
        traits, stencil = simple.traits, simple.request.stencil
        tables = dict[np.dtype[Any], Any]()  # on the device: launches that a graph captures copy nothing

        def compiling(variant: Variant) -> Launch:
            if not traits.size:
                return nothing
            chosen = StencilVariant.of(variant)
            table = None
            if chosen.window in READING or (chosen.window == "listed" and stencil.function is None):
                if (weights := stencil.read_weights) is None:
                    raise TypeError(f"{self.request.label}: a table of weights; got none")
                dtype = simple._table_dtype(chosen)
                if (table := tables.get(dtype)) is None:
                    table = tables[dtype] = device.driver.asarray(weights.ravel().astype(dtype))
                    device.driver.synchronize()  # calls on other queues or streams may come first
            prepare = simple._listed if chosen.window == "listed" else simple._in_lines
            launch = prepare(traits, chosen, device, () if table is None else (device.driver.form(table),))
            return launch if table is None else lambda memories: launch([memories[0], table, memories[1]])

        out = self.forms[1]
        results = (contiguous(out.dtype, out.shape, out.divides_address),)
        return LaunchPlan(device, "stencil", traits, results, compiling, asked=variant, inputs=(0,))

    def _table_dtype(self, chosen: StencilVariant) -> np.dtype[Any]:
        """Return the dtype of the weights that a variant reads."""
        _, stencil, *_ = self.request
        in_floats = chosen.window == "separable" and stencil.exact_in_floats(self.forms[0].dtype)
        return np.dtype(np.float32) if in_floats else stencil.value

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
        _, stencil, _, grid, times, _ = self.request
        around, able = traits.neighbourhood, device.capabilities
        layout = grid.lines((self.forms[0], *tables, self.forms[1]))
        if layout is None:
            raise TypeError(f"{self.request.label}: rows side by side; got {self.forms}")
        batches, planes, rows, length = layout.reduced
        block, group = self._block(layout, chosen, around, able)
        fitted = chosen.resized(items=block.items, block=group)
        if chosen.window == "strip" and chosen.groups_per_unit is not None:
            fitted = fitted.resized(groups_per_unit=chosen.groups_per_unit * chosen.block // group)
        vector, vector_out = (
            min(layout.width_of(k), fitted.items) if chosen.vectors else 1 for k in (0, len(tables) + 1)
        )
        if chosen.window == "planes" and (length % fitted.items or min(vector, vector_out) < fitted.items):
            vector = vector_out = 1
        local = min(VECTOR_BYTES // register_bytes(self.forms[0].dtype), fitted.items)
        if chosen.window in ("rows", "long row"):
            local = (CPU_VECTOR_BYTES if chosen.block == 1 else VECTOR_BYTES) // stencil.value.itemsize
        weights, dtypes = stencil.read_weights, (self.forms[0].dtype, self.forms[1].dtype)
        vectors = vector, vector_out
        loose = moved_by_words(*dtypes, vectors, fitted.geometry, around, able) if chosen.window == "strip" else {}
        reach = max(map(abs, columns_of(stencil.column_offsets, times))) * grid.channels * times
        spec = self._spec(
            layout,
            chosen,
            vector=vector,
            vector_out=vector_out,
            vector_local=local,
            vector_kept=min(VECTOR_BYTES // self.forms[1].item, fitted.items),
            **loose,
            summed_in_floats=self._table_dtype(chosen) != stencil.value,
            vector_halo=min(local, 1 << (reach - 1).bit_length()) if reach else 1,
            channels=grid.channels,
            times=times,
            block=block,
            far=rows * max(abs(strides[2]) for strides in layout.reduced_strides) >= 2**31,
            some_zero=weights is not None and stencil.value.kind == "f" and not weights.all(),
        )
        kernel, packed = device.kernel(fitted, spec), layout.pack(0)
        wide, high, deep = _tile(fitted, block)
        across, tiles = -(-length // wide), -(-rows // high) * -(-planes // deep) * batches
        if chosen.window == "separable":
            depth = fitted_strip(chosen.block, around, dtypes[0], stencil.value, layout.reduced, able).depth
            local = ring_bytes(block, around, Numbers(dtypes[0].itemsize, stencil.value.itemsize))
            groups = fitted.groups(across * -(-rows // depth) * batches, able)
            return kernel.prepare(groups, packed, depth, local=local)
        if chosen.window in ("tile", "dense", "rows", "long row"):
            return kernel.prepare(fitted.groups(across * tiles, able), packed)
        # Long strips: one for each group, and few rows or planes loaded beyond their ends.
        along, span = (planes, around.deep) if chosen.window == "planes" else (rows, around.span)
        beside = across * (tiles if chosen.window == "planes" else planes * batches)
        wanted = max(1, (fitted.groups_per_unit or 1) * able.compute_units // beside)
        least = _LEAST_DEPTH * span
        fewest = _FEWEST_GROUPS * able.compute_units * max(chosen.block // group, 1)
        while least > span and beside * -(-along // least) < fewest:
            least = max(least // 2, span)
        depth = max(-(-along // wanted), least)
        if chosen.window != "strip":
            depth = min(-(-depth // high) * high if chosen.window == "columns" else depth, along)
            strips = -(-along // depth)
            most = fitted.groups(MOST_GROUPS, able) if chosen.window == "ring" else MOST_GROUPS
            return kernel.prepare(min(beside * strips, most), packed, strips, depth)
        # Strips cover the rows whose neighbours all lie inside, in multiples of ROWS_AT_ONCE; others come alone.
        # Where memory sets the pace, strips are short: a cache still holds their rows when the next strip loads them.
        if around.taps * times <= _FEW_TAPS * self.forms[0].item:
            depth = least
        if wanted == 1:  # columns enough for all groups
            depth = min(depth, max(least, -(-along // max(along // (_SPANS * span), 1))))
        depth = -(-depth // ROWS_AT_ONCE) * ROWS_AT_ONCE
        covered = max(rows - times * (span - 1), 0) // ROWS_AT_ONCE * ROWS_AT_ONCE
        tasks = across * (-(-covered // depth) + rows - covered) * batches
        groups = min(tasks, MOST_GROUPS) if wanted == 1 else fitted.groups(tasks, able)
        return kernel.prepare(groups, packed, depth, covered)

    def _block(
        self, layout: Layout, chosen: StencilVariant, around: Neighbourhood, able: Capabilities
    ) -> tuple[Block, int]:
        """Return what a work-item computes, and the size of a group."""
        element, lengths, stencil = self.forms[0].dtype, layout.reduced, self.request.stencil
        block = fitted_block(chosen, around, element, stencil.value, lengths, able)
        length = lengths[-1]
        if chosen.window == "strip":
            return block, group_along(length, block.items, chosen.block, around.beside * around.times)
        if chosen.window != "planes":
            return block, chosen.block
        while block.items > length:
            block = block._replace(items=block.items // 2)
        vectors = -(-length // block.items)
        block = block._replace(lanes=min(_LANES, key=lambda lanes: -(-vectors // lanes) * lanes))  # the fewest idle
        words = -(-register_bytes(element) // 4)
        offsets = [(0, 0, *offset)[-3:] for offset in stencil.offsets]
        few = plane_numbers(offsets, (block.items + around.beside) * words) <= _FEW_NUMBERS
        larger = few and block.items > 1 and able.group_limit >= 2 * chosen.block
        return block, chosen.block * (2 if larger else 1)

    def _spec(self, layout: Layout, chosen: StencilVariant, **more: Any) -> StencilSpec:
        _, stencil, border, *_ = self.request
        accesses = layout.accesses
        kind = StencilSpec if stencil.contracted else RoundedSpec
        written = None if chosen.window in _READING_ALL else stencil.function  # other weights need no other kernel
        return kind(
            accesses[:-1],
            accesses[-1:],
            (stencil.value,),
            stencil.finish if written is None else written,
            stencil.finish,
            offsets=tuple((0, 0, *offset)[-3:] for offset in stencil.offsets),
            mode=border.mode,
            beyond=border.beyond,
            across=stencil.across,
            columns=stencil.columns,
            window="table" if stencil.function is None and chosen.window == "listed" else chosen.window,
            paired=stencil.paired if chosen.window == "strip" else None,
            beside=stencil.beside if chosen.window == "strip" else None,
            shares_weights=stencil.shares_weights(chosen.window),
            **more,
        )


def _strides(form: Form, grid: Grid) -> tuple[int, ...]:
    """Return the strides of a contiguous array's form on another grid of as many elements."""
    return contiguous(form.dtype, grid.shape, 1).strides


def _tile(fitted: StencilVariant, block: Block) -> tuple[int, int, int]:
    """Return the columns, rows and planes that a group computes together; for strips, the rows of a work-item."""
    match fitted.window:
        case "tile":
            return TILE_WIDTH, fitted.tile // TILE_WIDTH, 1
        case "rows":
            return block.items, CPU_ROWS, 1
        case "separable":
            return block.lanes * block.items, 1, 1
        case "long row" if fitted.block == 1:
            return block.items, 1, 1
        case "long row":
            return block.lanes * block.items, fitted.block // block.lanes, 1
        case "dense":
            return block.lanes * block.items * block.vectors, fitted.block // block.lanes * block.rows, block.planes
        case "planes":
            return block.lanes * block.items, fitted.block // block.lanes, 2**62
        case "columns":
            return fitted.block, block.items, 1
    return fitted.tile, 1, 1
