"""The kernel spec of take."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from gpuprims.core.codegen.operands import load, stored, write
from gpuprims.core.codegen.rows import along_axis
from gpuprims.core.kernel_spec import KernelSpec

_KERNELS = Path(__file__).parent / "kernels"


@dataclass(frozen=True, eq=False, kw_only=True)
class TakeSpec(KernelSpec):
    """The macros of a take. The kept axes are the indexed ones; the reduced axes are those of the result."""

    mode: str

    maps: ClassVar[bool] = False
    lifts_constants: ClassVar[bool] = False
    scratch_pointers: ClassVar[int] = 2

    @property
    def shares_index(self) -> bool:
        """True if neighbouring results come from one index."""
        return self.inputs[1].reduced[-1:] == (0,)

    def macros(self) -> dict[str, int | str]:
        """Define the mode, and the distances between neighbours."""
        last = len(self.inputs[0].reduced) - 1
        along = {"TAKEN": self.inputs[0], "INDEX": self.inputs[1], "RESULT": self.outputs[0]}
        distances: dict[str, int | str] = {
            f"{name}_ALONG(k)": f"({along_axis(access.reduced, f'reduced_stride[{k}]', '(k)')})"
            for k, (name, access) in enumerate(along.items())
        }
        own: dict[str, int | str] = {
            "MODE_RAISE": int(self.mode == "raise"),
            "MODE_CLIP": int(self.mode == "clip"),
            "SIGNED_INDEX": int(self.inputs[1].dtype.kind == "i"),
            "SHARED_INDEX": int(self.shares_index),
            "ROW_LENGTH(n)": f"layout.reduced[{last}]" if last > 0 else "(n)",
        }
        return own | distances

    def text(self) -> list[str]:
        """Define the types of elements and indices, and write their loads and stores."""
        kinds = {"element_t": self.inputs[0], "index_t": self.inputs[1]}
        types = [f"typedef {stored(access.dtype)} {name};" for name, access in kinds.items()]
        return [*types, *self._moves("{}", self.vector), *self._moves("{}_alone", 1)]

    def headers(self) -> tuple[Path, ...]:
        """See :class:`KernelSpec`."""
        return (_KERNELS / "places.h",)

    def _moves(self, name: str, width: int) -> list[str]:
        """Write functions that load and store ``width`` neighbours."""
        taken, index = self.inputs
        indices, elements = (1, width) if self.shares_index else (width, 1)
        loads, stores = "INPUTS, const layout_t layout", "OUTPUTS, const layout_t layout"
        return [
            f"DEVICE void {name.format('gp_load_indices')}({loads}, const i64 j, index_t *indices)",
            *_copied(load(1, index, indices, "gp_at_x1(layout, 0, j)"), "indices", "e1", indices),
            f"DEVICE void {name.format('gp_load_taken')}({loads}, const i64 place, const i64 j, element_t *taken)",
            *_copied(load(0, taken, elements, "gp_at_x0(layout, place, j)"), "taken", "e0", elements),
            f"DEVICE void {name.format('gp_store_taken')}({stores}, const i64 j, const element_t *r0)",
            "{",
            write(0, self.outputs[0], width, "j", "gp_at_y0(layout, 0, j)"),
            "}",
        ]


def _copied(loads: list[str], to: str, loaded: str, count: int) -> list[str]:
    """Write the body of a function that loads elements and copies them to its result."""
    return ["{", *loads, "#pragma unroll", f"    for (int k = 0; k < {count}; k++) {to}[k] = {loaded}[k];", "}"]


def as_words(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype in which a kernel moves elements: an integer of the same size, so that dtypes share kernels."""
    return dtype if dtype.kind == "c" else np.dtype(f"u{dtype.itemsize}")
