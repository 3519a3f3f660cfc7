"""csr in NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpuprims.primitives.csr.spec import CsrSpec


def csr_numpy(spec: CsrSpec, memories: Sequence[np.ndarray], layout: np.ndarray, n: int) -> None:
    """Multiply each stored element by what lies beside it, and add up the rows, one column after the other."""
    elements, places, begins, dense, product = memories
    filled = begins[:-1] < begins[1:]  # reduceat gives an empty row the element behind it
    product[...] = 0
    columns = product.reshape(n, -1).T, dense.reshape(len(dense), -1).T
    for to, beside in zip(*columns, strict=True):
        to[filled] = np.add.reduceat(spec.map(elements, beside[places])[0], begins[:-1][filled])
