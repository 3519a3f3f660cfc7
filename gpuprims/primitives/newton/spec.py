"""The kernel spec of batches of logistic regressions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from gpuprims.core.kernel_spec import KernelSpec
from gpuprims.expressions import c_type


@dataclass(frozen=True, eq=False, kw_only=True)
class NewtonSpec(KernelSpec):
    """Macros for Newton's method; ``map`` is the loss and the residual of a row."""

    features: int
    intercept: bool
    weighted: bool  # there are sample weights
    ragged: bool  # the last operand has the first row of each problem
    rows: int = 1  # rows of a tile
    vector_rows: int = 1  # rows of an OpenCL vector

    maps: ClassVar[bool] = False
    lifts_constants: ClassVar[bool] = False
    exchanges: ClassVar[bool] = True

    @property
    def dtypes(self) -> frozenset[np.dtype[Any]]:
        """Every dtype that the kernel computes in: that of the samples, and that of sums, weights and the solution."""
        return super().dtypes | {access.dtype for access in self.outputs}

    @property
    def columns(self) -> int:
        """Number of weights of a problem."""
        return self.features + self.intercept

    def macros(self) -> dict[str, int | str]:
        """Define the size of the samples, and the precision."""
        number, wide = self.values[0], self.outputs[0].dtype
        return {
            "NUMBER": c_type(number),
            "FEATURES": self.features,
            "INTERCEPT": int(self.intercept),
            "WEIGHTED": int(self.weighted),
            "RAGGED": int(self.ragged),
            "ROWS": self.rows,
            "VECTOR_ROWS": self.vector_rows,
            "LOCAL_VECTOR": 16 // number.itemsize,
            "EPSILON": f"(({c_type(number)}){_epsilon(number)})",
            "WIDE_EPSILON": f"(({c_type(wide)}){_epsilon(wide)})",
        }

    def text(self) -> list[str]:
        """Write the types of sums and labels, and of a number for each of several rows."""
        number = c_type(self.values[0])
        rows = f"VECTOR_OF({number}, {self.vector_rows})" if self.vector_rows > 1 else number
        return [
            f"typedef {c_type(self.outputs[0].dtype)} wide_t;",
            f"typedef {c_type(self.inputs[1].dtype)} label_t;",
            f"typedef {rows} rows_t;",
        ]

    def headers(self) -> tuple[Path, ...]:
        """See :class:`KernelSpec`."""
        return (Path(__file__).parent / "kernels" / "newton.h",)


def _epsilon(dtype: np.dtype[Any]) -> str:
    return f"{float(np.finfo(dtype).eps)!r}" + ("f" if dtype.itemsize == 4 else "")


def local_bytes(columns: int, features: int, item: int, wide: int) -> int:
    """Return the bytes of ``problem_t`` in newton.h."""
    sums = max((columns + 1) * (columns + 2) // 2 + 1, 2 * features + 4)
    return wide * (sums + 4 * columns) + item * (columns + 2 * features) + wide
