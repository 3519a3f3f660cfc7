"""The kernel specs of merge."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from gpuprims.core.codegen.operands import bits_of, number_of, stored
from gpuprims.core.kernel_spec import KernelSpec
from gpuprims.expressions import converted
from gpuprims.primitives.order import compared_text, order_text

# The header of all kernels that merge, including those of sort.
CROSSING = Path(__file__).parent / "kernels" / "crossing.h"


@dataclass(frozen=True, eq=False, kw_only=True)
class MergeSpec(KernelSpec):
    """The macros of a merge."""

    descending: bool

    maps: ClassVar[bool] = False
    lifts_constants: ClassVar[bool] = False

    def macros(self) -> dict[str, int | str]:
        """Define the order, and the elements of both arrays as results."""
        arrays = {
            f"{name}(i)": _as_result(f"x{k}[gp_at_x{k}(layout, 0, i)]", self.inputs[k].dtype, self.outputs[0].dtype)
            for k, name in enumerate(("FIRST", "SECOND"))
        }
        return {"DESCENDING": int(self.descending), **arrays}

    def text(self) -> list[str]:
        """Define the stored type of results, and how they are compared."""
        result = self.outputs[0].dtype
        return [
            f"typedef {stored(result)} result_t;",
            order_text(result),
            compared_text("gp_number", "result_t", result, result),
        ]

    def headers(self) -> tuple[Path, ...]:
        """See :class:`KernelSpec`."""
        return CROSSING, CROSSING.with_name("diagonals.h")


@dataclass(frozen=True, eq=False, kw_only=True)
class PathSpec(MergeSpec):
    """The macros of a merge by tiles."""

    scratch_pointers: ClassVar[int] = 1


def _as_result(element: str, dtype: np.dtype[Any], result: np.dtype[Any]) -> str:
    """Return C text that converts an element to the stored type of results."""
    if dtype == result:
        return element
    number = converted(number_of(element, dtype), dtype, result)
    return bits_of(f"({number})", result)
