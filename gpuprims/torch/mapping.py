"""map as an operator of torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

import gpuprims
from gpuprims.expressions import Expr
from gpuprims.expressions.derivatives import vjp
from gpuprims.torch.calls import arrays_of, as_tensors, dtypes_of, mapped_dtypes, through_conjugates
from gpuprims.torch.texts import function_text, read_function


@torch.library.custom_op("gpuprims::map", mutates_args=(), schema="(str function, Tensor[] tensors) -> Tensor[]")
def map_operator(function: str, tensors: list[Tensor]) -> list[Tensor]:
    """Apply a function to each element."""
    return as_tensors(gpuprims.map(read_function(function), *arrays_of(*tensors)))


@map_operator.register_fake
def _(function: str, tensors: list[Tensor]) -> list[Tensor]:
    shape = torch.broadcast_shapes(*(one.shape for one in tensors))
    dtypes = mapped_dtypes(read_function(function), dtypes_of(*tensors))
    return [tensors[0].new_empty(shape, dtype=dtype) for dtype in dtypes]


def _keep_map(ctx: Any, inputs: tuple[Any, ...], output: list[Tensor]) -> None:
    ctx.function = inputs[0]
    ctx.save_for_backward(*inputs[1])


def _map_backward(ctx: Any, above: Sequence[Tensor | None]) -> tuple[Any, ...]:
    function, tensors = read_function(ctx.function), ctx.saved_tensors
    expr = vjp(function)
    smooth = [k for k, one in enumerate(tensors) if one.is_floating_point() or one.is_complex()]
    none = tensors[smooth[0]].new_zeros(())
    chosen = function_text(replace(expr, results=tuple(expr.results[k] for k in smooth), single=False), None)
    if any(one.is_complex() for one in tensors):
        refuse_unholomorphic("map", function)

    def derive(given: Sequence[Tensor]) -> Sequence[Tensor]:
        found: list[Tensor] = map_operator(chosen, [*tensors, *given])
        return found

    found = dict(zip(smooth, through_conjugates([none if one is None else one for one in above], derive), strict=True))
    return None, [_gradient_of(one, found[k]) if k in found else None for k, one in enumerate(tensors)]


def _gradient_of(tensor: Tensor, found: Tensor) -> Tensor:
    """Return a gradient in the shape and the dtype of its tensor; that of a real one beside complex ones is real."""
    part = found.real if found.is_complex() and not tensor.is_complex() else found
    return part.sum_to_size(tensor.shape).to(tensor.dtype)


def refuse_unholomorphic(label: str, function: Expr) -> None:
    """Raise for a derivative by complex numbers of a function that uses their parts."""
    if parts := sorted({one.name for one in function.code} & _OF_PARTS):
        raise NotImplementedError(f"{label}: a derivative by real tensors; got complex ones in {', '.join(parts)}()")


# Functions that have no derivative by a complex number.
_OF_PARTS = frozenset({"absolute", "angle", "conjugate", "fabs", "imag", "real", "sign"})


map_operator.register_autograd(_map_backward, setup_context=_keep_map)
