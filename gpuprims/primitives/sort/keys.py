"""How kernels order elements: as unsigned integers whose order is the elements' order, or by a comparison."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.codegen.operands import number_of
from gpuprims.expressions import TypedExpr, c_type, emit_function
from gpuprims.primitives.ordering import integer_macros, orders_of

Dtype = np.dtype[Any]
# Bits of a digit of a key, and the number of its values; as in ``sort_keys.h``.
DIGIT_BITS = 8
DIGITS = 1 << DIGIT_BITS
# Bytes of the widest numbers that are moved as unsigned integers.
WIDEST = 8


def word_of(dtype: Dtype) -> Dtype:
    """Return the dtype in which kernels move numbers: an unsigned integer of their size; 128 bits keep their own."""
    return np.dtype(f"u{dtype.itemsize}") if dtype.itemsize <= WIDEST else dtype


class Keys(NamedTuple):
    """How kernels order elements of a dtype. ``sort_keys.h`` has the same in C.

    ``less`` is the comparison of two elements, if there is one.
    """

    dtype: Dtype
    descending: bool
    less: TypedExpr | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize

    @property
    def word(self) -> Dtype:
        """The dtype in which kernels move elements."""
        return word_of(self.dtype)

    @property
    def macros(self) -> dict[str, int | str]:
        """What goes first; without a comparison, also what ``order.h`` and ``sort_keys.h`` are compiled with."""
        sorts_first = "SORTS_FIRST(first, second)"
        if self.less is not None:
            pair = "second, first" if self.descending else "first, second"
            return {sorts_first: f"gp_sorts_first({pair})"}
        return {
            **integer_macros(self.dtype, "element_t"),
            "DESCENDING": int(self.descending),
            sorts_first: "(gp_sort_key(first) < gp_sort_key(second))",
        }

    def of(self, elements: np.ndarray) -> np.ndarray:
        """Return the keys of elements, which may be words."""
        keys = orders_of(elements.view(self.dtype))
        return ~keys if self.descending else keys

    @property
    def text(self) -> list[str]:
        """The C text of a comparison."""
        if self.less is None:
            return []
        numbers = [self._number("first"), self._number("second")]
        head = "DEVICE int gp_sorts_first(const element_t first, const element_t second)"
        return [emit_function(head, self.less, numbers, lambda result: f"return {result};")]

    def _number(self, element: str) -> str:
        """Return C text of a moved element as a number."""
        if self.dtype == np.complex64:
            parts = f"gp_from_bits_f32((u32){element})", f"gp_from_bits_f32((u32)({element} >> 32))"
            return f"gp_make_c64({', '.join(parts)})"
        if self.dtype.kind in "bc" or self.dtype == np.float16:
            return number_of(element, self.dtype)
        return f"gp_from_bits_{c_type(self.dtype)}({element})"


def compared(less: TypedExpr, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return which elements of an array are less than those of another one, by a comparison."""
    with np.errstate(all="ignore"):
        (found,) = less(first, second)
    return np.broadcast_to(found, np.broadcast_shapes(first.shape, second.shape))
