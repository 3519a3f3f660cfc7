"""How far away the elements are on which a result of a stencil depends."""

from __future__ import annotations

from gpuprims.primitives.stencil.request import StencilRequest
from gpuprims.primitives.stencil.stencils import Stencil


def reach_of(request: StencilRequest, space: int = 0) -> int:
    """Return how many rows before and after its own a result needs, along one of the axes of neighbourhoods."""
    place = 3 - len(request.grid.space) + space
    return sum(one.iterations * _reach(one.stencil, place) for one in request.parts)


def _reach(stencil: Stencil, place: int) -> int:
    """Return how far away neighbours lie along one of the last three axes."""
    if stencil.halves is not None:
        return _reach(stencil.halves.high, place)
    if stencil.passes:
        return sum(_reach(one, place) for one in stencil.passes)
    return max(abs((0, 0, *offset)[-3:][place]) for offset in stencil.offsets)
