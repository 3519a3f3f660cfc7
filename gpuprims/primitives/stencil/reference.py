"""stencil in NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpuprims.primitives.reference import Places
from gpuprims.primitives.stencil.spec import StencilSpec


def stencil_numpy(spec: StencilSpec, memories: Sequence[np.ndarray], layout: np.ndarray, count: int) -> None:
    """Take the neighbours of all elements, one offset at a time, and apply the function to them."""
    places = Places(spec, memories, layout)
    elements = places.see(0)[..., 0]
    reach = [spec.reach(axis) for axis in range(3)]
    padded = _padded(elements, reach, spec)

    def beside(starts: Sequence[int]) -> np.ndarray:
        """Return each element's neighbour; ``starts`` counts from the least offsets."""
        inside = (slice(start, start + n) for start, n in zip(starts, elements.shape[1:4], strict=True))
        return padded[:, *inside]

    if spec.window == "table":
        weights = memories[1].reshape([high - low + 1 for low, high in reach])
        value = np.zeros(elements.shape, weights.dtype)
        for index in np.argwhere(weights).tolist():
            value += weights[tuple(index)] * beside(index).astype(weights.dtype)
    else:
        starts = ([step - low for step, (low, _) in zip(one, reach, strict=True)] for one in spec.offsets)
        taken = [beside(start).reshape(1, count) for start in starts]
        value = spec.map(*taken, np.zeros((1, count), np.int64))[0]
    places.store([np.reshape(value, (1, count))], np.zeros((1, count), np.int64), kept=False)


def _padded(elements: np.ndarray, reach: Sequence[tuple[int, int]], spec: StencilSpec) -> np.ndarray:
    """Continue planes, rows and columns beyond the borders."""
    if spec.mode == "constant":
        widths = [(0, 0), *((-low, high) for low, high in reach), (0, 0)]
        return np.pad(elements, widths, constant_values=spec.beyond)
    for axis, (low, high) in enumerate(reach, 1):
        length = elements.shape[axis]
        elements = np.take(elements, within(np.arange(low, length + high), length, spec.mode), axis)
    return elements


def within(index: np.ndarray, length: int, mode: str) -> np.ndarray:
    """Map indices beyond the borders into the array; see ``stencil.h``."""
    if mode == "nearest":
        return index.clip(0, length - 1)
    period = length if mode == "wrap" else max(2 * length - 2 * (mode == "mirror"), 1)
    wrapped: np.ndarray = index % period
    return wrapped if mode == "wrap" else np.minimum(wrapped, period - wrapped - (mode == "reflect"))
