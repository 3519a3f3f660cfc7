"""Refusals of sorts."""

from __future__ import annotations

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.geometry import Refusal
from gpuprims.core.traits import CallTraits


def rows_below(most: int) -> Refusal:
    """Refuse rows of more elements than a launch counts."""

    def refuse(capabilities: Capabilities, call: CallTraits) -> str | None:
        if call.size <= most:
            return None
        return f"is for rows of at most {most} elements; this call has rows of {call.size}"

    return refuse


def rows_from(least: int) -> Refusal:
    """Refuse rows of fewer elements than make up for a launch for each digit."""

    def refuse(capabilities: Capabilities, call: CallTraits) -> str | None:
        if call.size >= least:
            return None
        return f"is for rows of at least {least} elements; this call has rows of {call.size}"

    return refuse


def whole_rows(least: int, many: int) -> Refusal:
    """Refuse long rows, unless there are enough of them for all units."""

    def refuse(capabilities: Capabilities, call: CallTraits) -> str | None:
        if call.size <= least or call.outputs >= many * capabilities.compute_units:
            return None
        return f"is for rows of at most {least} elements, or many rows; this call has {call.outputs} of {call.size}"

    return refuse


def keys_alone(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse several rows, and values or indices beside keys, whose order would be seen."""
    if call.outputs == 1 and call.value_bytes == call.dtypes[0].itemsize:
        return None
    return "is for keys of one row, with nothing beside them"


def one_level_or_long(most: int, least: int) -> Refusal:
    """Refuse rows whose parts by one digit are too long for a group's local memory, while they are few.

    Of keys of one byte, no part is sorted further.
    """

    def refuse(capabilities: Capabilities, call: CallTraits) -> str | None:
        if call.dtypes[0].itemsize == 1 or call.size <= most or call.size >= least:
            return None
        return f"is for rows of at most {most} elements, or of at least {least}; this call has rows of {call.size}"

    return refuse


def int64_atomics(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse devices without 64-bit atomics."""
    return None if capabilities.int64_atomics else f"needs atomics on 64 bits, which {capabilities.name} lacks"
