"""Stencils with the same bits on each device: portable functions, and sums that are taken in one order."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from gpuprims.expressions import as_portable
from gpuprims.primitives.stencil.stencils import Stencil


@lru_cache(maxsize=256)
def as_portable_stencil(stencil: Stencil) -> Stencil:
    """Return a stencil whose results have the same bits on each device, NaN included.

    Products and sums are rounded one by one, in the order of the weights. Kernels that contain the weights begin
    a sum with the first product, and kernels that read them begin with zero. The sums then differ in the signs of
    zeros, so a stencil keeps only one of the two.
    """
    written = stencil.function is not None
    rounded = written and stencil.value.kind == "f"
    function = None if stencil.function is None else as_portable(stencil.function)
    return replace(
        stencil,
        function=function,
        finish=as_portable(stencil.finish, settles_copies=not written),
        table=None if rounded else stencil.table,
        passes=tuple(map(as_portable_stencil, stencil.passes)),
        contracted=False,
        beside=None,
        portable=True,
    )
