"""The rows of a call of top_k."""

from __future__ import annotations

from typing import NamedTuple


class Rows(NamedTuple):
    """Rows of at most ``n`` elements, of ``mean`` on average, from each of which a call takes ``k``."""

    outputs: int
    n: int
    mean: int
    k: int
    order_bits: int
    segmented: bool

    @property
    def many(self) -> bool:
        """True if 32 bits do not count the elements of a row."""
        return self.n >= 2**32

    @property
    def far(self) -> bool:
        """True if a pick needs more than 64 bits."""
        return self.order_bits > 32 or self.many

    @property
    def pick_bytes(self) -> int:
        """Bytes of a pick."""
        return 16 if self.far else 8
