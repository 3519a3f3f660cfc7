"""scan in NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpuprims.primitives.fixed_scans import scan_fixed
from gpuprims.primitives.fold_spec import ScanSpec
from gpuprims.primitives.reference import Places


def scan_numpy(
    spec: ScanSpec,
    memories: Sequence[np.ndarray],
    layout: np.ndarray,
    kept: int,
    n: int,
    level: int,
    totals: int,
    folds: int,
) -> None:
    """Scan runs of fixed tiles, in the order that kernels for every device have."""
    if (level, totals, folds) != (-1, -1, 0):
        raise TypeError(f"scan_numpy: one level; got {level}, {totals}, {folds}")
    places = Places(spec, memories, layout)
    values = scan_fixed(spec.op, places.elements(kept, n), spec.identity, inclusive=spec.inclusive)
    places.store(values, int(layout[0]) + np.broadcast_to(np.arange(n), (kept, n)))
