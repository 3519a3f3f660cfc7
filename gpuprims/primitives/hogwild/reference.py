"""hogwild in NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpuprims.primitives.sgd.reference import sgd_numpy
from gpuprims.primitives.sgd.spec import SgdSpec


def hogwild_numpy(
    spec: SgdSpec,
    memories: Sequence[np.ndarray],
    layout: np.ndarray,
    steps: int,
    stretch: int,
    workers: int,
    part: int,
) -> None:
    """Change the weights by one sample after the other, as a single worker does."""
    if part:
        sgd_numpy(spec, memories, layout, steps, stretch)
