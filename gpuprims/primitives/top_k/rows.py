"""The rows of a call of top_k."""

from __future__ import annotations

from typing import NamedTuple


class Rows(NamedTuple):
    """Rows of at most ``n`` elements and ``mean`` on average; a call takes ``k`` of each."""

    outputs: int
    n: int
    mean: int
    k: int
    order_bits: int
    segmented: bool

    @property
    def many(self) -> bool:
        """True if a row has too many elements for 32-bit indices."""
        return self.n >= 2**32

    @property
    def far(self) -> bool:
        """True if a pick needs more than 64 bits."""
        return self.order_bits > 32 or self.many

    @property
    def pick_bytes(self) -> int:
        """The size of a pick in bytes."""
        return 16 if self.far else 8
