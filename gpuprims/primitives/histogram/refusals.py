"""Refusals of histograms."""

from __future__ import annotations

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.refusals import lacks_local
from gpuprims.core.traits import CallTraits
from gpuprims.primitives.histogram.traits import HistogramTraits

# Most ranges of bins; the elements are read once for each.
_MOST_RANGES = 8
# Local memory for one further place in each plane of a range.
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
    """Refuse more bins than a few ranges that fit in local memory."""
    most = _MOST_RANGES * (capabilities.asked_local_memory - BEHIND_RANGE)
    asked = _traits(call).histogram_bytes
    if asked <= most:
        return None
    return f"is for sums of {most} bytes at most, {_MOST_RANGES} times the local memory; this call's have {asked}"


def counted_bytes(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse weights, and elements of more than a byte."""
    if call.dtypes[0].itemsize > 1:
        return f"is for elements of one byte; this call has {call.dtypes[0]}"
    if call.value_bytes > 4:
        return counted(capabilities, call)
    return lacks_local(256 * 32 * 4, capabilities)  # one count for each value and each of 32 lanes


def sums_add_atomically(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse devices without 64-bit atomics, if bins need them."""
    if call.value_bytes > 4 and not capabilities.int64_atomics:
        return f"needs atomics on 64 bits, which {capabilities.name} lacks"
    return None


def _traits(call: CallTraits) -> HistogramTraits:
    if not isinstance(call, HistogramTraits):
        raise TypeError(f"a refusal of histograms: traits of one; got {call}")
    return call
