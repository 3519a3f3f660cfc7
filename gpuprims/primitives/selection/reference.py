"""select in NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpuprims.core.kernel_spec import KernelSpec
from gpuprims.primitives.reference import Places


def selection_numpy(spec: KernelSpec, memories: Sequence[np.ndarray], layout: np.ndarray, outputs: int, n: int) -> None:
    """Partition each row by the rank that is sought."""
    places = Places(spec, memories, layout)
    rows, ranks, found = places.see(0), places.see(1, reduced=False), places.see(2, reduced=False)
    axes = rows.ndim - 1 - len(spec.inputs[0].reduced)
    for o in range(outputs):
        at = np.unravel_index(o, rows.shape[:axes]) if axes else ()
        rank = int(ranks[at][0])
        found[at] = np.partition(rows[at].reshape(-1), rank)[rank]
