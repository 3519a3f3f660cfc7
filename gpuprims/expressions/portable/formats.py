"""The two formats that portable functions compute in."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class Format(NamedTuple):
    """What functions need to know of IEEE 754's binary32 or binary64."""

    name: str
    digits: int  # of the significand, the hidden one among them
    bias: int  # of the exponent
    # The low half of the significand, as bits: without it, a product of two numbers is exact.
    low_half: int

    @property
    def shift(self) -> int:
        """Bits below the exponent."""
        return self.digits - 1

    def number(self, value: float) -> Any:
        """Return a number of the format, for functions of numbers alone."""
        return getattr(np, self.name)(value)

    @property
    def bits(self) -> int:
        """The size of a number."""
        return 32 if self.digits < 32 else 64

    @property
    def sign(self) -> int:
        """The bit of the sign."""
        return 1 << self.bits - 1

    @property
    def one(self) -> int:
        """The bits of 1."""
        return self.bias << self.shift

    @property
    def rounder(self) -> float:
        """A number that leaves no bit for a fraction: added to another one, it rounds that to an integer."""
        return 1.5 * 2.0**self.shift

    @property
    def rounder_bits(self) -> int:
        """The bits of ``rounder``."""
        return (self.bias + self.shift << self.shift) + (1 << self.shift - 1)


FLOAT32 = Format("float32", 24, 127, 0xFFF)
FLOAT64 = Format("float64", 53, 1023, 0x7FFFFFF)
FORMATS = {form.name: form for form in (FLOAT32, FLOAT64)}
