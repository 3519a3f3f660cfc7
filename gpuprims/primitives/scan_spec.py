"""The spec of kernels that scan, or that write the elements they keep side by side."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from gpuprims.core.codegen.functions import fetch_text, vector_addresses
from gpuprims.core.codegen.operands import elements_of, load, names_of, stored, write
from gpuprims.primitives.fold_spec import FoldSpec

_HEADER = Path(__file__).parent / "scan" / "kernels" / "scanning.h"
_PLACE = "OUTPUTS, const layout_t layout, const i64 o, const i64 j"
_STAGED = "const i64 first, LOCAL staged_t *staging"


@dataclass(frozen=True, eq=False, kw_only=True)
class ScanSpec(FoldSpec):
    """The macros of a scan.

    Parameters
    ----------
    inclusive : bool
        True if a result includes the element at its own index.
    packed : bool, default False
        True if the value counts the elements that are kept so far, and ``place`` writes the next one there. A group can
        then gather its elements in local memory and write them side by side.
    """

    inclusive: bool
    packed: bool = False

    stores_vectors: ClassVar[bool] = True
    aliases: ClassVar[bool] = True
    scratch_pointers: ClassVar[int] = 1

    def macros(self) -> dict[str, int | str]:
        """Define the kind of the scan, and how kernels stage elements and write them."""
        macros = super().macros() | {"INCLUSIVE": int(self.inclusive), "PACKED": int(self.packed)}
        if self.packed:
            names = f"{names_of('x', self.inputs)}, {names_of('y', self.outputs)}"
            macros |= {
                "STAGE(o, j, value, first, to)": f"gp_stage({names}, layout, o, j, value, first, to)",
                "STAGE_VECTOR(o, j, values, first, to)": f"gp_stage_vector({names}, layout, o, j, values, first, to)",
                "WRITE_STAGED(o, j, element)": "y0[gp_at_y0(layout, o, j)] = element",
                "WRITE_NUMBER(number)": "y1[gp_at_y1(layout, 0, 0)] = number",
            }
        return macros

    def text(self) -> list[str]:
        """See :class:`KernelSpec`."""
        return [*(self._staging() if self.packed else ()), *super().text()]

    def _staging(self) -> list[str]:
        """Write functions that gather elements for the first output, and store those for the other outputs."""
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
            *(line for k, access in enumerate(inputs) for line in load(k, access, widths[k])),
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
        return (_HEADER,)
