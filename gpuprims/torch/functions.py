"""The functions that users call; each calls an operator of torch."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Literal

import torch
from torch import Tensor

from gpuprims.errors import ArgumentError, ShapeError, quoted
from gpuprims.expressions import expression
from gpuprims.operators import Op
from gpuprims.primitives.stencil.neighbours import as_weights
from gpuprims.torch.checks import along, broadcast, check_flag, check_name, check_tensors
from gpuprims.torch.folds import reduce_operator, segments_operator
from gpuprims.torch.mapping import map_operator
from gpuprims.torch.scans import linear_operator, scan_operator
from gpuprims.torch.stencils import stencil_operator
from gpuprims.torch.texts import function_text, operator_text

Mode = Literal["nearest", "reflect", "mirror", "wrap", "constant"]


def map(fn: str | Callable[..., Any], *tensors: Tensor) -> Any:  # noqa: A001 - as gpuprims.map
    """Apply a function to each element, with its derivative.

    Parameters
    ----------
    fn : callable or str
        As :func:`gpuprims.map` takes it: ``"where(x > 0, sqrt(x), -y)"``. Under ``torch.compile``, a string.
    *tensors : Tensor
        One for each parameter; they broadcast together.

    Returns
    -------
    Tensor or tuple of Tensor
        One for each result of the function.

    Examples
    --------
    >>> import torch, gpuprims.torch
    >>> x = torch.tensor([1.0, 4.0], requires_grad=True)
    >>> gpuprims.torch.map("sqrt(x)", x).sum().backward()
    >>> x.grad
    tensor([0.5000, 0.2500])
    """
    if not tensors:
        raise ArgumentError("map: at least one tensor; got none")
    check_tensors("map", *tensors)
    results = map_operator(_text(fn, len(tensors)), builtins.list(tensors))
    return results[0] if _returns_one(fn, len(tensors)) else tuple(results)


@torch.compiler.assume_constant_result
def _text(fn: Any, arity: int) -> str:
    return function_text(fn, arity)


@torch.compiler.assume_constant_result
def _returns_one(fn: Any, arity: int) -> bool:
    return expression(fn, arity).single


def reduce(x: Tensor, op: str = "sum", dim: int | Sequence[int] | None = None, keepdim: bool = False) -> Tensor:
    """Fold along dimensions, with the derivative of the operator.

    Parameters
    ----------
    x : Tensor
        Elements.
    op : str, default "sum"
        An operator of :func:`gpuprims.reduce`. ``"sum"``, ``"mean"``, ``"prod"``, ``"max"`` and ``"min"`` have a
        derivative.
    dim : int or sequence of int, optional
        The dimensions to fold. By default all.
    keepdim : bool, default False
        Keep these dimensions, with length 1.

    Returns
    -------
    Tensor
        One element for each output. Equal largest elements share the gradient, as those of ``torch.amax``.

    Examples
    --------
    >>> import torch, gpuprims.torch
    >>> x = torch.tensor([1.0, 3.0, 3.0], requires_grad=True)
    >>> gpuprims.torch.reduce(x, "max").backward()
    >>> x.grad
    tensor([0.0000, 0.5000, 0.5000])
    """
    check_tensors("reduce", x)
    check_name("reduce", op)
    check_flag("reduce", "keepdim", keepdim)
    dims = range(x.ndim) if dim is None else dim if isinstance(dim, list | tuple | range) else (dim,)
    return reduce_operator(x, op, [along("reduce", one, x.ndim) for one in dims], keepdim)


def scan(*tensors: Tensor, op: str | Op = "sum", dim: int = -1, reverse: bool = False) -> Any:
    """Compute running folds along a dimension, with the derivative of the operator.

    Parameters
    ----------
    *tensors : Tensor
        Of one shape and dtype; as many as the operator has components.
    op : {"sum", "prod", "max", "min"} or Op, default "sum"
        An :class:`gpuprims.Op` of an associative function and an identity.
    dim : int, default -1
        The dimension.
    reverse : bool, default False
        Begin with the last element.

    Returns
    -------
    Tensor or tuple of Tensor
        One for each component.

    Notes
    -----
    A second scan computes the derivative, a linear recurrence in the other direction. It does not divide, so the
    derivative of a product is also right if some elements are zero.

    Examples
    --------
    >>> import torch, gpuprims.torch
    >>> x = torch.tensor([2.0, 0.0, 3.0], requires_grad=True)
    >>> y = gpuprims.torch.scan(x, op="prod")
    >>> y.tolist()
    [2.0, 0.0, 0.0]
    >>> y.sum().backward()
    >>> x.grad
    tensor([1., 8., 0.])
    """
    if not tensors:
        raise ArgumentError("scan: at least one tensor; got none")
    check_tensors("scan", *tensors)
    check_flag("scan", "reverse", reverse)
    if any((one.shape, one.dtype) != (tensors[0].shape, tensors[0].dtype) for one in tensors):
        got = ", ".join(f"{tuple(one.shape)} of {one.dtype}" for one in tensors)
        raise ShapeError(f"scan: tensors of one shape and dtype; got {got}")
    axis = along("scan", dim, tensors[0].ndim)
    results = scan_operator(_operator(op), builtins.list(tensors), axis, reverse)
    return results[0] if len(results) == 1 else tuple(results)


def _operator(op: Any) -> str:
    if not isinstance(op, Op):
        return _named(op)
    if not torch.compiler.is_compiling():
        return _text_of(op)
    # torch.compile (2.11) takes functions and numbers for constants, objects not.
    return _made_of(op.fn, op._identity, op.commutative, op.name, op.prepare, op.finish)


@lru_cache(maxsize=256)
def _text_of(op: Op) -> str:
    return operator_text(op)


@torch.compiler.assume_constant_result
def _named(op: Any) -> str:
    return operator_text(op)


@torch.compiler.assume_constant_result
def _made_of(fn: Any, identity: Any, commutative: bool, name: str, prepare: Any, finish: Any) -> str:
    return operator_text(Op(fn, identity, commutative=commutative, name=name, prepare=prepare, finish=finish))


def linear_recurrence(
    a: Tensor, b: Tensor, dim: int = -1, *, initial: Tensor | None = None, reverse: bool = False
) -> Tensor:
    """Compute ``h[i] = a[i] * h[i - 1] + b[i]`` along a dimension, with derivatives of both.

    Parameters
    ----------
    a, b : Tensor
        Factors and terms, of one dtype; they broadcast together.
    dim : int, default -1
        The dimension.
    initial : Tensor, optional
        The state before the first element, without the dimension; by default 0.
    reverse : bool, default False
        Begin with the last element: ``h[i] = a[i] * h[i + 1] + b[i]``.

    Returns
    -------
    Tensor
        The states ``h``.

    Examples
    --------
    >>> import torch, gpuprims.torch
    >>> a = torch.tensor([0.5, 0.5, 0.5], requires_grad=True)
    >>> h = gpuprims.torch.linear_recurrence(a, torch.tensor([1.0, 2.0, 3.0]))
    >>> h.tolist()
    [1.0, 2.5, 4.25]
    >>> h[-1].backward()
    >>> a.grad
    tensor([0.0000, 0.5000, 2.5000])
    """
    check_tensors("linear_recurrence", a, b)
    check_flag("linear_recurrence", "reverse", reverse)
    if a.dtype != b.dtype or not a.is_floating_point():
        raise ArgumentError(f"linear_recurrence: floats of one dtype; got {a.dtype} and {b.dtype}")
    if not broadcast(a.shape, b.shape):
        raise ShapeError(f"linear_recurrence: shapes that broadcast; got {tuple(a.shape)} and {tuple(b.shape)}")
    a, b = torch.broadcast_tensors(a, b)
    axis = along("linear_recurrence", dim, a.ndim)
    if initial is not None:
        check_tensors("linear_recurrence", initial)
        wanted = (*a.shape[:axis], *a.shape[axis + 1 :])
        if not broadcast(initial.shape, wanted, to=wanted):
            raise ShapeError(f"linear_recurrence: initial= of shape {wanted}; got {tuple(initial.shape)}")
    if initial is not None and a.shape[axis]:
        at = a.shape[axis] - 1 if reverse else 0
        b = b.select_scatter(b.select(axis, at) + a.select(axis, at) * initial, axis, at)
    return linear_operator(a, b, axis, reverse)


def segment_reduce(x: Tensor, offsets: Tensor, op: str = "sum") -> Tensor:
    """Fold each segment of a tensor of one dimension, with the derivative of the operator.

    Parameters
    ----------
    x : Tensor
        Elements, of one dimension.
    offsets : Tensor
        Integers that never decrease, from 0 to the number of elements. A segment lies between two neighbours.
    op : str, default "sum"
        An operator of :func:`gpuprims.reduce`. ``"sum"``, ``"mean"``, ``"max"`` and ``"min"`` have a derivative.

    Returns
    -------
    Tensor
        One element for each segment.

    Examples
    --------
    >>> import torch, gpuprims.torch
    >>> x = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    >>> means = gpuprims.torch.segment_reduce(x, torch.tensor([0, 1, 4]), "mean")
    >>> means.tolist()
    [1.0, 3.0]
    >>> means.sum().backward()
    >>> x.grad
    tensor([1.0000, 0.3333, 0.3333, 0.3333])
    """
    check_tensors("segment_reduce", x, offsets)
    check_name("segment_reduce", op)
    return segments_operator(x, offsets, op)


def stencil(x: Tensor, weights: Any, mode: Mode = "reflect", cval: float = 0.0) -> Tensor:
    """Sum weighted neighbours along the last dimensions, with the derivative with respect to ``x``.

    Parameters
    ----------
    x : Tensor
        Elements; the dimensions before those of the weights are a batch.
    weights : array_like
        Numbers, in an array of odd lengths. They have no gradient.
    mode : {"reflect", "nearest", "mirror", "wrap", "constant"}, default "reflect"
        What lies beyond the borders, as for :func:`gpuprims.stencil`.
    cval : float, default 0
        The value beyond the borders with ``mode="constant"``.

    Returns
    -------
    Tensor
        The sums, of the shape of ``x``.

    Examples
    --------
    >>> import torch, gpuprims.torch
    >>> x = torch.tensor([1.0, 2.0, 4.0], requires_grad=True)
    >>> y = gpuprims.torch.stencil(x, [1, 0, 2], mode="constant")
    >>> y.tolist()
    [4.0, 9.0, 2.0]
    >>> y.sum().backward()
    >>> x.grad
    tensor([1., 3., 2.])
    """
    check_tensors("stencil", x)
    if isinstance(cval, bool) or not isinstance(cval, int | float):
        raise ArgumentError(f"stencil: cval= a real number; got {quoted(cval)}")
    if isinstance(weights, Tensor) and weights.requires_grad:
        raise ArgumentError("stencil: weights without requires_grad; got a tensor (pass weights.tolist())")
    numbers, shape = _table(weights)
    return stencil_operator(x, numbers, shape, mode, float(cval))


@torch.compiler.assume_constant_result
def _table(weights: Any) -> tuple[list[float], list[int]]:
    table = as_weights(weights)
    return table.ravel().astype(float).tolist(), builtins.list(table.shape)
