"""The kernels of products with a sparse matrix: what they are for, and what they refuse."""

from __future__ import annotations

from pathlib import Path

from gpuprims.core.refusals import double_precision, group_fits, values_fit
from gpuprims.core.registry import Variant, first_refusal

KERNELS = Path(__file__).parents[2] / "primitives"

# Lanes, ITEMS and groups have not been timed on a GPU.
PRODUCTS = (
    Variant(
        primitive="csr",
        name="rows",
        backend="cuda",
        source=KERNELS / "csr/kernels/csr_rows.cl",
        rank=10,
        block=256,
        items=4,
        refuse=first_refusal(double_precision, group_fits(256), values_fit(256)),
    ),
)
