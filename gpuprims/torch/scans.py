"""scan and the linear recurrence as operators of torch.

A scan ``y[i] = op(y[i - 1], x[i])`` has the adjoint ``l[i] = g[i] + J[i + 1].T l[i + 1]``, where ``J`` has the
derivatives of the operator by its first value. It is a linear recurrence from the last element to the first, and so a
scan again. A backward pass computes all of it in one (:mod:`gpuprims.primitives.scan.gradients`), unless autograd keeps
a graph of it: then it consists of operators that have derivatives themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

import gpuprims
from gpuprims.expressions import trace
from gpuprims.expressions.derivatives import gradients, jacobian
from gpuprims.expressions.narrow import register
from gpuprims.operators import Op
from gpuprims.primitives.scan.adjoint import Step
from gpuprims.primitives.scan.gradients import scan_gradients
from gpuprims.torch.calls import arrays_of, as_tensors, dtype_of, dtypes_of, folded_dtypes
from gpuprims.torch.mapping import map_operator
from gpuprims.torch.texts import function_text, operator_text, read_function, read_operator


def shifted(x: Tensor, dim: int, value: float, *, first: bool) -> Tensor:
    """Return the elements moved by one place towards the end, or the beginning, with a value in the free place."""
    edge = torch.full_like(x.narrow(dim, 0, min(1, x.shape[dim])), value)
    rest = x.narrow(dim, 0 if first else min(1, x.shape[dim]), max(x.shape[dim] - 1, 0))
    return torch.cat([edge, rest] if first else [rest, edge], dim)


def in_direction(tensors: Sequence[Tensor], dim: int, reverse: bool, op: Any) -> list[Tensor]:
    """Scan along a dimension, from the last element on if reversed."""
    return as_tensors(gpuprims.scan(*arrays_of(*tensors), op=op, axis=dim, reverse=reverse))


@torch.library.custom_op(
    "gpuprims::scan_gradient",
    mutates_args=(),
    schema="(str step, float[] start, Tensor[] states, Tensor[] tensors, Tensor[] above, int dim, bool reverse)"
    " -> Tensor[]",
)
def gradient_operator(
    step: str,
    start: list[float],
    states: list[Tensor],
    tensors: list[Tensor],
    above: list[Tensor],
    dim: int,
    reverse: bool,
) -> list[Tensor]:
    """Compute the gradients of a scan's elements, given those of its states."""
    h, x, g = (arrays_of(*some) for some in (states, tensors, above))
    return as_tensors(scan_gradients(Step(read_function(step), tuple(start)), h, x, g, dim, reverse=reverse))


@gradient_operator.register_fake
def _(
    step: str,
    start: list[float],
    states: list[Tensor],
    tensors: list[Tensor],
    above: list[Tensor],
    dim: int,
    reverse: bool,
) -> list[Tensor]:
    return [one.new_empty(one.shape) for one in tensors]


@torch.library.custom_op(
    "gpuprims::scan", mutates_args=(), schema="(str op, Tensor[] tensors, int dim, bool reverse) -> Tensor[]"
)
def scan_operator(op: str, tensors: list[Tensor], dim: int, reverse: bool) -> list[Tensor]:
    """Scan with an operator of any number of components."""
    return in_direction(tensors, dim, reverse, read_operator(op))


@scan_operator.register_fake
def _(op: str, tensors: list[Tensor], dim: int, reverse: bool) -> list[Tensor]:
    dtypes = folded_dtypes(read_operator(op), dtypes_of(*tensors))
    return [tensors[0].new_empty(tensors[0].shape, dtype=dtype) for dtype in dtypes]


def _keep_scan(ctx: Any, inputs: tuple[Any, ...], output: list[Tensor]) -> None:
    ctx.op, tensors, ctx.dim, ctx.reverse = inputs
    ctx.save_for_backward(*tensors, *output)


def _scan_backward(ctx: Any, above: Sequence[Tensor | None]) -> tuple[Any, ...]:
    op, dim, reverse, n = ctx.op, ctx.dim, ctx.reverse, len(ctx.saved_tensors) // 2
    tensors, results = ctx.saved_tensors[:n], ctx.saved_tensors[n:]
    given = [
        one.new_zeros(()).expand(one.shape) if grad is None else grad for one, grad in zip(results, above, strict=True)
    ]
    if op == "sum":
        return None, [scan_operator("sum", given, dim, not reverse)[0].to(tensors[0].dtype)], None, None
    step, identity = _step_of(op, tuple(one.dtype for one in results))
    if not torch.is_grad_enabled():
        return None, gradient_operator(step, [*identity], [*results], [*tensors], given, dim, reverse), None, None
    return None, _differentiable(op, tensors, results, given, identity, dim, reverse), None, None


