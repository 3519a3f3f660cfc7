"""map in NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpuprims.core.kernel_spec import KernelSpec
from gpuprims.primitives.reference import Places


def map_numpy(spec: KernelSpec, memories: Sequence[np.ndarray], layout: np.ndarray, count: int) -> None:
    """Apply MAP to every element."""
    places = Places(spec, memories, layout)
    values = places.elements(1, count)
    if spec.aliases:  # a value may be an input, which the store of another one overwrites
        values = [value.copy() for value in values]
    places.store(values, int(layout[0]) + np.arange(count)[None], kept=False)
