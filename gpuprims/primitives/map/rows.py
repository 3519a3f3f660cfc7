"""The geometry of maps on CPUs."""

from __future__ import annotations

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.layout import Layout
from gpuprims.expressions import TypedExpr
from gpuprims.primitives.joined import lanes_joined, scalar_in_loops, widens
from gpuprims.primitives.map.tiles import MapVariant


def joined(variant: MapVariant, layout: Layout, function: TypedExpr, capabilities: Capabilities) -> MapVariant:
    """Return a variant with as many work-items a group as the device's compiler joins in a vector.

    It vectorises more functions in work-items, but in loops alone it loads vectors of numbers that lie apart, such as
    the real parts of complex numbers (rows: cpu_chunks), or halves of 64-bit integers (rows: cpu_chunks-loops).
    """
    dense = all(
        strides[-1:] in ((), (0,), (1,)) and form.dtype.kind != "c" and form.lanes == 1
        for form, strides in zip(layout.forms, layout.reduced_strides, strict=True)
    )
    joins = scalar_in_loops(function) or (dense and not widens(function))
    block = lanes_joined(capabilities) if joins else 1
    return variant.resized(block=block, items=max(variant.tile // block, 1))
