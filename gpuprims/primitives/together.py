"""Arrays whose elements lie apart, copied together for kernels that take no strides."""

from __future__ import annotations

from gpuprims.core.layout import is_contiguous
from gpuprims.core.operands import Operands
from gpuprims.primitives.map import map as map_arrays


def side_by_side(operands: Operands) -> Operands:
    """Return the same arrays, those whose elements lie apart copied together."""
    apart = [not is_contiguous(form) for form in operands.forms]
    if not any(apart):
        return operands
    natives = zip(operands.natives, apart, strict=True)
    return operands.instead(
        *(map_arrays("x", array, device=operands.device) if copied else array for array, copied in natives)
    )
