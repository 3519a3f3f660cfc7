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
    """Move the weights by one sample after the other: one thread alone has nothing to lock."""
    if part:
        sgd_numpy(spec, memories, layout, steps, stretch)
