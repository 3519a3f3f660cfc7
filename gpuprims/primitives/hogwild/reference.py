"""hogwild in NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpuprims.core.kernel_spec import Definitions
from gpuprims.primitives.sgd.reference import sgd_numpy


def hogwild_numpy(
    definitions: Definitions,
    memories: Sequence[np.ndarray],
    layout: np.ndarray,
    steps: int,
    stretch: int,
    workers: int,
    part: int,
) -> None:
    """Move the weights by one sample after the other: one thread alone has nothing to lock."""
    if part:
        sgd_numpy(definitions, memories, layout, steps, stretch)
