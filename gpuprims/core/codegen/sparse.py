"""What a product with a sparse matrix is written with: how much of it a work-item holds."""

from __future__ import annotations

from gpuprims.core.kernel_spec import Definitions, Sparse
from gpuprims.expressions import c_type


def sparse_text(definitions: Definitions, sparse: Sparse) -> list[str]:
    """Write the macros that ``sparse.h`` and the kernels are about."""
    number = c_type(definitions.values[0])
    constants = {"COLUMNS": sparse.columns, "LANES": sparse.lanes, "HELD": sparse.held}
    summed = f"VECTOR_OF({number}, {sparse.side})" if sparse.side > 1 else number
    return [*(f"#define {name} {value}" for name, value in constants.items()), f"typedef {summed} sum_t;"]
