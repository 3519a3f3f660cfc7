"""The spec of products with a sparse matrix."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from gpuprims.core.kernel_spec import KernelSpec
from gpuprims.expressions import TypedExpr, c_type, trace, typed
from gpuprims.primitives.fixed_lanes import FixedLanesSpec

# Sums of a row that the fixed tree folds.
TREE_LANES = 32


@dataclass(frozen=True, eq=False, kw_only=True)
class CsrSpec(KernelSpec):
    """Macros for the product of a CSR matrix and a dense one; ``map`` multiplies an element of each."""

    columns: int  # of the dense matrix and of the product
    lanes: int  # neighbouring work-items that share a row
    held: int  # columns that a work-item sums at once
    vector_columns: int  # columns that it sums in one OpenCL vector

    maps: ClassVar[bool] = False
    lifts_constants: ClassVar[bool] = False
    exchanges: ClassVar[bool] = True

    def macros(self) -> dict[str, int | str]:
        """Define the columns, and how work-items share the product."""
        return {"COLUMNS": self.columns, "LANES": self.lanes, "HELD": self.held}

    def text(self) -> list[str]:
        """Write the type of sums."""
        number = c_type(self.values[0])
        summed = f"VECTOR_OF({number}, {self.vector_columns})" if self.vector_columns > 1 else number
        return [f"typedef {summed} sum_t;"]

    def headers(self) -> tuple[Path, ...]:
        """See :class:`KernelSpec`."""
        return (Path(__file__).parent / "kernels" / "sparse.h",)


class FixedCsrSpec(FixedLanesSpec, CsrSpec):
    """Macros for products that a fixed tree adds."""

    @property
    def tree_lanes(self) -> int:
        """See :class:`FixedLanesSpec`."""
        return TREE_LANES


@lru_cache(maxsize=2)
def product_of(dtype: np.dtype[Any]) -> TypedExpr:
    """Return the product of two numbers of a dtype."""
    return typed(trace(lambda element, beside: element * beside, 2), (dtype,) * 2)
