"""The kernels of products with a sparse matrix: what they are for, and what they refuse."""

from __future__ import annotations

from pathlib import Path

from gpuprims.core.refusals import double_precision, for_cpus, group_fits, values_fit
from gpuprims.core.registry import Variant, first_refusal

KERNELS = Path(__file__).parents[2] / "primitives"

# Two cores of an AMD EPYC of family 26, runtime 2026.2, beside other work, 2026-11-22, ms of 10^5 rows of 50 elements
# among 10^4 columns, and of its transpose: csr/cpu_rows with one column of float32 1.5, 2.1, with 8 2.6, 3.5; of
# float64 3.1, 3.3 and 5.1, 5.5. SciPy, on one core, 2.9, 3.3 and 13.7, 15.8; 5.1, 5.3 and 14.9, 16.7. Eight columns of
# float32 in loops without vectors 12.7, 19.3. Lanes, ITEMS and groups of csr/rows have not been timed on a GPU.
PRODUCTS = (
    Variant(
        primitive="csr",
        name="cpu_rows",
        backend="opencl",
        source=KERNELS / "csr/kernels/csr_cpu_rows.cl",
        rank=20,
        block=1,
        items=4096,
        groups_per_unit=16,
        refuse=first_refusal(for_cpus, double_precision),
    ),
    Variant(
        primitive="csr",
        name="rows",
        backend="opencl",
        source=KERNELS / "csr/kernels/csr_rows.cl",
        rank=10,
        block=256,
        items=4,
        refuse=first_refusal(double_precision, group_fits(256), values_fit(256)),
    ),
)
