"""scan in NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

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
    """Fold each element with the one before it, the two before that, four, and so on: Hillis and Steele's scan."""
    if (level, totals, folds) != (-1, -1, 0):
        raise TypeError(f"scan_numpy: one level; got {level}, {totals}, {folds}")
    places = Places(spec, memories, layout)
    values = places.elements(kept, n)
    stride = 1
    while stride < n:
        folded = spec.op(*(v[:, :-stride] for v in values), *(v[:, stride:] for v in values))
        values = [np.concatenate([v[:, :stride], f], axis=1) for f, v in zip(folded, values, strict=True)]
        stride *= 2
    if not spec.inclusive:
        nothing = [np.full((kept, 1), scalar) for scalar in spec.identity]
        values = [np.concatenate([first, v[:, :-1]], axis=1) for first, v in zip(nothing, values, strict=True)]
    places.store(values, int(layout[0]) + np.broadcast_to(np.arange(n), (kept, n)))