@lru_cache(maxsize=256)
def _step_of(op: str, dtypes: tuple[torch.dtype, ...]) -> tuple[str, tuple[float, ...]]:
    """Return the text of an operator's function, and its identity for results of these dtypes."""
    operator = read_operator(op)
    identity = operator.identity(tuple(map(register, map(dtype_of, dtypes))))
    return function_text(operator.fold, None), tuple(map(float, identity))


def _differentiable(
    op: str,
    tensors: Sequence[Tensor],
    results: Sequence[Tensor],
    given: Sequence[Tensor],
    identity: Sequence[float],
    dim: int,
    reverse: bool,
) -> list[Tensor]:
    """Return the gradients of the elements by operators that have derivatives themselves."""
    n = len(tensors)
    before = [shifted(one, dim, value, first=not reverse) for one, value in zip(results, identity, strict=True)]
    slopes = map_operator(_slopes(op, n), [*before, *tensors])
    slopes = [shifted(one.to(given[0].dtype), dim, 0, first=reverse) for one in slopes]
    if n == 1:
        adjoint = [linear_operator(slopes[0], given[0], dim, not reverse)]
    else:
        adjoint = scan_operator(_matrices(n), [*slopes, *given], dim, not reverse)[-n:]
    grads = map_operator(_by_element(op, n), [*before, *tensors, *adjoint])
    return [grad.to(one.dtype) for grad, one in zip(grads, tensors, strict=True)]


scan_operator.register_autograd(_scan_backward, setup_context=_keep_scan)


@lru_cache(maxsize=256)
def _slopes(op: str, n: int) -> str:
    """Return the function to the transposed derivatives of an operator by its first value."""
    whole = jacobian(read_operator(op).fold)  # rows of 2 n
    return function_text(
        trace(lambda *given: tuple(whole(*given)[r * 2 * n + c] for c in range(n) for r in range(n)), 2 * n), None
    )


@lru_cache(maxsize=256)
def _by_element(op: str, n: int) -> str:
    """Return the function to gradients of an operator's second value, from both values and gradients of the result."""
    fold = read_operator(op).fold
    return function_text(trace(lambda *given: gradients(fold, given[: 2 * n], given[2 * n :])[n:], 3 * n), None)


@lru_cache(maxsize=16)
def _matrices(n: int) -> str:
    """Return the composition of maps ``v -> M v + b``, of n^2 and n components."""
    square = n * n

    def compose(p: tuple[Any, ...], q: tuple[Any, ...]) -> tuple[Any, ...]:
        product = [sum(q[r * n + k] * p[k * n + c] for k in range(n)) for r in range(n) for c in range(n)]
        moved = [sum(q[r * n + k] * p[square + k] for k in range(n)) + q[square + r] for r in range(n)]
        return (*product, *moved)

    unit = tuple(int(k % (n + 1) == 0) for k in range(square))
    return operator_text(Op(compose, (*unit, *(0,) * n), name="affine map"))


# The linear recurrence. Its scan has the product of the factors as first component, which is not a result.
_RECURRENCE = Op(
    lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1]),
    (1, 0),
    name="linear recurrence",
    finish=lambda factor, term, count: term,
    dtypes=lambda elements, dtype: (elements, elements[1:]),
)
_RECURRENCE_STEP = function_text("h*a + b", 3)


@torch.library.custom_op(
    "gpuprims::linear_recurrence", mutates_args=(), schema="(Tensor a, Tensor b, int dim, bool reverse) -> Tensor"
)
def linear_operator(a: Tensor, b: Tensor, dim: int, reverse: bool) -> Tensor:
    """Compute ``h[i] = a[i] * h[i - 1] + b[i]``."""
    return in_direction([a, b], dim, reverse, _RECURRENCE)[0]


@linear_operator.register_fake
def _(a: Tensor, b: Tensor, dim: int, reverse: bool) -> Tensor:
    return b.new_empty(b.shape)


def _keep_recurrence(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    a, _, ctx.dim, ctx.reverse = inputs
    ctx.save_for_backward(a, output)


def _recurrence_backward(ctx: Any, above: Tensor) -> tuple[Any, ...]:
    (a, h), dim, reverse = ctx.saved_tensors, ctx.dim, ctx.reverse
    if not torch.is_grad_enabled():
        # The terms are in no derivative, so the factors have their place.
        return *gradient_operator(_RECURRENCE_STEP, [0.0], [h], [a, a], [above], dim, reverse), None, None
    adjoint = linear_operator(shifted(a, dim, 0, first=reverse), above, dim, not reverse)
    return adjoint * shifted(h, dim, 0, first=not reverse), adjoint, None, None


linear_operator.register_autograd(_recurrence_backward, setup_context=_keep_recurrence)
