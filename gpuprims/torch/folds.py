"""reduce along axes and in segments, as operators of torch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

import gpuprims
from gpuprims.errors import ArgumentError
from gpuprims.torch.calls import arrays_of, as_tensors, dtypes_of, folded_dtypes
from gpuprims.torch.scans import scan_operator, shifted


@torch.library.custom_op(
    "gpuprims::reduce", mutates_args=(), schema="(Tensor x, str op, int[] dims, bool keepdim) -> Tensor"
)
def reduce_operator(x: Tensor, op: Any, dims: list[int], keepdim: bool) -> Tensor:
    """Fold along dimensions."""
    return _only("reduce", op, as_tensors(gpuprims.reduce(*arrays_of(x), op=op, axis=tuple(dims), keepdims=keepdim)))


def _only(label: str, op: str, results: list[Tensor]) -> Tensor:
    if len(results) > 1:
        raise ArgumentError(f"{label}: an operator with one result; got op={op!r} (call gpuprims.reduce)")
    return results[0]


@reduce_operator.register_fake
def _(x: Tensor, op: str, dims: list[int], keepdim: bool) -> Tensor:
    kept = [1 if k in dims else n for k, n in enumerate(x.shape) if keepdim or k not in dims]
    return x.new_empty(kept, dtype=folded_dtypes(op, dtypes_of(x))[0])


def _keep_reduce(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    x, ctx.op, ctx.dims, ctx.keepdim = inputs
    ctx.save_for_backward(x, output)


def _reduce_backward(ctx: Any, above: Tensor) -> tuple[Any, ...]:
    (x, folded), op, dims = ctx.saved_tensors, ctx.op, ctx.dims
    for dim in () if ctx.keepdim else sorted(dims):
        above, folded = above.unsqueeze(dim), folded.unsqueeze(dim)
    if op in ("max", "min"):  # equal elements share the gradient
        best = (x == folded).to(above.dtype)
        grad = above * best / best.sum(dims, keepdim=True)
    elif op == "prod":
        grad = above * _products_of_others(x, dims).conj()
    elif op in ("sum", "mean"):
        count = 1 if op == "sum" else x.numel() // max(folded.numel(), 1)
        grad = (above / count).expand(x.shape)
    else:
        raise NotImplementedError(f"reduce: the derivative of sum, mean, prod, max or min; got op={op!r}")
    return grad, None, None, None


def _products_of_others(x: Tensor, dims: Sequence[int]) -> Tensor:
    """Return for each element the product of the others along dimensions; it may contain zeros."""
    kept = [k for k in range(x.ndim) if k not in dims]
    order = [*kept, *dims]
    rows = x.permute(order).reshape(*(x.shape[k] for k in kept), math.prod(x.shape[k] for k in dims))
    before = shifted(scan_operator("prod", [rows], rows.ndim - 1, False)[0], -1, 1, first=True)
    after = shifted(scan_operator("prod", [rows], rows.ndim - 1, True)[0], -1, 1, first=False)
    back = [order.index(k) for k in range(x.ndim)]
    return (before * after).reshape([x.shape[k] for k in order]).permute(back)


reduce_operator.register_autograd(_reduce_backward, setup_context=_keep_reduce)


@torch.library.custom_op("gpuprims::segments", mutates_args=(), schema="(Tensor x, Tensor offsets, str op) -> Tensor")
def segments_operator(x: Tensor, offsets: Tensor, op: Any) -> Tensor:
    """Fold each segment of a 1-d tensor."""
    array, ends = arrays_of(x, offsets)
    return _only("segment_reduce", op, as_tensors(gpuprims.reduce(array, op=op, segments=ends)))


@segments_operator.register_fake
def _(x: Tensor, offsets: Tensor, op: str) -> Tensor:
    return x.new_empty((offsets.shape[0] - 1,), dtype=folded_dtypes(op, dtypes_of(x))[0])


def _keep_segments(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    x, offsets, ctx.op = inputs
    ctx.save_for_backward(x, offsets, output)


def _segments_backward(ctx: Any, above: Tensor) -> tuple[Any, ...]:
    x, offsets, folded = ctx.saved_tensors
    lengths = offsets.diff()

    def spread(values: Tensor) -> Tensor:
        """Return for each element the value of its segment."""
        return values.repeat_interleave(lengths, output_size=x.shape[0])

    if ctx.op == "sum":
        grad = spread(above)
    elif ctx.op == "mean":
        grad = spread(above / lengths)
    elif ctx.op in ("max", "min"):  # equal elements share the gradient
        best = (x == spread(folded)).to(above.dtype)
        grad = spread(above / segments_operator(best, offsets, "sum")) * best
    else:
        raise NotImplementedError(f"segment_reduce: the derivative of sum, mean, max or min; got op={ctx.op!r}")
    return grad, None, None


segments_operator.register_autograd(_segments_backward, setup_context=_keep_segments)
