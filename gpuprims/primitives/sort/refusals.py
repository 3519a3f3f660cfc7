"""Refusals of sorts."""

from __future__ import annotations

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.geometry import Refusal
from gpuprims.core.traits import CallTraits
from gpuprims.primitives.sort.traits import SortTraits

_LANES = 32
# The longest rows that several lanes sort faster, by bytes of a key, and the fewest pairs of keys in all rows for which
# they do (rows: lanes-longest).
_LONGEST_IN_LANES, _FEWEST_PAIRS = {1: 80, 2: 112, 4: 224, 8: 256}, 2**23
# The fewest keys of 64 bits that are sorted from the top digit down (rows: buckets-short).
_FEWEST_WIDE = 2**22


def rows_below(most: int) -> Refusal:
    """Refuse rows of more elements than a launch counts."""

    def refuse(capabilities: Capabilities, call: CallTraits) -> str | None:
        if call.size <= most:
            return None
        return f"is for rows of at most {most} elements; this call has rows of {call.size}"

    return refuse


def rows_from(least: int) -> Refusal:
    """Refuse rows too short to be worth a launch for each digit."""

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


def few_comparisons(most: int) -> Refusal:
    """Refuse rows whose elements take more comparisons, if each is compared with all others of its row."""

    def refuse(capabilities: Capabilities, call: CallTraits) -> str | None:
        if call.size * call.size * call.outputs <= most:
            return None
        return f"is for {most} comparisons at most; this call has rows of {call.size}, and {call.outputs} of them"

    return refuse


def lanes_pay(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Yield rows that several lanes share, if there are few of them, or if their keys have few digits."""
    nbytes, pairs = call.dtypes[0].itemsize, call.size * call.size * call.outputs
    most = _LONGEST_IN_LANES.get(nbytes, _LANES) if pairs >= _FEWEST_PAIRS else _LANES
    if call.size <= most:
        return None
    return f"is faster for rows of at most {most} keys of {nbytes} bytes; this call has {call.outputs} of {call.size}"


def keys_alone(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse several rows, and values or indices beside keys: those of equal keys would be out of order."""
    if call.outputs == 1 and call.value_bytes == call.dtypes[0].itemsize:
        return None
    return "is for keys of one row, with nothing beside them"


def skewed_or_short(least_bytes: int, least_floats: int, least: int) -> Refusal:
    """Refuse rows that are too short for a sort from the top digit down; how short depends on the keys.

    Keys of one byte are counted and not moved. Wide keys have twice as many digits, and other sorts move keys once for
    each digit. Narrow floats have few exponents, so that most share their top byte.
    """

    def refuse(capabilities: Capabilities, call: CallTraits) -> str | None:
        nbytes, kind, enough = call.dtypes[0].itemsize, "keys", least
        if nbytes == 1:
            kind, enough = "bytes", least_bytes
        elif nbytes == 8:
            kind, enough = "wide keys", _FEWEST_WIDE
        elif nbytes <= 4 and isinstance(call, SortTraits) and call.floats:
            kind, enough = "narrow floats", least_floats
        if call.size >= enough:
            return None
        return f"is faster for rows of at least {enough} {kind}; this call has rows of {call.size}"

    return refuse


def int64_atomics(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse devices without 64-bit atomics."""
    return None if capabilities.int64_atomics else f"needs atomics on 64 bits, which {capabilities.name} lacks"


def votes_fit(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse warps of more lanes than a vote of 32 bits has."""
    if capabilities.warp <= _LANES:
        return None
    return f"needs warps of {_LANES} at most; those of {capabilities.name} have {capabilities.warp}"
