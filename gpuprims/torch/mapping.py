"""map as an operator of torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

import gpuprims
from gpuprims.expressions.derivatives import vjp
from gpuprims.torch.calls import arrays_of, as_tensors, dtypes_of, mapped_dtypes
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
    expr, tensors = vjp(read_function(ctx.function)), ctx.saved_tensors
    smooth = [k for k, one in enumerate(tensors) if one.is_floating_point()]
    none = next(one for one in tensors if one.is_floating_point()).new_zeros(())
    given = [*tensors, *(none if one is None else one for one in above)]
    chosen = replace(expr, results=tuple(expr.results[k] for k in smooth), single=False)
    found = dict(zip(smooth, map_operator(function_text(chosen, None), given), strict=True))
    return None, [
        found[k].sum_to_size(one.shape).to(one.dtype) if k in found else None for k, one in enumerate(tensors)
    ]


map_operator.register_autograd(_map_backward, setup_context=_keep_map)
