"""Refusals of histograms."""

from __future__ import annotations

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.refusals import lacks_local
from gpuprims.core.traits import CallTraits
from gpuprims.primitives.histogram.traits import HistogramTraits

# Ranges of bins, each of which fits in local memory, that are worth reading all elements for.
_MOST_RANGES = 8
# Local memory for the places behind a range, one in each plane.
BEHIND_RANGE = 64


def histogram_fits(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse devices whose local memory is too small for a histogram."""
    asked, there = _traits(call).histogram_bytes, capabilities.asked_local_memory
    if asked <= there:
        return None
    return f"needs {asked} bytes of local memory for {_traits(call).bins} bins; {capabilities.name} has {there}"


def counted(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse weights."""
    return "counts elements; this call has weights" if call.value_bytes > 4 else None


def ranges_fit(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse more bins than a few ranges hold that each fit in local memory."""
    most = _MOST_RANGES * (capabilities.asked_local_memory - BEHIND_RANGE)
    asked = _traits(call).histogram_bytes
    if asked <= most:
        return None
    return f"is for sums of {most} bytes at most, {_MOST_RANGES} times the local memory; this call's have {asked}"


def counted_bytes(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse what is not a count of elements of a byte each."""
    if call.dtypes[0].itemsize > 1:
        return f"is for elements of one byte; this call has {call.dtypes[0]}"
    if call.value_bytes > 4:
        return counted(capabilities, call)
    return lacks_local(256 * 32 * 4, capabilities)  # a count of each value for each of 32 lanes, and nothing else


def sums_add_atomically(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse devices without the atomics that add to a bin."""
    if call.value_bytes > 4 and not capabilities.int64_atomics:
        return f"needs atomics on 64 bits, which {capabilities.name} lacks"
    return None


def _traits(call: CallTraits) -> HistogramTraits:
    if not isinstance(call, HistogramTraits):
        raise TypeError(f"a refusal of histograms: traits of one; got {call}")
    return call
