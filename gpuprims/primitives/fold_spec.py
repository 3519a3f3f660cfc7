"""The specs of kernels that fold and of kernels that scan."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np

from gpuprims.core.codegen.functions import fetch_text, vector_addresses
from gpuprims.core.codegen.operands import (
    elements_of,
    fields_of,
    load,
    load_along,
    names_of,
    return_value,
    stored,
    write,
)
from gpuprims.core.codegen.rows import along_axis
from gpuprims.core.kernel_spec import KernelSpec
from gpuprims.core.layout import VECTOR_BYTES, Layout
from gpuprims.expressions import TypedExpr, c_type, constant, emit_function
from gpuprims.operators import Folding

_BOOL = np.dtype(np.bool_)
_ROOMS = Path(__file__).parent
_GATHERING = _ROOMS / "compact" / "kernels" / "gathering.h"
_PLACE = "OUTPUTS, const layout_t layout, const i64 o, const i64 j"
_STAGED = "const i64 first, LOCAL staged_t *staging"


@dataclass(frozen=True, eq=False, kw_only=True)
class FoldSpec(KernelSpec):
    """The macros of a reduction."""

    # From the components of two values to those of one.
    op: TypedExpr
    # NumPy scalars, one for each component.
    identity: tuple[Any, ...]
    # OP may fold elements out of order.
    commutative: bool = True
    # For an OP that returns the better of two values, and the first of equal ones: from their first components to True
    # if the first value is better. A value that compares better than itself (NaN) wins.
    better: TypedExpr | None = None
    # Rows of the first input begin anywhere: some of its elements lie before the first whole vector.
    peeled: bool = False
    # Elements lie apart, and are too large to load in vectors; None for kernels that do not ask.
    apart: bool | None = None
    # Vector registers of a CPU hold fewer than 16 numbers of 32 bits; None for kernels of other devices.
    narrow: bool | None = None
    # Compilers may merge products with sums.
    merges: bool = True

    stores_vectors: ClassVar[bool] = False
    scratch_pointers: ClassVar[int] = 2
    exchanges: ClassVar[bool] = True

    @classmethod
    def of(cls, folding: Folding, layout: Layout, **more: Any) -> Self:
        """Return the spec of a folding; the last operands of the layout are its outputs."""
        inputs = len(layout.forms) - len(folding.outputs)
        own = {name: getattr(folding, name) for name in ("values", "map", "finish", "op", "identity")}
        own["merges"] = folding.contracted
        accesses = layout.accesses
        return cls(inputs=accesses[:inputs], outputs=accesses[inputs:], index=layout.index, **own | more)

    @property
    def functions(self) -> tuple[TypedExpr | None, ...]:
        """See :class:`KernelSpec`."""
        return (*super().functions, self.op)

    @property
    def contracts(self) -> bool:
        """See :class:`KernelSpec`."""
        return self.contracted and self.merges

    @property
    def _halved(self) -> int:
        """How often the lanes of a CPU's kernel are halved, so that their values stay in narrow registers."""
        several, wide = len(self.values) > 1, all(dtype.itemsize == _WIDE for dtype in self.values)
        if not self.narrow:
            return 0
        if several:
            return 2 if wide and len(self.values) == _PAIR else 1  # rows: cpu_chunks-narrow, cpu_chunks-wide
        return int(wide and self.values[0].kind in "iu")  # sums of floats have the order of floats.c

    def macros(self) -> dict[str, int | str]:
        """Define the operator and the identity, and arrays of values with an array for each component."""
        fields, numbers = fields_of(self.values), range(len(self.values))
        arrays = "; ".join(f"{c_type(dtype)} name##_v{k} places" for k, dtype in enumerate(self.values))
        sets = " ".join(f"name##_v{k} place = gp_set{field};" for k, field in enumerate(fields))
        macros: dict[str, int | str] = {
            "COMMUTATIVE": int(self.commutative),
            "PEELED": int(self.peeled),
            "HEAD(o)": "(VECTOR - (u64)(x0 + gp_at_x0(layout, o, 0)) / sizeof(*x0) % VECTOR) % VECTOR",
            "VALUES(name, places)": arrays,
            "VALUE(name, place)": f"gp_pack({', '.join(f'name##_v{k} place' for k in numbers)})",
            "SET_VALUE(name, place, value)": f"do {{ const value_t gp_set = value; {sets} }} while (0)",
            "OP(a, b)": "gp_fold(a, b)",
            "IDENTITY": "gp_identity()",
        }
        if self.apart is not None:
            macros |= {"APART": int(self.apart), "SEVERAL": int(len(self.inputs) > 1)}
        if self.narrow is not None:
            macros |= {"NARROW": int(self.narrow), "HALVED": self._halved}
        searched = self.better is not None and len(self.values) > 1 and (self.index is None or len(self.index) == 1)
        macros["SEARCHED"] = int(searched)
        macros["DECIDES"] = int(self.better is not None and self.values == (_BOOL,))
        if self.better:
            macros |= {"BETTER(a, b)": "gp_better(a, b)", "LEAD(value)": f"(value){fields[0]}"}
            macros |= {"IN_ORDER": int(self.index is None), "LEAD_ALONE": int(len(self.values) == 1)}
            macros["INDEX_FALLS"] = f"({along_axis(self.index, 'index_stride', '1')} < 0)" if self.index else 0
        return macros

    def text(self) -> list[str]:
        """Write the functions of these macros."""
        identity = return_value(*map(constant, self.identity))
        components = ", ".join(f"const {c_type(dtype)} c{k}" for k, dtype in enumerate(self.values))
        packed = return_value(*(f"c{k}" for k in range(len(self.values))))
        functions = [
            self.fold_text("gp_fold", self.op),
            f"DEVICE value_t gp_identity(void)\n{{\n    {identity}\n}}",
            f"DEVICE value_t gp_pack({components})\n{{\n    {packed}\n}}",
        ]
        if self.better is not None:
            lead = c_type(self.values[0])
            head = f"DEVICE int gp_better(const {lead} a, const {lead} b)"
            functions.append(f"typedef {lead} lead_t;")
            functions.append(emit_function(head, self.better, ["a", "b"], lambda result: f"return {result};"))
        return functions

    def fold_text(self, name: str, op: TypedExpr) -> str:
        """Write a function of two values."""
        arguments = [f"{side}{field}" for side in "ab" for field in fields_of(self.values)]
        return emit_function(f"DEVICE value_t {name}(const value_t a, const value_t b)", op, arguments, return_value)

    def headers(self) -> tuple[Path, ...]:
        """See :class:`KernelSpec`."""
        return (_ROOMS / "reduce" / "kernels" / "folding.h",)


