"""Facts about a histogram call, and the refusals that ask for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.refusals import lacks_local
from gpuprims.core.traits import CallTraits

# Most ranges of bins: a kernel reads the elements once for each.
_MOST_RANGES = 8
# Local memory for one more sum in each plane of a range.
BEHIND_RANGE = 64


@dataclass(frozen=True)
class HistogramTraits(CallTraits):
    """Facts about a histogram call; ``value_bytes`` are the bytes of a bin in a histogram that groups share."""

    bins: int = 0

    @classmethod
    def of(cls, call: CallTraits) -> HistogramTraits:
        """Return the traits of a histogram call; raise for those of another primitive."""
        if not isinstance(call, cls):
            raise TypeError(f"a refusal of histograms: traits of one; got {call}")
        return call

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


def histogram_fits(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse devices whose local memory is too small for a histogram."""
    traits, there = HistogramTraits.of(call), capabilities.asked_local_memory
    if traits.histogram_bytes <= there:
        return None
    asked = f"{traits.histogram_bytes} bytes of local memory for {traits.bins} bins"
    return f"needs {asked}; {capabilities.name} has {there}"


def ranges_fit(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse histograms that need too many ranges of bins."""
    most = _MOST_RANGES * (capabilities.asked_local_memory - BEHIND_RANGE)
    asked = HistogramTraits.of(call).histogram_bytes
    if asked <= most:
        return None
    return f"is for sums of {most} bytes at most, {_MOST_RANGES} times the local memory; this call's have {asked}"


def counted(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse weights."""
    return "counts elements; this call has weights" if call.value_bytes > 4 else None


def counted_bytes(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse weights, and elements larger than a byte."""
    if call.dtypes[0].itemsize > 1:
        return f"is for elements of one byte; this call has {call.dtypes[0]}"
    return counted(capabilities, call) or lacks_local(256 * 32 * 4, capabilities)  # 32 counts for each value


def sums_add_atomically(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse sums of 64 bits on devices without 64-bit atomics."""
    if call.value_bytes > 4 and not capabilities.int64_atomics:
        return f"needs atomics on 64 bits, which {capabilities.name} lacks"
    return None
