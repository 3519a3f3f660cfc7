"""Elements as unsigned integers whose order is the elements' order."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

Dtype = np.dtype[Any]
# Keys are sorted by digits of so many bits, of which there are so many values; ``sort_keys.h`` has the same.
DIGIT_BITS = 8
DIGITS = 1 << DIGIT_BITS


class Keys(NamedTuple):
    """How kernels order elements of a dtype: NaN after all numbers, and zeros of either sign alike.

    ``sort_keys.h`` has the same in C.
    """

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
    def infinity(self) -> int:
        """The bits of infinity; those of NaN are higher."""
        return int(np.array(np.inf, self.dtype).view(self.word))

    @property
    def macros(self) -> dict[str, int | str]:
        """What ``sort_keys.h`` is compiled with."""
        found: dict[str, int | str] = {
            "ELEMENT_BITS": 8 * self.nbytes,
            "SIGNED": int(self.dtype.kind == "i"),
            "FLOATS": int(self.dtype.kind == "f"),
            "DESCENDING": int(self.descending),
        }
        if self.dtype.kind == "f":
            found["INFINITE"] = f"(element_t){self.infinity:#x}ull".replace("ull", "ul" if self.nbytes == 8 else "u")
        return found

    def of(self, elements: np.ndarray) -> np.ndarray:
        """Return the keys of elements."""
        bits = elements.view(self.word)
        top = self.word.type(1 << (8 * self.nbytes - 1))
        if self.dtype.kind == "i":
            bits = bits ^ top
        elif self.dtype.kind == "f":
            size = bits & ~top
            bits = np.where(size == 0, top, np.where(bits & top, ~bits, bits | top))
            bits = np.where(size > self.word.type(self.infinity), ~self.word.type(0), bits)
        return ~bits if self.descending else bits
