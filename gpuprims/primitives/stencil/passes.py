"""The launch of one pass of a stencil."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.launch_plan import LaunchPlan, nothing
from gpuprims.core.layout import Form, contiguous, is_contiguous
from gpuprims.core.variant import Variant
from gpuprims.primitives.stencil.grids import Grid
from gpuprims.primitives.stencil.loose import begins_anywhere
from gpuprims.primitives.stencil.pass_launch import PassWork, table_dtype
from gpuprims.primitives.stencil.request import StencilRequest
from gpuprims.primitives.stencil.spec import READING, columns_of, reach_of
from gpuprims.primitives.stencil.traits import Neighbourhood, StencilTraits
from gpuprims.primitives.stencil.variants import StencilVariant


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
            across=stencil.across is not None or bool(stencil.lines),
            table=stencil.has_weights,
            span=bottom - top + 1,
            beside=(right - left) * grid.channels,
            taps=stencil.taps,
            paired=stencil.paired is not None,
            times=times,
            written=stencil.function is not None,
            planes=lines is not None and (lines.reduced[1] > 1 or (front, back) != (0, 0)),
            deep=back - front + 1,
            channels=grid.channels,
            loose=lines is not None and begins_anywhere(lines, self.forms),
            alone=lines is not None and math.prod(lines.reduced[:-1]) == 1,
        )
        computed = () if stencil.function is None else stencil.function.computed_in
        dtypes = (self.forms[0].dtype, stencil.value, stencil.result, *computed)
        written = stencil.function is not None or stencil.lines
        rounds = not written and stencil.value.kind == "f"  # else all kernels compute one function
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
                dtype = table_dtype(simple.request, simple.forms, chosen)
                if (table := tables.get(dtype)) is None:
                    table = tables[dtype] = device.driver.asarray(weights.ravel().astype(dtype))
                    device.driver.synchronize()  # calls on other queues or streams may come first
            forms = () if table is None else (device.driver.form(table),)
            launch = PassWork(simple.request, simple.forms, traits, chosen, device, forms).launch()
            return launch if table is None else lambda memories: launch([memories[0], table, memories[1]])

        out = self.forms[1]
        results = (contiguous(out.dtype, out.shape, out.divides_address),)
        return LaunchPlan(device, "stencil", traits, results, compiling, asked=variant, inputs=(0,))


def _strides(form: Form, grid: Grid) -> tuple[int, ...]:
    """Return the strides of a contiguous array's form on another grid of as many elements."""
    return contiguous(form.dtype, grid.shape, 1).strides
