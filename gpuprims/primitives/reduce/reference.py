"""reduce in NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpuprims.core.kernel_spec import Definitions
from gpuprims.primitives.reference import Places


def reduce_numpy(
    definitions: Definitions, memories: Sequence[np.ndarray], layout: np.ndarray, kept: int, n: int, parts: int
) -> None:
    """Fold neighbours until one value is left of each row, which keeps order and rounds like pairwise summation."""
    if definitions.op is None or parts != 1:
        raise TypeError(f"reduce_numpy: an operator and one part; got {definitions.op} and {parts}")
    places = Places(definitions, memories, layout)
    nothing = [np.full((kept, 1), scalar) for scalar in definitions.identity]
    values = places.elements(kept, n) if n else nothing
    while values[0].shape[1] > 1:
        even = values[0].shape[1] // 2 * 2
        folded = definitions.op(*(v[:, 0:even:2] for v in values), *(v[:, 1:even:2] for v in values))
        values = [np.concatenate([f, v[:, even:]], axis=1) for f, v in zip(folded, values, strict=True)]
    places.store([value[:, 0] for value in values], int(layout[0]), reduced=False)
