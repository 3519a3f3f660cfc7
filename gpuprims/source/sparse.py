"""What a product with a sparse matrix is written with."""

from __future__ import annotations

from gpuprims.definitions import Sparse


def sparse_text(sparse: Sparse) -> list[str]:
    """Write the macros that ``sparse.h`` and the kernels are about."""
    constants = {"COLUMNS": sparse.columns, "LANES": sparse.lanes, "HELD": sparse.held}
    return [f"#define {name} {value}" for name, value in constants.items()]
