"""The spec of kernels that find runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gpuprims.core.codegen.operands import number_of, stored
from gpuprims.expressions import TypedExpr, emit_function, trace, typed
from gpuprims.primitives.fold_spec import GatheringSpec


def differing(dtype: np.dtype, *, equal_nan: bool) -> TypedExpr:
    """Return the function of two neighbours that is true where a run ends."""
    apart = trace(lambda a, b: a != b, 2)
    if dtype.kind in "fc" and equal_nan:
        apart = trace(lambda a, b: (a != b) & ((a == a) | (b == b)), 2)
    return typed(apart, (dtype, dtype), (np.dtype(np.bool_),))


@dataclass(frozen=True, eq=False, kw_only=True)
class RleSpec(GatheringSpec):
    """The macros of a kernel that writes what is wanted of each run."""

    differ: TypedExpr  # of two neighbours
    gathers: bool  # first elements
    begins: bool
    lengths: bool

    stores_vectors: ClassVar[bool] = False
    lifts_constants: ClassVar[bool] = False

    def macros(self) -> dict[str, int | str]:
        """Define what is written, and where."""
        values = int(self.gathers)
        wanted = {
            "WITH_VALUES": values,
            "WITH_BEGINS": int(self.begins),
            "WITH_LENGTHS": int(self.lengths),
        }
        number, second = len(self.outputs) - 1, f"y{values}[gp_at_y{values}(layout, 0, k)]"
        return (
            super().macros()
            | wanted
            | {
                "WRITE_VALUE(k, element)": "y0[gp_at_y0(layout, 0, k)] = element",
                "WRITE_BEGIN(k, j)": f"{second} = j",
                "WRITE_LENGTH(k, length)": f"{second} = length",
                "WRITE_NUMBER(number)": f"y{number}[gp_at_y{number}(layout, 0, 0)] = number",
            }
        )

    def text(self) -> list[str]:
        """Define the type of an element in memory, and the function of two neighbours."""
        dtype = self.inputs[0].dtype
        differ = emit_function(
            "DEVICE int gp_differ(const element_t a, const element_t b)",
            self.differ,
            [number_of("a", dtype), number_of("b", dtype)],
            lambda result: f"return {result};",
        )
        return [f"typedef {stored(dtype)} element_t;", differ, *super().text()]

    @property
    def functions(self) -> tuple[TypedExpr | None, ...]:
        """See :class:`KernelSpec`."""
        return (*super().functions, self.differ)
