"""searchsorted in NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuprims.primitives.reference import Places


def search_numpy(spec: Any, memories: Sequence[np.ndarray], layout: np.ndarray, n: int, size: int) -> None:
    """Search a sorted array."""
    places = Places(spec, memories, layout)
    keys, found = places.see(1)[..., 0], places.see(2)[..., 0]
    elements = np.empty(0, spec.inputs[0].dtype)
    if size:  # scratch memory has bytes, and an odd number of them for an empty array
        elements = memories[0].reshape(-1).view(elements.dtype)[:size]
    if spec.member is not None:
        found[...] = np.isin(keys, elements) == spec.member
    else:
        found[...] = np.searchsorted(elements, keys, "right" if spec.right else "left")
