"""Elements as unsigned integers whose order is the elements' order."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gpuprims.primitives.ordering import integer_macros, orders_of

Dtype = np.dtype[Any]
# Keys are sorted by digits of so many bits, of which there are so many values; ``sort_keys.h`` has the same.
DIGIT_BITS = 8
DIGITS = 1 << DIGIT_BITS


class Keys(NamedTuple):
    """How kernels order elements of a dtype. ``sort_keys.h`` has the same in C."""

    dtype: Dtype
    descending: bool

    @property
    def nbytes(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize

    @property
    def word(self) -> Dtype:
        """The unsigned integers of the elements' size, as which kernels move elements."""
        return np.dtype(f"u{self.nbytes}")

    @property
    def macros(self) -> dict[str, int | str]:
        """What ``order.h`` and ``sort_keys.h`` are compiled with."""
        return {**integer_macros(self.dtype, "element_t"), "DESCENDING": int(self.descending)}

    def of(self, elements: np.ndarray) -> np.ndarray:
        """Return the keys of elements, which may be words."""
        keys = orders_of(elements.view(self.dtype))
        return ~keys if self.descending else keys
