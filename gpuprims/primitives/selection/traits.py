"""Facts about a selection, and refusals of the variants that sort rows."""

from __future__ import annotations

from dataclasses import dataclass

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.geometry import Refusal
from gpuprims.core.traits import CallTraits


@dataclass(frozen=True)
class SelectionTraits(CallTraits):
    """Facts about a selection along ``axes`` axes of an array, whose elements are one row."""

    axes: int = 1


def along_one_axis(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse rows along several axes, which no sort puts in order."""
    axes = call.axes if isinstance(call, SelectionTraits) else 1
    return None if axes == 1 else f"is for rows along one axis; this call has {axes}"


def many_rows(each: int) -> Refusal:
    """Yield calls with few rows for each unit, for which one launch is faster than two."""

    def refuse(capabilities: Capabilities, call: CallTraits) -> str | None:
        least = each * capabilities.compute_units
        return None if call.outputs >= least else f"is for at least {least} outputs; this call has {call.outputs}"

    return refuse
