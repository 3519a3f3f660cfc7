"""map in NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpuprims.core.kernel_spec import KernelSpec
from gpuprims.primitives.reference import Places


def map_numpy(spec: KernelSpec, memories: Sequence[np.ndarray], layout: np.ndarray, count: int) -> None:
    """Apply MAP to every element."""
    places = Places(spec, memories, layout)
    places.store(places.elements(1, count), int(layout[0]) + np.arange(count)[None], kept=False)
