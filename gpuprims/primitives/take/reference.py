"""take in NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuprims.core.kernel_spec import KernelSpec
from gpuprims.primitives.reference import Places


def take_numpy(spec: Any, memories: Sequence[np.ndarray], layout: np.ndarray, n: int, length: int) -> None:
    """Take elements by index."""
    operands: KernelSpec = spec
    places = Places(operands, memories, layout)
    elements, result = places.see(0)[..., 0], places.see(2, kept=False)[..., 0]
    indices = places.see(1, kept=False)[..., 0]
    if indices.dtype.itemsize < 8:  # their dtype may not hold the length of the axis
        indices = indices.astype(np.int64)
    if spec.mode == "wrap":
        indices = indices % length
    elif spec.mode == "clip":
        indices = indices.clip(0, length - 1)
    else:
        outside = is_outside(indices, length)
        memories[-2][...] = outside.any()
        indices = np.where(outside, 0, indices) % length
    kept = elements.shape[: elements.ndim - result.ndim]
    here = np.indices(result.shape, sparse=True)
    result[...] = elements[(*np.unravel_index(indices.astype(np.int64), kept), *here)] if kept else elements


def is_outside(indices: np.ndarray, length: int) -> np.ndarray:
    """Return a mask of the indices that are out of bounds for an axis of ``length`` elements."""
    return (indices >= length) | (indices < -length)
