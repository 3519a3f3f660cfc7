"""The launches of a map: by tiles, by blocks, by shifted vectors, by rows or by index."""

from __future__ import annotations

from typing import NamedTuple

from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.kernel_spec import unchanged
from gpuprims.core.launch_plan import nothing
from gpuprims.core.layout import Layout
from gpuprims.core.variant import Variant
from gpuprims.expressions import TypedExpr
from gpuprims.primitives.by_rows import by_rows
from gpuprims.primitives.map.blocks import Blocks
from gpuprims.primitives.map.rows import joined
from gpuprims.primitives.map.shifts import Shifting
from gpuprims.primitives.map.spec import MapSpec
from gpuprims.primitives.map.tiles import MapVariant, Tiling
from gpuprims.primitives.near import groups_near


class MapWork(NamedTuple):
    """A map of ``size`` elements of ``read`` arrays, without the variant that does it.

    ``tiling``, ``blocks`` and ``shifting`` are None for arrays that need none of them.
    """

    device: Device
    function: TypedExpr
    layout: Layout
    read: int
    size: int
    tiling: Tiling | None
    blocks: Blocks | None
    shifting: Shifting | None
    indexed: bool
    in_place: bool

    def launch(self, variant: Variant) -> Launch:
        """Return the launch by a variant."""
        chosen, device = MapVariant.of(variant), self.device
        if not self.size:
            return nothing
        if chosen.tiles and self.tiling is not None:
            tiling = self.tiling
            return tiling.prepare(device, chosen, self._spec(tiling.layout, tiling.vector, tiling.across))
        if chosen.blocks and self.blocks is not None:
            return self.blocks.prepare(device, chosen, self._spec(self.blocks.layout, 1), self.function)
        if chosen.shifts and self.shifting is not None:
            shifting = self.shifting
            return shifting.prepare(device, chosen, self._spec(shifting.layout, shifting.vector), self.size)
        return self._launch_elements(chosen)

    def _launch_elements(self, chosen: MapVariant) -> Launch:
        """Return the launch of work-items that take elements of a row, or by index."""
        able = self.device.capabilities
        placed = by_rows(self.layout) if chosen.by_rows and not self.indexed else self.layout
        spec = self._spec(placed, placed.vector_width() if chosen.vectors else 1)
        fitted = chosen.fitted(spec)
        if chosen.by_rows:
            fitted = joined(fitted, placed, self.function, able)
        groups = fitted.groups(-(-self.size // fitted.tile), able)
        if chosen.by_rows:
            nbytes = sum([form.item for form in placed.forms]) * self.size
            groups = groups_near(groups, nbytes, self.function)
        return self.device.kernel(fitted, spec).prepare(groups, placed.pack(1), self.size)

    def _spec(self, layout: Layout, vector: int, across: int = 1) -> MapSpec:
        """Return the spec of a kernel that reads and writes by a layout."""
        accesses = layout.accesses
        return MapSpec(
            inputs=accesses[: self.read],
            outputs=accesses[self.read :],
            values=self.function.dtypes,
            map=self.function,
            finish=unchanged(self.function.dtypes),
            vector=vector,
            vector_across=across,
            index=layout.index,
            in_place=self.in_place,
        )
