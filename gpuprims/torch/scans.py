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

import numpy as np
import torch
from torch import Tensor

import gpuprims
from gpuprims.expressions import trace
from gpuprims.expressions.derivatives import gradients, jacobian
from gpuprims.expressions.narrow import register
from gpuprims.operators import Op
from gpuprims.primitives.scan.adjoint import Step
from gpuprims.primitives.scan.gradients import scan_gradients
from gpuprims.torch.calls import arrays_of, as_tensors, dtype_of, dtypes_of, folded_dtypes, through_conjugates
from gpuprims.torch.library import below_autograd, define, differentiate
from gpuprims.torch.mapping import map_operator, refuse_unholomorphic
from gpuprims.torch.texts import function_text, operator_text, read_function, read_operator


def shifted(x: Tensor, dim: int, value: float, *, first: bool) -> Tensor:
    """Return the elements moved by one place towards the end, or the beginning, with a value in the free place."""
    edge = torch.full_like(x.narrow(dim, 0, min(1, x.shape[dim])), value)
    rest = x.narrow(dim, 0 if first else min(1, x.shape[dim]), max(x.shape[dim] - 1, 0))
    return torch.cat([edge, rest] if first else [rest, edge], dim)


def in_direction(tensors: Sequence[Tensor], dim: int, reverse: bool, op: Any) -> list[Tensor]:
    """Scan along a dimension, from the last element on if reversed."""
    return as_tensors(gpuprims.scan(*arrays_of(*tensors), op=op, axis=dim, reverse=reverse))


def _gradient(
    step: str,
    start: list[float],
    states: list[Tensor],
    tensors: list[Tensor],
    above: list[Tensor],
    dim: int,
    reverse: bool,
) -> list[Tensor]:
    h, x, g = (arrays_of(*some) for some in (states, tensors, above))
    return as_tensors(scan_gradients(Step(read_function(step), tuple(start)), h, x, g, dim, reverse=reverse))


# The gradients of a scan's elements, given those of its states.
gradient_operator = define(
    "scan_gradient(str step, float[] start, Tensor[] states, Tensor[] tensors, Tensor[] above, int dim, bool reverse)"
    " -> Tensor[]",
    _gradient,
    lambda step, start, states, tensors, above, dim, reverse: [one.new_empty(one.shape) for one in tensors],
)


def _scan(op: str, tensors: list[Tensor], dim: int, reverse: bool) -> list[Tensor]:
    return in_direction(tensors, dim, reverse, read_operator(op))


def _fake_scan(op: str, tensors: list[Tensor], dim: int, reverse: bool) -> list[Tensor]:
    dtypes = folded_dtypes(read_operator(op), dtypes_of(*tensors))
    return [tensors[0].new_empty(tensors[0].shape, dtype=dtype) for dtype in dtypes]


# A scan with an operator of any number of components.
scan_operator = define("scan(str op, Tensor[] tensors, int dim, bool reverse) -> Tensor[]", _scan, _fake_scan)


class _Scan(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, op: str, dim: int, reverse: bool, *tensors: Tensor) -> tuple[Tensor, ...]:
        with below_autograd():
            results = scan_operator(op, tensors, dim, reverse)
        ctx.op, ctx.dim, ctx.reverse = op, dim, reverse
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*tensors, *results)
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *above: Tensor | None) -> tuple[Any, ...]:
        return None, None, None, *_scan_backward(ctx, above)


differentiate(scan_operator, lambda op, tensors, dim, reverse: list(_Scan.apply(op, dim, reverse, *tensors)))


def _scan_backward(ctx: Any, above: Sequence[Tensor | None]) -> list[Tensor]:
    op, dim, reverse, saved = ctx.op, ctx.dim, ctx.reverse, ctx.saved_tensors  # checkpoints give them once
    tensors, results = saved[: len(saved) // 2], saved[len(saved) // 2 :]
    given = [
        one.new_zeros(()).expand(one.shape) if grad is None else grad for one, grad in zip(results, above, strict=True)
    ]
    if op == "sum":
        return [scan_operator("sum", given, dim, not reverse)[0].to(tensors[0].dtype)]
    step, identity = _step_of(op, tuple(one.dtype for one in results))

    def derive(given: Sequence[Tensor]) -> Sequence[Tensor]:
        if not torch.is_grad_enabled():
            found: list[Tensor] = gradient_operator(step, identity, results, tensors, given, dim, reverse)
            return found
        return _differentiable(op, tensors, results, given, identity, dim, reverse)

    if any(one.is_complex() for one in tensors):
        refuse_unholomorphic("scan", read_operator(op).fold)
    return list(through_conjugates(given, derive))


@lru_cache(maxsize=256)
def _step_of(op: str, dtypes: tuple[torch.dtype, ...]) -> tuple[str, tuple[float, ...]]:
    """Return the text of an operator's function, and its identity for results of these dtypes."""
    operator = read_operator(op)
    identity = operator.identity(tuple(map(register, map(dtype_of, dtypes))))
    return function_text(operator.fold, None), tuple(float(np.real(one)) for one in identity)


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


# The states ``h[i] = a[i] * h[i - 1] + b[i]``.
linear_operator = define(
    "linear_recurrence(Tensor a, Tensor b, int dim, bool reverse) -> Tensor",
    lambda a, b, dim, reverse: in_direction([a, b], dim, reverse, _RECURRENCE)[0],
    lambda a, b, dim, reverse: b.new_empty(b.shape),
)


class _Recurrence(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor, dim: int, reverse: bool) -> Tensor:
        with below_autograd():
            h: Tensor = linear_operator(a, b, dim, reverse)
        ctx.dim, ctx.reverse = dim, reverse
        ctx.save_for_backward(a, h)
        return h

    @staticmethod
    def backward(ctx: Any, above: Tensor) -> tuple[Any, ...]:
        (a, h), dim, reverse = ctx.saved_tensors, ctx.dim, ctx.reverse

        def derive(given: Sequence[Tensor]) -> Sequence[Tensor]:
            if not torch.is_grad_enabled():
                # The terms are in no derivative, so the factors have their place.
                found: list[Tensor] = gradient_operator(_RECURRENCE_STEP, [0.0], [h], [a, a], given, dim, reverse)
                return found
            adjoint = linear_operator(shifted(a, dim, 0, first=reverse), given[0], dim, not reverse)
            return adjoint * shifted(h, dim, 0, first=not reverse), adjoint

        return *through_conjugates([above], derive), None, None


differentiate(linear_operator, _Recurrence.apply)
