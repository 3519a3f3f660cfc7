"""The specs of kernels that fold: OP, IDENTITY and arrays of values, for reductions, scans and segments."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from gpuprims.core.codegen.operands import fields_of, return_value
from gpuprims.core.kernel_spec import KernelSpec
from gpuprims.expressions import TypedExpr, c_type, constant, emit_function


@dataclass(frozen=True, eq=False, kw_only=True)
class FoldSpec(KernelSpec):
    """The macros of a reduction.

    Parameters
    ----------
    op : TypedExpr
        From two values, all components of the first before those of the second, to one.
    identity : tuple of scalar
        The identity's components, NumPy scalars of the values' dtypes.
    commutative : bool, default True
        Whether ``OP`` may fold elements out of order.
    better : TypedExpr, optional
        For an ``OP`` that returns the better of two values, the first if neither is: from their first components,
        whether the first value is better. A value that compares better than itself (NaN) wins.
    """

    op: TypedExpr
    identity: tuple[Any, ...]
    commutative: bool = True
    better: TypedExpr | None = None

    stores_vectors: ClassVar[bool] = False
    scratch_pointers: ClassVar[int] = 2
    exchanges: ClassVar[bool] = True

    @property
    def functions(self) -> tuple[TypedExpr | None, ...]:
        """See :class:`KernelSpec`."""
        return (*super().functions, self.op)

    def macros(self) -> dict[str, int | str]:
        """Define what kernels say of the operator, of values, and of arrays of values with an array a component."""
        fields, numbers = fields_of(self.values), range(len(self.values))
        arrays = "; ".join(f"{c_type(dtype)} name##_v{k} places" for k, dtype in enumerate(self.values))
        sets = " ".join(f"name##_v{k} place = gp_set{field};" for k, field in enumerate(fields))
        macros: dict[str, int | str] = {
            "COMMUTATIVE": int(self.commutative),
            "VALUES(name, places)": arrays,
            "VALUE(name, place)": f"gp_pack({', '.join(f'name##_v{k} place' for k in numbers)})",
            "SET_VALUE(name, place, value)": f"do {{ const value_t gp_set = value; {sets} }} while (0)",
            "OP(a, b)": "gp_fold(a, b)",
            "IDENTITY": "gp_identity()",
        }
        if self.better:
            macros |= {"BETTER(a, b)": "gp_better(a, b)", "LEAD(value)": f"(value){fields[0]}"}
        return macros

    def text(self) -> list[str]:
        """Write the functions of those macros."""
        arguments = [f"{side}{field}" for side in "ab" for field in fields_of(self.values)]
        scalars = zip(self.identity, self.values, strict=True)
        identity = [constant(repr(scalar.item()), dtype) for scalar, dtype in scalars]
        components = ", ".join(f"const {c_type(dtype)} c{k}" for k, dtype in enumerate(self.values))
        packed = return_value(*(f"c{k}" for k in range(len(self.values))))
        return [
            emit_function("DEVICE value_t gp_fold(const value_t a, const value_t b)", self.op, arguments, return_value),
            f"DEVICE value_t gp_identity(void)\n{{\n    {return_value(*identity)}\n}}",
            f"DEVICE value_t gp_pack({components})\n{{\n    {packed}\n}}",
            *self._better(),
        ]

    def _better(self) -> list[str]:
        """Write the type of a value's first component, and the comparison of two of them."""
        if self.better is None:
            return []
        lead = c_type(self.values[0])
        head = f"DEVICE int gp_better(const {lead} a, const {lead} b)"
        return [
            f"typedef {lead} lead_t;",
            emit_function(head, self.better, ["a", "b"], lambda result: f"return {result};"),
        ]

    def headers(self) -> tuple[Path, ...]:
        """See :class:`KernelSpec`."""
        return (Path(__file__).parent / "reduce" / "kernels" / "folding.h",)
