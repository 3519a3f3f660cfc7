"""csr in NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpuprims.core.kernel_spec import KernelSpec


def csr_numpy(spec: KernelSpec, memories: Sequence[np.ndarray], layout: np.ndarray, n: int) -> None:
    """Multiply the stored elements by the rows of each dense column, and sum the products of each row."""
    elements, places, begins, dense, product = memories
    filled = begins[:-1] < begins[1:]  # reduceat would give an empty row the element behind it
    product[...] = 0
    if not filled.any():
        return
    columns = product.reshape(n, -1).T, dense.reshape(len(dense), -1).T
    for to, beside in zip(*columns, strict=True):
        to[filled] = np.add.reduceat(spec.map(elements, beside[places])[0], begins[:-1][filled])
