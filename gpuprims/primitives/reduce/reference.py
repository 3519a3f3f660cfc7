"""reduce in NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpuprims.primitives.fold_spec import FoldSpec
from gpuprims.primitives.reference import Places


def reduce_numpy(
    spec: FoldSpec, memories: Sequence[np.ndarray], layout: np.ndarray, kept: int, n: int, parts: int
) -> None:
    """Fold neighbours until one value is left of each row, which keeps order and rounds like pairwise summation."""
    if parts != 1:
        raise TypeError(f"reduce_numpy: one part; got {parts}")
    places = Places(spec, memories, layout)
    nothing = [np.full((kept, 1), scalar) for scalar in spec.identity]
    values = places.elements(kept, n) if n else nothing
    while values[0].shape[1] > 1:
        even = values[0].shape[1] // 2 * 2
        folded = spec.op(*(v[:, 0:even:2] for v in values), *(v[:, 1:even:2] for v in values))
        values = [np.concatenate([f, v[:, even:]], axis=1) for f, v in zip(folded, values, strict=True)]
    places.store([value[:, 0] for value in values], int(layout[0]), reduced=False)
