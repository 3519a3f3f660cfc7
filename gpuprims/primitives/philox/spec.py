"""The kernel specs of random numbers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from gpuprims.core.codegen.functions import layout_of, store_text
from gpuprims.core.kernel_spec import Dtype, KernelSpec
from gpuprims.expressions import emit_function


@dataclass(frozen=True, eq=False, kw_only=True)
class PhiloxSpec(KernelSpec):
    """The macros of numbers that ``map`` makes of words of a block: as many as it takes words."""

    word: Dtype

    maps: ClassVar[bool] = False
    contracted: ClassVar[bool] = False  # the same bits on each device

    def macros(self) -> dict[str, int | str]:
        """Define the numbers of a block, and how many come from a call of gp_numbers."""
        numbers = f"gp_numbers({layout_of(self)}words, k, values)"
        return {"NUMBERS": 16 // self.word.itemsize, "TOGETHER": self.map.arity, "RANDOM(words, k, values)": numbers}

    def text(self) -> list[str]:
        """Write gp_numbers, and how numbers are stored."""
        layout = f"const layout_t {layout_of(self)}" if self.constants else ""
        head = f"DEVICE void gp_numbers({layout}const u32 *words, const int k, value_t *values)"
        return [emit_function(head, self.map, [self._word(k) for k in range(self.map.arity)], _kept), *store_text(self)]

    def headers(self) -> tuple[Path, ...]:
        """See :class:`KernelSpec`."""
        return (Path(__file__).parent / "kernels" / "philox.h",)

    def _word(self, k: int) -> str:
        """Return the C text of random word ``k`` of a call."""
        if self.word.itemsize == 4:
            return f"words[k + {k}]"
        return f"((u64)words[2 * (k + {k})] | (u64)words[2 * (k + {k}) + 1] << 32)"


def _kept(*results: str) -> str:
    return " ".join(f"values[k + {place}] = {result};" for place, result in enumerate(results))
