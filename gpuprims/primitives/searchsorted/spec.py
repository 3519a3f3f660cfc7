"""The specs of kernels that search sorted arrays."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from gpuprims.core.codegen.operands import stored
from gpuprims.core.kernel_spec import KernelSpec
from gpuprims.expressions import c_type
from gpuprims.primitives.order import compared_text, order_text
from gpuprims.primitives.ordering import KERNELS, order_macros


@dataclass(frozen=True, eq=False, kw_only=True)
class SearchSpec(KernelSpec):
    """The macros of a search; elements and keys are compared as values."""

    right: bool
    member: bool | None  # the answer for keys that are in the array, of a search that tells no places
    many: bool  # the sorted array has more elements than 32 bits count

    maps: ClassVar[bool] = False
    lifts_constants: ClassVar[bool] = False

    def macros(self) -> dict[str, int | str]:
        """Define the side, and the answer."""
        asks = self.member is not None
        return {"RIGHT": int(self.right), "ASKS_MEMBERS": int(asks), "MEMBER": int(self.member is not False)}

    def text(self) -> list[str]:
        """Write how elements and keys are compared."""
        (common,), (elements, keys) = self.values, self.inputs
        return [
            f"typedef {stored(elements.dtype)} element_t;",
            f"typedef {'i64' if self.many else 'i32'} place_t;",
            order_text(common),
            _equal_text(common),
            compared_text("gp_element_number", "element_t", elements.dtype, common),
            compared_text("gp_key_number", stored(keys.dtype), keys.dtype, common),
        ]

    def headers(self) -> tuple[Path, ...]:
        """See :class:`KernelSpec`."""
        return (Path(__file__).parent / "kernels" / "search.h",)


def _equal_text(dtype: np.dtype[Any]) -> str:
    """Write gp_equal, which is false for NaN."""
    kind, equal = c_type(dtype), "(a.re == b.re) & (a.im == b.im)" if dtype.kind == "c" else "a == b"
    return "\n".join([f"DEVICE int gp_equal(const {kind} a, const {kind} b)", "{", f"    return {equal};", "}"])


@dataclass(frozen=True, eq=False, kw_only=True)
class TreeSpec(SearchSpec):
    """The macros of a search by a tree."""

    fan: int  # entries of a node
    levels: int  # above the array
    table: int  # entries that local memory has room for
    loaded: int  # entries that one load moves

    scratch_pointers: ClassVar[int] = 1

    def macros(self) -> dict[str, int | str]:
        """Define the tree."""
        return super().macros() | {"FAN": self.fan, "LEVELS": self.levels, "TOP": self.table}

    def text(self) -> list[str]:
        """Write the load of a node."""
        kind = stored(self.inputs[0].dtype)
        loads = [
            f"    READ_VECTOR({kind}, {self.loaded}, from + {k}, node + {k});" for k in range(0, self.fan, self.loaded)
        ]
        alone = [f"    node[{k}] = from[{k}];" for k in range(self.fan)]
        head = "DEVICE void gp_load_node(GLOBAL const element_t *from, element_t *node)"
        return [*super().text(), head, "{", *(loads if self.loaded > 1 else alone), "}"]


@dataclass(frozen=True, eq=False, kw_only=True)
class WordsSpec(SearchSpec):
    """The macros of a search among words."""

    fan: int  # elements of a word

    @classmethod
    def of(cls, spec: SearchSpec, fan: int) -> Self:
        """Return the spec of a search with words of ``fan`` elements."""
        return cls(**{one.name: getattr(spec, one.name) for one in fields(SearchSpec)}, fan=fan)

    def macros(self) -> dict[str, int | str]:
        """Define the words."""
        return super().macros() | order_macros(self.values[0]) | {"FAN": self.fan}

    def headers(self) -> tuple[Path, ...]:
        """See :class:`KernelSpec`."""
        return (KERNELS / "order.h", *super().headers())
