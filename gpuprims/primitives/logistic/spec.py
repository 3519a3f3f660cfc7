"""The specs of logistic kernels: of those that compute a gradient here, of others in their own packages."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from gpuprims.core.kernel_spec import KernelSpec
from gpuprims.expressions import c_type, emit_function

_KERNELS = Path(__file__).parent / "kernels"
_ROW = "score, label, weight, loss, residual"


@dataclass(frozen=True, eq=False, kw_only=True)
class SamplesSpec(KernelSpec):
    """The macros of kernels that read the rows of samples.

    Parameters
    ----------
    features : int
        Features of a row.
    intercept : bool
        Whether the last weight is the intercept's, which multiplies 1 in every row.
    weighted : bool
        Whether each row has a sample weight.
    lanes, rows : int, default 1
        Neighbouring work-items that share a row, and rows that they hold at once.
    vector_rows : int, default 1
        Rows whose loss and residual are computed at once, in one OpenCL vector.
    """

    features: int
    intercept: bool
    weighted: bool
    lanes: int = 1
    rows: int = 1
    vector_rows: int = 1

    maps: ClassVar[bool] = False
    lifts_constants: ClassVar[bool] = False
    scratch_pointers: ClassVar[int] = 2
    exchanges: ClassVar[bool] = True

    @property
    def columns(self) -> int:
        """Number of weights: one a feature, and the intercept's."""
        return self.features + self.intercept

    @property
    def sums(self) -> int:
        """Sums over the rows: one a feature, the intercept's, and the loss."""
        return self.features + 2

    def macros(self) -> dict[str, int | str]:
        """Define the samples, and how work-items share them."""
        number = self.values[0]
        return {
            "NUMBER": c_type(number),
            "FEATURES": self.features,
            "INTERCEPT": int(self.intercept),
            "WEIGHTED": int(self.weighted),
            "LANES": self.lanes,
            "ROWS": self.rows,
            "CHUNKS": -(-self.features // (self.lanes * self.vector)),
            "VECTOR_ROWS": self.vector_rows,
            "INDEX": f"u{8 * number.itemsize}",
            "LOCAL_VECTOR": 16 // number.itemsize,  # numbers that one load from local memory reads
            "POWER": f"gp_power_{c_type(number)}",
            "INVERSE": f"gp_inverse_{c_type(number)}",
        }

    def text(self) -> list[str]:
        """Write the type of the numbers of several rows."""
        return [f"typedef {self.in_vector(c_type(self.values[0]))} rows_t;"]

    def in_vector(self, kind: str) -> str:
        """Return the C type of a number of each of the rows that are computed at once."""
        return f"VECTOR_OF({kind}, {self.vector_rows})" if self.vector_rows > 1 else kind

    def headers(self) -> tuple[Path, ...]:
        """See :class:`KernelSpec`."""
        return (_KERNELS / "rows.h",)


@dataclass(frozen=True, eq=False, kw_only=True)
class LogisticSpec(SamplesSpec):
    """The macros of a logistic gradient; ``map`` takes a row's score, label and weight to its loss and residual."""

    def macros(self) -> dict[str, int | str]:
        """Define the loss and the residual of a row."""
        return super().macros() | {f"LOSS_AND_RESIDUAL({_ROW})": f"gp_loss_and_residual({_ROW})"}

    def text(self) -> list[str]:
        """Write that function; if it computes several rows in vectors, C's operators return masks."""
        number = c_type(self.values[0])
        mask = self.in_vector(f"i{8 * self.values[0].itemsize}") if self.vector_rows > 1 else "b8"
        taken = ", ".join(f"const {number} {name}" for name in "zys")
        function = emit_function(
            f"DEVICE void gp_loss_and_residual({taken}, {number} *loss, {number} *residual)",
            self.map,
            ["z", "y", "s"],
            lambda *found: f"*loss = {found[0]}; *residual = {found[1]};",
        )
        in_vectors = function.replace(f"{number} ", "rows_t ").replace("b8 ", "mask_t ")
        return [*super().text(), f"typedef {mask} mask_t;", in_vectors]

    def headers(self) -> tuple[Path, ...]:
        """See :class:`KernelSpec`."""
        return (*super().headers(), _KERNELS / "logistic.h")
