"""``where=`` of folds: a mask beside the arrays, which the map passes to an operator that leaves elements out."""

from __future__ import annotations

from typing import Any

from gpuprims.core.operands import Operands
from gpuprims.core.shapes import broadcast_shapes
from gpuprims.errors import ArrayError, ShapeError, quoted
from gpuprims.expressions import expression
from gpuprims.operators import Op, altered, as_initial, find_op, masked_map


def refuse_function(label: str, where: Any) -> None:
    """Raise for a condition that is not computed yet."""
    if callable(where) or isinstance(where, str):
        how = quoted(where) if isinstance(where, str) else "fn"
        raise ArrayError(f"{label}: where= an array of bools; got {quoted(where)} (write where=gpuprims.map({how}, x))")


def check_mask(operands: Operands) -> None:
    """Raise for a mask, the last array, whose shape does not broadcast to that of the others."""
    *others, mask = operands.natives
    shape = broadcast_shapes(operands.label, [one.shape for one in others])
    if broadcast_shapes(operands.label, [shape, mask.shape]) != shape:
        raise ShapeError(f"{operands.label}: where= that broadcasts to the arrays' shape {shape}; got {mask.shape}")


def masked_call(
    label: str,
    arrays: tuple[Any, ...],
    op: Any,
    mapped: Any,
    where: Any,
    initial: Any,
    ddof: float = 0,
    compensated: bool = False,
) -> tuple[Op, tuple[Any, ...], Any]:
    """Return the operator, the arrays and the map of a call as one without where= and initial=."""
    refuse_function(label, where)
    plain = find_op(op, ddof=ddof, compensated=compensated)
    operator = altered(label, plain, where=where is not None, initial=as_initial(label, plain, initial))
    if where is None:
        return operator, arrays, mapped
    function = None if mapped is None else expression(mapped, len(arrays))
    return operator, (*arrays, where), masked_map(label, function, len(arrays))
