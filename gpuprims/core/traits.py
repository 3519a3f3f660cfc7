"""What variants are told of a call when they are asked whether they take it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np


class Around(NamedTuple):
    """What a stencil takes for an element.

    ``lines`` says whether the elements of a row lie side by side, ``across`` whether it is computed in two steps,
    ``table`` whether weights are read from memory; ``span`` counts rows, ``beside`` elements of a row beyond one's own,
    ``taps`` neighbours, ``times`` how often it is applied in one launch; ``paired`` says whether two elements may share
    a register.
    """

    lines: bool
    across: bool
    table: bool
    span: int
    beside: int
    taps: int
    paired: bool = False
    times: int = 1

    def resembles(self, measured: Around) -> bool:
        """Return True for no more neighbours than measured, read in the same way."""
        one, other = (around._replace(beside=0, taps=0, paired=False) for around in (self, measured))
        return one == other and self.taps <= measured.taps

    def numbers(self, items: int) -> int:
        """Return how many numbers the windows of so many elements of a row have."""
        wider = self.times * (self.times - 1) // 2 * self.beside
        return self.span * (self.times * (items + (0 if self.across else self.beside)) + wider)

    def registers(self, items: int) -> int:
        """Return how many registers hold those numbers."""
        return self.numbers(items) // (2 if self.paired else 1)


@dataclass(frozen=True)
class Call:
    """What is known of a call when its variant is chosen.

    Parameters
    ----------
    dtypes : tuple of dtype
        Every dtype the kernel computes with.
    size : int
        Elements read per output.
    outputs : int
        Outputs computed; of a scan, those whose elements are scanned apart from each other's.
    commutative : bool
        Whether the operator, if there is one, is.
    value_bytes : int
        Bytes of one ``value_t``, what groups keep in local memory.
    side_by_side : bool
        Whether neighbouring outputs read neighbouring elements, as the columns of a matrix do.
    picks : bool
        Whether the operator gives one of its two values, by comparing their first components.
    bins : int
        Of a histogram, whose ``value_bytes`` are those of a bin where groups share it.
    around : Around or None
        Of a stencil.
    """

    dtypes: tuple[np.dtype[Any], ...]
    size: int
    outputs: int = 1
    commutative: bool = True
    value_bytes: int = 4
    side_by_side: bool = False
    picks: bool = False
    bins: int = 0
    around: Around | None = None

    @property
    def measured(self) -> dict[str, Any]:
        """Facts that a tuned choice keeps, in a JSON file, beside the dtype and the bytes of a value."""
        return {name: value for name, value in (("bins", self.bins), ("around", self.around)) if value}

    def resembles(self, measured: Mapping[str, Any]) -> bool:
        """Return True if a choice that was measured on a call with these facts holds for this call."""
        around = measured.get("around")
        if self.around is None or around is None:
            alike = self.around is around
        else:
            alike = len(around) == len(self.around) and self.around.resembles(Around(*around))
        return alike and self.bins <= measured.get("bins", 0)

    @property
    def histogram_bytes(self) -> int:
        """Bytes of a histogram: its bins, and two places for elements in none."""
        return (self.bins + 2) * self.value_bytes
