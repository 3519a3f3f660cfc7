"""A stencil call: what to apply to an array, and where."""

from __future__ import annotations

from typing import NamedTuple

from gpuprims.primitives.stencil.grids import Border, Grid
from gpuprims.primitives.stencil.stencils import Stencil


class StencilRequest(NamedTuple):
    """A stencil to apply to an array, its border, the number of iterations, and stencils to apply to the result."""

    label: str
    stencil: Stencil
    border: Border
    grid: Grid
    iterations: int = 1
    then: tuple[StencilRequest, ...] = ()

    @property
    def parts(self) -> tuple[StencilRequest, ...]:
        """Each stencil alone, in order."""
        return self._replace(then=()), *self.then

    @property
    def last(self) -> Stencil:
        """The stencil that gives the result."""
        return self.parts[-1].stencil
