"""Binary filters of NumPy arrays by NumPy, where a chain of kernels takes longer: shifted copies are joined."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.by_numpy import Few, noticed
from gpuprims.ndimage.calls import Call, copied, kept_again
from gpuprims.ndimage.neighbourhoods import Neighbourhood
from gpuprims.primitives.stencil.grids import reaches

# Most elements where one kernel applies the structure, but others convert the array and apply the mask; and where a
# kernel gathers the neighbours along more axes than a stencil has (stencil's rows: cpu_long_rows-binary).
_CONVERTED, _ALONG_MANY = Few(near=2**14, woken=2**15), Few(near=2**22, woken=2**22)


def takes(call: Call, near: Neighbourhood, *, plain: bool) -> bool:
    """Return True if NumPy computes a call faster than kernels; one stencil computes a ``plain`` call of bools."""
    along_few = reaches(near.axes)
    if not call.operands.in_place or (along_few and plain and call.element == np.bool_):
        return False
    return 0 < math.prod(call.shape) <= (_CONVERTED if along_few else _ALONG_MANY).most(call.operands.driver)


class Shifted(NamedTuple):
    """A dilation, ``larger``, or an erosion: how often, and where elements may change; below 1, until none changes."""

    call: Call
    near: Neighbourhood
    mask: np.ndarray | None
    iterations: int
    larger: bool
    beyond: bool

    def run(self, key: Any) -> Any:
        """Apply the filter; a later call with the same key does no more than that."""
        call, near = self.call, self.near
        low = [0] * len(call.shape)
        high = low.copy()
        for axis, along in zip(near.axes, zip(*near.offsets, strict=True), strict=True):
            low[axis], high[axis] = max(0, -min(along)), max(0, max(along))
        wide = tuple(n + a + b for n, a, b in zip(call.shape, low, high, strict=True))
        strides = np.cumprod((1, *wide[:0:-1]))[::-1]
        steps = [int(sum(at * strides[axis] for at, axis in zip(one, near.axes, strict=True))) for one in near.offsets]
        inner = tuple(slice(a, a + n) for n, a in zip(call.shape, low, strict=True))
        how: dict[str, Any] = {
            "mask": self.mask,
            "iterations": self.iterations,
            "larger": self.larger,
            "beyond": self.beyond,
        }
        compute = noticed(call.operands.driver, call.label, partial(_filtered, wide, inner, steps, **how))
        kept_again(call, key, lambda given: compute(given[0]))
        return copied(call, compute(call.operands.natives[0]))


def _filtered(
    wide: tuple[int, ...],
    inner: tuple[slice, ...],
    steps: Sequence[int],
    given: np.ndarray,
    *,
    mask: np.ndarray | None,
    iterations: int,
    larger: bool,
    beyond: bool,
) -> np.ndarray:
    """Return the filtered array; ``wide`` is the shape with a border, and ``steps`` the distance to each neighbour."""
    whole, found = np.full(wide, beyond), np.empty(wide, np.bool_)
    here, there = whole[inner], found[inner]
    np.not_equal(given, 0, out=here)
    flat, join = whole.reshape(-1), np.logical_or if larger else np.logical_and
    begin, end = max(0, -min(steps)), flat.size - max(0, max(steps))
    joined = found.reshape(-1)[begin:end]
    while True:
        joined[:] = flat[begin + steps[0] : end + steps[0]]
        for step in steps[1:]:
            join(joined, flat[begin + step : end + step], out=joined)
        if mask is not None:
            np.copyto(there, here, where=~mask)
        iterations -= 1
        if iterations == 0 or (iterations < 0 and np.array_equal(here, there)):
            return there.copy()
        here[...] = there
