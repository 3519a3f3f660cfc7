"""The launch of a pass of a stencil: what each group takes, and the numbers that its kernel is compiled with."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.driver import Kernel, Launch
from gpuprims.core.layout import VECTOR_BYTES, Form, Layout
from gpuprims.core.variant import MOST_GROUPS
from gpuprims.errors import ArgumentError
from gpuprims.primitives.stencil.blocks import Block, group_along, plane_numbers
from gpuprims.primitives.stencil.grids import layout_of
from gpuprims.primitives.stencil.loose import moved_by_words
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
from gpuprims.primitives.stencil.spec import RoundedSpec, StencilSpec, columns_of
from gpuprims.primitives.stencil.traits import StencilTraits
from gpuprims.primitives.stencil.variants import StencilVariant
from gpuprims.primitives.stencil.volumes import volume_depth

# A strip has at least this many rows for each row that it loads beyond its end, unless a compute unit then has fewer
# groups than this.
_LEAST_DEPTH, _FEWEST_GROUPS = 4, 2
# If there are more columns of strips than groups, a strip has at most this many rows for each row beyond its end.
_SPANS = 16  # rows: rolling-volumes
# Up to this many neighbours for each byte of an element, memory limits the speed.
_FEW_TAPS = 2  # rows: rolling
# Up to this many numbers of 32 bits in planes, larger groups are faster.
_FEW_NUMBERS = 64  # rows: planes
# Windows of kernels that read all weights, in one pass.
_READING_ALL = ("dense", "columns", "rows", "long row")
# Work-items that may share a row of planes.
_LANES = 32, 16, 8


class _Depths(NamedTuple):
    """Rows of a strip that occupy all groups, the fewest that pay for rows beyond its end, and strips of a column."""

    depth: int
    least: int
    wanted: int


class PassWork(NamedTuple):
    """A pass by a variant; ``tables`` are the forms of the weights that its kernel reads."""

    request: StencilRequest
    forms: tuple[Form, Form]
    traits: StencilTraits
    chosen: StencilVariant
    device: Device
    tables: tuple[Form, ...]

    def launch(self) -> Launch:
        """Return the launch of the kernel."""
        return self._listed() if self.chosen.window == "listed" else self._in_lines()

    def _listed(self) -> Launch:
        """Return the launch of a kernel that reads elements one by one, wherever they lie."""
        array, out = self.forms
        grid = self.request.grid
        read, written = grid.strides(array), grid.strides(out)
        if read is None or written is None:
            rule = "out= with one stride for all axes before the neighbourhoods"
            raise ArgumentError(f"{self.request.label}: {rule}; got another")
        strides = [read, *[(0,) * 5] * len(self.tables), written]  # kernels read all weights, by no stride
        layout = layout_of((array, *self.tables, out), grid.lengths, strides)
        kernel = self.device.kernel(self.chosen, self._spec(layout))
        groups = self.chosen.groups(-(-self.traits.size // self.chosen.tile), self.device.capabilities)
        return kernel.prepare(groups, layout.pack(0), self.traits.size)

    def _in_lines(self) -> Launch:
        """Return the launch of a kernel that computes along rows whose elements lie side by side."""
        layout = self.request.grid.lines((self.forms[0], *self.tables, self.forms[1]))
        if layout is None:
            raise TypeError(f"{self.request.label}: rows side by side; got {self.forms}")
        chosen = self.chosen
        block, group = self._block(layout)
        fitted = chosen.resized(items=block.items, block=group)
        if chosen.window == "strip" and chosen.groups_per_unit is not None:
            fitted = fitted.resized(groups_per_unit=chosen.groups_per_unit * chosen.block // group)
        kernel = self.device.kernel(fitted, self._line_spec(layout, fitted, block))
        wide, high, deep = _tile(fitted, block)
        batches, planes, rows, length = layout.reduced
        across, tiles = -(-length // wide), -(-rows // high) * -(-planes // deep) * batches
        match chosen.window:
            case "separable":
                return self._launch_separable(kernel, fitted, layout, across, block)
            case "volume":
                return self._launch_tiles(kernel, fitted, layout, across * -(-rows // high) * batches)
            case "tile" | "dense" | "rows" | "long row":
                return kernel.prepare(fitted.groups(across * tiles, self.device.capabilities), layout.pack(0))
            case "planes":
                return self._launch_strips(kernel, fitted, layout, across * tiles)
        return self._launch_strips(kernel, fitted, layout, across * planes * batches)

    def _launch_separable(
        self, kernel: Kernel, fitted: StencilVariant, layout: Layout, across: int, block: Block
    ) -> Launch:
        """Return the launch of groups that filter the rows and then the columns of a strip, ``across`` of them."""
        around, able = self.traits.neighbourhood, self.device.capabilities
        element, value = self.forms[0].dtype, self.request.stencil.value
        batches, _, rows, _ = layout.reduced
        depth = fitted_strip(self.chosen.block, around, element, value, layout.reduced, able).depth
        local = ring_bytes(block, around, Numbers(element.itemsize, value.itemsize))
        groups = fitted.groups(across * -(-rows // depth) * batches, able)
        return kernel.prepare(groups, layout.pack(0), depth, local=local)

    def _launch_tiles(self, kernel: Kernel, fitted: StencilVariant, layout: Layout, tiles: int) -> Launch:
        """Return the launch of groups that go through the planes of a tile, ``tiles`` of them in a plane."""
        planes, deep = layout.reduced[1], self.traits.neighbourhood.deep
        depth = volume_depth(tiles, planes, deep, self.device.capabilities.compute_units)
        return kernel.prepare(min(tiles * -(-planes // depth), MOST_GROUPS), layout.pack(0), depth)

    def _launch_strips(self, kernel: Kernel, fitted: StencilVariant, layout: Layout, beside: int) -> Launch:
        """Return the launch of ``beside`` columns of strips: one for each group, so long that few rows load twice."""
        chosen, around, able = self.chosen, self.traits.neighbourhood, self.device.capabilities
        _, planes, rows, _ = layout.reduced
        along, span = (planes, around.deep) if chosen.window == "planes" else (rows, around.span)
        wanted = max(1, (fitted.groups_per_unit or 1) * able.compute_units // beside)
        least = _LEAST_DEPTH * span
        fewest = _FEWEST_GROUPS * able.compute_units * max(chosen.block // fitted.block, 1)
        while least > span and beside * -(-along // least) < fewest:
            least = max(least // 2, span)
        depth = max(-(-along // wanted), least)
        if chosen.window == "strip":
            return self._launch_covered(kernel, fitted, layout, beside, _Depths(depth, least, wanted))
        high = fitted.items if chosen.window == "columns" else 1
        depth = min(-(-depth // high) * high, along)
        strips = -(-along // depth)
        most = fitted.groups(MOST_GROUPS, able) if chosen.window == "ring" else MOST_GROUPS
        return kernel.prepare(min(beside * strips, most), layout.pack(0), strips, depth)

    def _launch_covered(
        self, kernel: Kernel, fitted: StencilVariant, layout: Layout, beside: int, depths: _Depths
    ) -> Launch:
        """Return the launch of strips of the rows whose neighbours all lie inside; other rows come alone.

        Where memory limits the speed, strips are short: a cache still holds their rows when the next strip loads them.
        """
        depth, least, wanted = depths
        around, times, rows = self.traits.neighbourhood, self.request.iterations, layout.reduced[2]
        if around.taps * times <= _FEW_TAPS * self.forms[0].item:
            depth = least
        if wanted == 1:  # columns enough for all groups
            depth = min(depth, max(least, -(-rows // max(rows // (_SPANS * around.span), 1))))
        depth = -(-depth // ROWS_AT_ONCE) * ROWS_AT_ONCE
        covered = max(rows - times * (around.span - 1), 0) // ROWS_AT_ONCE * ROWS_AT_ONCE
        tasks = beside * (-(-covered // depth) + rows - covered)  # the variant refuses arrays of several planes
        groups = min(tasks, MOST_GROUPS) if wanted == 1 else fitted.groups(tasks, self.device.capabilities)
        return kernel.prepare(groups, layout.pack(0), depth, covered)

    def _block(self, layout: Layout) -> tuple[Block, int]:
        """Return what a work-item computes, and the size of a group."""
        chosen, around, able = self.chosen, self.traits.neighbourhood, self.device.capabilities
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

    def _line_spec(self, layout: Layout, fitted: StencilVariant, block: Block) -> StencilSpec:
        """Return the kernel spec of a kernel that computes along rows: how many elements it moves at once."""
        _, stencil, _, grid, times, _ = self.request
        around, able, window = self.traits.neighbourhood, self.device.capabilities, fitted.window
        array, out = self.forms
        vectors = self._vectors(layout, fitted)
        local = min(VECTOR_BYTES // register_bytes(array.dtype), fitted.items)
        if window in ("rows", "long row", "volume"):
            local = (CPU_VECTOR_BYTES if self.chosen.block == 1 else VECTOR_BYTES) // stencil.value.itemsize
        by_words = array.dtype, out.dtype, vectors, fitted.geometry, around, able
        reach = max(map(abs, columns_of(stencil.column_offsets, times))) * grid.channels * times
        weights, rows = stencil.read_weights, layout.reduced[2]
        return self._spec(
            layout,
            vector=vectors[0],
            vector_out=vectors[1],
            vector_local=local,
            vector_kept=min(VECTOR_BYTES // out.item, fitted.items),
            **(moved_by_words(*by_words) if window == "strip" else {}),
            summed_in_floats=table_dtype(self.request, self.forms, fitted) != stencil.value,
            vector_halo=min(local, 1 << (reach - 1).bit_length()) if reach else 1,
            channels=grid.channels,
            times=times,
            block=block,
            far=rows * max(abs(strides[2]) for strides in layout.reduced_strides) >= 2**31,
            alike=stencil.alike if window == "long row" and self.chosen.block == 1 else None,
            some_zero=weights is not None and stencil.value.kind == "f" and not weights.all(),
        )

    def _vectors(self, layout: Layout, fitted: StencilVariant) -> tuple[int, int]:
        """Return how many elements, and how many results, a work-item moves at once."""
        last = len(self.tables) + 1
        array, out = (min(layout.width_of(k), fitted.items) if fitted.vectors else 1 for k in (0, last))
        if fitted.window == "planes" and (layout.reduced[-1] % fitted.items or min(array, out) < fitted.items):
            return 1, 1
        if fitted.window == "volume":  # written to local memory as sums
            array = min(array, VECTOR_BYTES // self.request.stencil.value.itemsize)
        return array, out

    def _spec(self, layout: Layout, **more: Any) -> StencilSpec:
        _, stencil, border, *_ = self.request
        window, accesses = self.chosen.window, layout.accesses
        kind = StencilSpec if stencil.contracted else RoundedSpec
        written = None if window in _READING_ALL else stencil.function  # other weights need no other kernel
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
            window="table" if stencil.function is None and window == "listed" else window,
            paired=stencil.paired if window == "strip" else None,
            beside=stencil.beside if window == "strip" else None,
            lines=stencil.lines,
            shares_weights=stencil.shares_weights(window),
            **more,
        )


def table_dtype(request: StencilRequest, forms: tuple[Form, Form], chosen: StencilVariant) -> np.dtype[Any]:
    """Return the dtype of the weights that a variant reads."""
    stencil = request.stencil
    in_floats = chosen.window == "separable" and stencil.exact_in_floats(forms[0].dtype)
    return np.dtype(np.float32) if in_floats else stencil.value


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
        case "volume":
            return block.lanes, fitted.block // block.lanes * block.items, 1
    return fitted.tile, 1, 1
