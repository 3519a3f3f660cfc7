"""selection in NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gpuprims.primitives.reference import Places

if TYPE_CHECKING:
    from gpuprims.primitives.selection.spec import SelectionSpec


def selection_numpy(
    spec: SelectionSpec, memories: Sequence[np.ndarray], layout: np.ndarray, outputs: int, n: int
) -> None:
    """Partition each row by the rank to find."""
    places = Places(spec, memories, layout)
    rows, ranks, found = places.see(0), places.see(1, reduced=False), places.see(2, reduced=False)
    axes = rows.ndim - 1 - len(spec.inputs[0].reduced)
    for o in range(outputs):
        at = np.unravel_index(o, rows.shape[:axes]) if axes else ()
        rank = int(ranks[at][0])
        parted = np.partition(rows[at].reshape(-1), [rank, n - 1] if spec.nan_wins else rank)
        found[at] = parted[-1] if spec.nan_wins and np.isnan(parted[-1]) else parted[rank]
