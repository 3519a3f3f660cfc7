"""stencil in NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpuprims.primitives.reference import Places
from gpuprims.primitives.stencil.spec import StencilSpec


def stencil_numpy(spec: StencilSpec, memories: Sequence[np.ndarray], layout: np.ndarray, count: int) -> None:
    """Take the neighbours of all elements, offset by offset, and apply the function to them."""
    places = Places(spec, memories, layout)
    elements = places.see(0)[..., 0]
    if spec.window == "table":
        shape = [spec.reach(axis)[1] - spec.reach(axis)[0] + 1 for axis in range(3)]
        weights = memories[1].reshape(shape)
        value = np.zeros(elements.shape, weights.dtype)
        for index in np.argwhere(weights):
            dz, dy, dx = (int(place) + spec.reach(axis)[0] for axis, place in enumerate(index))
            value += weights[tuple(index)] * _beside(elements, (dz, dy, dx), spec).astype(weights.dtype)
    else:
        taken = [_beside(elements, offset, spec).reshape(1, count) for offset in spec.offsets]
        value = spec.map(*taken, np.zeros((1, count), np.int64))[0]
    places.store([np.reshape(value, (1, count))], np.zeros((1, count), np.int64), kept=False)


def _beside(elements: np.ndarray, offset: tuple[int, int, int], spec: StencilSpec) -> np.ndarray:
    """Return each element's neighbour at an offset; beyond the borders as the mode says."""
    outside = np.zeros(elements.shape, bool)
    for axis, step in enumerate(offset, 1):
        length = elements.shape[axis]
        index = np.arange(length) + step
        beyond = (index < 0) | (index >= length)
        elements = np.take(elements, _within(index, length, spec.mode), axis)
        outside |= np.expand_dims(beyond, [other for other in range(5) if other != axis])
    return np.where(outside, spec.beyond, elements) if spec.mode == "constant" else elements


def _within(index: np.ndarray, length: int, mode: str) -> np.ndarray:
    """Map indices beyond the borders into the array; see ``stencil.h``."""
    if mode in ("nearest", "constant"):
        return index.clip(0, length - 1)
    period = length if mode == "wrap" else max(2 * length - 2 * (mode == "mirror"), 1)
    wrapped: np.ndarray = index % period
    return wrapped if mode == "wrap" else np.minimum(wrapped, period - wrapped - (mode == "reflect"))
