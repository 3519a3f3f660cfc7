"""The kernel specs of random numbers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from gpuprims.core.codegen.functions import layout_of, store_text
from gpuprims.core.codegen.operands import return_value
from gpuprims.core.kernel_spec import Dtype, KernelSpec
from gpuprims.expressions import c_type, emit_function

_WORDS = "(u64)words[2 * (k)] | (u64)words[2 * (k) + 1] << 32"


@dataclass(frozen=True, eq=False, kw_only=True)
class PhiloxSpec(KernelSpec):
    """The macros of numbers that ``map`` makes of words of a block."""

    word: Dtype

    maps: ClassVar[bool] = False
    contracted: ClassVar[bool] = False  # the same bits on each device

    def macros(self) -> dict[str, int | str]:
        """Define the numbers of a block."""
        layout = layout_of(self)
        word = "words[k]" if self.word.itemsize == 4 else _WORDS
        return {"NUMBERS": 16 // self.word.itemsize, "RANDOM(words, k)": f"gp_number({layout}{word})"}

    def text(self) -> list[str]:
        """Write gp_number, and how numbers are stored."""
        layout = f"const layout_t {layout_of(self)}" if self.constants else ""
        head = f"DEVICE value_t gp_number({layout}const {c_type(self.word)} word)"
        return [emit_function(head, self.map, ["word"], return_value), *store_text(self)]

    def headers(self) -> tuple[Path, ...]:
        """See :class:`KernelSpec`."""
        return (Path(__file__).parent / "kernels" / "philox.h",)
