"""merge in NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuprims.primitives.reference import Places


def merge_numpy(spec: Any, memories: Sequence[np.ndarray], layout: np.ndarray, n: int, size: int) -> None:
    """Merge two sorted arrays."""
    places = Places(spec, memories, layout)
    counts = size, n - size
    parts = [places.see(k)[:count, 0] for k, count in enumerate(counts) if count]  # empty arrays have no memory
    step = -1 if spec.descending else 1  # a stable sort in reverse, read in reverse
    places.see(2)[:n, 0] = np.sort(np.concatenate(parts)[::step], kind="stable")[::step]
