"""stencil as an operator of torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

import gpuprims
from gpuprims.torch.calls import arrays_of, as_tensors


def _turned(places: Tensor, n: int, shared: int) -> Tensor:
    """Return places on a way forth and back, whose ends are passed once if they are ``shared``, else twice."""
    period = max(2 * n - 2 * shared, 1)
    within = places.remainder(period)
    return torch.where(within < n, within, period - 1 + shared - within)


# From places beyond the border, and the length of an axis, to where their elements come from.
_SOURCES: dict[str, Callable[[Tensor, int], Tensor]] = {
    "nearest": lambda places, n: places.clamp(0, n - 1),
    "wrap": lambda places, n: places.remainder(n),
    "reflect": lambda places, n: _turned(places, n, 0),
    "mirror": lambda places, n: _turned(places, n, 1),
}


@torch.library.custom_op(
    "gpuprims::stencil",
    mutates_args=(),
    schema="(Tensor x, float[] weights, int[] shape, str mode, float cval) -> Tensor",
)
def stencil_operator(x: Tensor, weights: list[float], shape: list[int], mode: Any, cval: float) -> Tensor:
    """Sum weighted neighbours along the last dimensions."""
    (array,), table = arrays_of(x), np.asarray(weights).reshape(shape)
    return as_tensors(gpuprims.stencil(array, table, mode=mode, cval=cval))[0]


@stencil_operator.register_fake
def _(x: Tensor, weights: list[float], shape: list[int], mode: str, cval: float) -> Tensor:
    return x.new_empty(x.shape)


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    _, ctx.weights, ctx.shape, ctx.mode, _ = inputs


def _backward(ctx: Any, above: Tensor) -> tuple[Any, ...]:
    """Spread the gradient by the reversed weights, and add elements beyond the border to those that they copy."""
    reach = [length // 2 for length in ctx.shape]
    pads = [one for width in reversed(reach) for one in (width, width)]
    wide = torch.nn.functional.pad(above, pads)
    grad = stencil_operator(wide, ctx.weights[::-1], ctx.shape, "constant", 0.0)
    for axis, width in enumerate(reach, above.ndim - len(reach)):
        grad = _folded(grad, axis, width, ctx.mode) if width else grad
    return grad, None, None, None, None


def _folded(wide: Tensor, axis: int, width: int, mode: str) -> Tensor:
    """Remove the border along an axis, and add its elements to the elements that they are copies of."""
    n = wide.shape[axis] - 2 * width
    inner = wide.narrow(axis, width, n)
    if mode == "constant" or not n:
        return inner
    for start in (0, n + width):
        places = torch.arange(start - width, start, device=wide.device)
        inner = inner.index_add(axis, _SOURCES[mode](places, n), wide.narrow(axis, start, width))
    return inner


stencil_operator.register_autograd(_backward, setup_context=_keep)
