"""Oracles and sizes for tests of reduce."""

from __future__ import annotations

import numpy as np
from kernel_cases import Kernel

NUMPY = {
    "sum": np.sum, "prod": np.prod, "mean": np.mean, "min": np.min, "max": np.max, "any": np.any, "all": np.all,
    "argmin": np.argmin, "argmax": np.argmax,
}  # fmt: skip


def several_tiles(kernel: Kernel) -> int:
    """Return a size at which several groups fold one output and the last tile is not full."""
    return 3 * kernel.variant.tile + 3 if kernel.variant.tile < 2**40 else 1003