# Bytes of a number if a vector register of 32 bytes holds four; with this many components of them, lanes halve twice.
_WIDE, _PAIR = 8, 2
# Bytes of narrow elements: one alone in a load leaves memory idle (rows: warp-peeled).
_NARROW = 4
# True if kept elements are written side by side; "places" if their places are.
Packed = Literal[False, True, "places"]


def peeled_width(layout: Layout, inputs: int) -> int:
    """Return how many narrow neighbours one instruction may load if rows begin anywhere; 0 unless they lie together."""
    item, steps = layout.forms[0].item, layout.reduced_strides[:inputs]
    alone = steps[0] == (1,) and all(own == (0,) for own in steps[1:])
    return VECTOR_BYTES // item if alone and item <= _NARROW else 0


@dataclass(frozen=True, eq=False, kw_only=True)
class ScanSpec(FoldSpec):
    """The macros of a scan."""

    # A result includes the element at its own index.
    inclusive: bool
    # ``place`` gives the first output consecutive indices. The value is then the next free index, and a group can
    # gather its elements in local memory and write them side by side.
    packed: Packed = False
    # Vectors of inputs of stride 2 are loaded with the elements between, so the last element is in no vector.
    paired: bool = False

    stores_vectors: ClassVar[bool] = True
    scratch_pointers: ClassVar[int] = 1

    @property
    def aliases(self) -> bool:
        """See :class:`KernelSpec`."""
        return True

    @property
    def vector_strides(self) -> tuple[int, ...]:
        """See :class:`KernelSpec`."""
        return (1, 2) if self.paired else (1,)

    def macros(self) -> dict[str, int | str]:
        """Define the kind of scan, and for packed results how kernels gather and write elements."""
        macros = super().macros() | {
            "INCLUSIVE": int(self.inclusive),
            "PACKED": int(bool(self.packed)),
            "DOUBLED": int(self.paired),
        }
        if self.packed:
            names = f"{names_of('x', self.inputs)}, {names_of('y', self.outputs)}"
            macros |= {
                "STAGE(o, j, value, first, to)": f"gp_stage({names}, layout, o, j, value, first, to)",
                "STAGE_VECTOR(o, j, values, first, to)": f"gp_stage_vector({names}, layout, o, j, values, first, to)",
                "WRITE_STAGED(o, j, element)": "y0[gp_at_y0(layout, o, j)] = element",
                "WRITE_NUMBER(number)": "y1[gp_at_y1(layout, 0, 0)] = number",
                "NUMBERED": int(self.packed == "places"),
            }
        return macros

    def text(self) -> list[str]:
        """See :class:`KernelSpec`."""
        return [*(self._staging() if self.packed else fetch_text(self)), *super().text()]

    def _staging(self) -> list[str]:
        """Write functions that gather a group's elements of the first output, and write elements of the others."""
        inputs, outputs, (widths, addresses) = self.inputs, self.outputs, vector_addresses(self)
        elements, results = names_of("e", inputs), names_of("y", outputs)
        others = list(enumerate(outputs))[1:]
        return [
            f"typedef {stored(outputs[0].dtype)} staged_t;",
            f"DEVICE value_t gp_stage_one({_PLACE}, {elements_of(inputs)}, const value_t value, {_STAGED})",
            "{",
            *(f"    i64 at{k}; {stored(access.dtype)} r{k}[1];" for k, access in enumerate(outputs)),
            f"    gp_place(layout, j, value, {elements}, {names_of('&at', outputs)});",
            f"    gp_finish(layout, j, value, {elements}, {names_of('r', outputs)});",
            "    if (at0 >= 0) staging[at0 - first] = r0[0];",
            *(f"    if (at{k} >= 0) {{ {write(k, access, 1, f'at{k}').strip()} }}" for k, access in others),
            "    return value + (at0 >= 0);",
            "}",
            f"DEVICE value_t gp_stage(INPUTS, {_PLACE}, const value_t value, {_STAGED})",
            "{",
            *(line for k, access in enumerate(inputs) for line in load(k, access, 1)),
            f"    return gp_stage_one({results}, layout, o, j, {elements}, value, first, staging);",
            "}",
            f"DEVICE value_t gp_stage_vector(INPUTS, {_PLACE}, const value_t *values, {_STAGED})",
            "{",
            *(line for k, access in enumerate(inputs) for line in load_along(k, access, widths[k])),
            "    value_t next = values[0];",
            "#pragma unroll",
            "    for (int item = 0; item < VECTOR; item++)",
            f"        next = gp_stage_one({results}, layout, o, j + item, {', '.join(addresses)}, "
            "values[item], first, staging);",
            "    return next;",
            "}",
            *fetch_text(self),
        ]

    def headers(self) -> tuple[Path, ...]:
        """See :class:`KernelSpec`."""
        return (_ROOMS / "scan" / "kernels" / "scanning.h",)


@dataclass(frozen=True, eq=False, kw_only=True)
class GatheringSpec(ScanSpec):
    """The macros of a kernel that gathers chosen elements of a tile, and writes them a turn later."""

    lookups: int  # statuses that a work-item reads at once

    def macros(self) -> dict[str, int | str]:
        """Define how many statuses are read."""
        return super().macros() | {"LOOKUPS": self.lookups}

    def headers(self) -> tuple[Path, ...]:
        """See :class:`KernelSpec`."""
        return (*super().headers(), _GATHERING)
