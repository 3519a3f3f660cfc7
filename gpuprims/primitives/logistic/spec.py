"""The kernel specs of logistic regression: macros for rows of samples, and for the gradient."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from gpuprims.core.kernel_spec import KernelSpec
from gpuprims.core.layout import Layout
from gpuprims.expressions import TypedExpr, c_type, emit_function

_KERNELS = Path(__file__).parent / "kernels"
_ROW = "score, label, weight, loss, residual"


@dataclass(frozen=True, eq=False, kw_only=True)
class SamplesSpec(KernelSpec):
    """Macros for rows of samples."""

    features: int
    intercept: bool  # the last weight is the intercept
    weighted: bool  # there are sample weights
    lanes: int = 1  # neighbouring work-items that share a row
    rows: int = 1  # rows that they hold at once
    vector_rows: int = 1  # rows whose residuals are computed at once, in one OpenCL vector

    maps: ClassVar[bool] = False
    lifts_constants: ClassVar[bool] = False
    scratch_pointers: ClassVar[int] = 2
    exchanges: ClassVar[bool] = True
    # Headers beside rows.h.
    own_headers: ClassVar[tuple[Path, ...]] = ()

    @classmethod
    def of(cls, layout: Layout, inputs: int, function: TypedExpr, *, others: int = 0, **fields: Any) -> Self:
        """Return a spec for samples, labels, weights, any sample weights, and ``others`` more of ``inputs`` arrays."""
        accesses, (_, features), weights = layout.accesses, layout.forms[0].shape, layout.forms[2].shape
        return cls(
            accesses[:inputs],
            accesses[inputs:],
            (accesses[0 if accesses[0].dtype.kind == "f" else 1].dtype,),  # the labels' dtype for samples of integers
            function,
            features=features,
            intercept=weights != (features,),
            weighted=inputs - others == 4,
            **fields,
        )

    def macros(self) -> dict[str, int | str]:
        """Define the size of the samples, and how work-items share them."""
        number, stored = self.values[0], self.inputs[0].dtype
        return {
            "NUMBER": c_type(number),
            "SAMPLE_TYPE": c_type(stored),
            "INTEGERS": int(stored != number),
            "AS_NUMBERS": f"convert_{'double' if number.itemsize == 8 else 'float'}",
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
        """Write the type of a number for each of several rows."""
        return [f"typedef {self.in_vector(c_type(self.values[0]))} rows_t;"]

    def in_vector(self, kind: str) -> str:
        """Return the C type of a number for each row that is computed at once."""
        return f"VECTOR_OF({kind}, {self.vector_rows})" if self.vector_rows > 1 else kind

    def headers(self) -> tuple[Path, ...]:
        """See :class:`KernelSpec`."""
        return (_KERNELS / "rows.h", *self.own_headers)


@dataclass(frozen=True, eq=False, kw_only=True)
class LogisticSpec(SamplesSpec):
    """Macros for the gradient; ``map`` returns a row's loss and residual for its score, label and sample weight."""

    by_columns: bool = False  # the last input has the samples by columns
    holds: bool = False  # lanes hold rows from their scores to the gradient
    whole: bool = True  # rows begin at whole vectors
    runs: bool = False  # a CPU's threads take runs of rows
    loops: bool = False  # compilers are to make vectors of loops over rows, which fabs would prevent

    own_headers: ClassVar[tuple[Path, ...]] = (_KERNELS / "logistic.h",)

    @property
    def sums(self) -> int:
        """Number of sums over the rows: one for each feature, the intercept's, and the loss."""
        return self.features + 2

    def macros(self) -> dict[str, int | str]:
        """Define the call of the loss function, and whether samples by columns are an input."""
        call = {f"LOSS_AND_RESIDUAL({_ROW})": f"gp_loss_and_residual({_ROW})"}
        return super().macros() | call | {"BY_COLUMNS": int(self.by_columns), "WHOLE": int(self.whole)}

    def headers(self) -> tuple[Path, ...]:
        """See :class:`KernelSpec`; kernels that take integers have no use for functions of floats in memory."""
        names = ["held.h"] if self.holds else []
        names += ["runs.h"] if self.runs else []
        names += ["grads.h"] if self.inputs[0].dtype == self.values[0] else ["fixed_point.h"]
        return (*super().headers(), *(_KERNELS / name for name in names))

    def text(self) -> list[str]:
        """Write the loss function. Comparisons of vectors return masks, and fabs takes vectors."""
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
        if not self.loops:
            in_vectors = in_vectors.replace(f"gp_absolute_{number}(", "fabs(")
        return [*super().text(), f"typedef {mask} mask_t;", in_vectors]
