"""Facts about a histogram call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpuprims.core.traits import CallTraits


@dataclass(frozen=True)
class HistogramTraits(CallTraits):
    """Facts about a histogram call; ``value_bytes`` are the bytes of a bin in a histogram that groups share."""

    bins: int = 0

    @property
    def histogram_bytes(self) -> int:
        """Bytes of a histogram: its bins, and two places for elements outside them."""
        return (self.bins + 2) * self.value_bytes

    @property
    def measured(self) -> dict[str, Any]:
        """The number of bins."""
        return {"bins": self.bins}

    def resembles(self, measured: Mapping[str, Any]) -> bool:
        """Return True for at most as many bins as were measured."""
        return measured.keys() == {"bins"} and self.bins <= measured["bins"]
