"""Facts about a stencil call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from gpuprims.core.traits import CallTraits


class Neighbourhood(NamedTuple):
    """The neighbours that a stencil reads for an element.

    ``lines``: the elements of a row lie side by side. ``across``: the stencil takes two passes. ``table``: weights can
    be read from memory. ``span``: rows. ``beside``: elements of a row beside the one computed. ``taps``: neighbours.
    ``paired``: two elements may share a register. ``times``: applications in one launch. ``written``: a kernel can
    contain all weights. ``planes``: the array has several planes, or neighbours lie in others. ``deep``: planes of the
    neighbourhood. ``channels``: elements of a pixel. ``loose``: rows of narrow elements begin where words of 32 bits do
    not. ``alone``: the array is one row.
    """

    lines: bool
    across: bool
    table: bool
    span: int
    beside: int
    taps: int
    paired: bool = False
    times: int = 1
    written: bool = True
    planes: bool = False
    deep: int = 1
    channels: int = 1
    loose: bool = False
    alone: bool = False

    def numbers(self, items: int) -> int:
        """Return the size of the windows of ``items`` elements of a row."""
        wider = self.times * (self.times - 1) // 2 * self.beside
        return self.deep * self.span * (self.times * (items + (0 if self.across else self.beside)) + wider)

    def registers(self, items: int) -> int:
        """Return the registers that these windows take."""
        return self.numbers(items) // (2 if self.paired else 1)


# A single element; rows may lie anywhere.
_NONE = Neighbourhood(lines=False, across=False, table=False, span=1, beside=0, taps=1)


@dataclass(frozen=True)
class StencilTraits(CallTraits):
    """Facts about a stencil call."""

    neighbourhood: Neighbourhood = _NONE

    @property
    def measured(self) -> dict[str, Any]:
        """The neighbourhood."""
        return {"around": self.neighbourhood}

    def resembles(self, measured: Mapping[str, Any]) -> bool:
        """Return True if the call has no more neighbours than the measured one, and reads them in the same way."""
        kept = measured.get("around", ())
        if len(kept) != len(Neighbourhood._fields):
            return False
        both = self.neighbourhood, Neighbourhood(*kept)
        one, other = (reads._replace(beside=0, taps=0, paired=False) for reads in both)
        return one == other and both[0].taps <= both[1].taps


def neighbourhood_of(call: CallTraits) -> Neighbourhood:
    """Return the neighbourhood of a stencil call, or raise for a call of another primitive."""
    if not isinstance(call, StencilTraits):
        raise TypeError(f"a refusal of stencils: traits of one; got {call}")
    return call.neighbourhood
