"""Facts about a call that decide which variant runs it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpuprims.core.determinism import Level, asked_level


@dataclass(frozen=True)
class CallTraits:
    """Facts about a call, by which variants accept or refuse it. Primitives add their own in subclasses.

    Parameters
    ----------
    dtypes : tuple of dtype
        Every dtype the kernel computes with; the first is that of the elements.
    size : int
        Elements read per output.
    outputs : int
        Number of outputs: rows that are folded or scanned independently.
    commutative : bool
        True if the operator commutes, or there is none.
    value_bytes : int
        Bytes of one ``value_t``, which groups keep in local memory.
    side_by_side : bool
        True if neighbouring outputs read neighbouring elements, as the columns of a matrix do.
    picks : bool
        True if the operator returns one of its two values, by comparing their first components.
    adds : bool
        True if the operator adds floats, values of one component.
    flat : bool
        True if the elements of all outputs lie one after the other in memory.
    begins_whole : bool
        True if one instruction may load as many neighbours of an output as the widest load moves.
    rounds : bool, default True
        False if results do not depend on the order of operations, as those of integers, or of elements that are moved.
    portable : bool, default False
        True if the functions of the call have only operations that give the same bits on every device.
    grouped : bool, default False
        True if elements are folded in groups, by an operator that would commute without these.
    level : str, optional
        The level of determinism that the call asks for; by default the one asked for where the traits are made.
    """

    dtypes: tuple[np.dtype[Any], ...]
    size: int
    outputs: int = 1
    commutative: bool = True
    value_bytes: int = 4
    side_by_side: bool = False
    picks: bool = False
    adds: bool = field(default=False, kw_only=True)
    flat: bool = False
    begins_whole: bool = False
    rounds: bool = field(default=True, kw_only=True)
    portable: bool = field(default=False, kw_only=True)
    grouped: bool = field(default=False, kw_only=True)
    level: Level | None = field(default_factory=asked_level, kw_only=True)

    @property
    def measured(self) -> dict[str, Any]:
        """Facts that a tuned choice keeps, in a JSON file, beside the dtype and the bytes of a value."""
        return {}

    def resembles(self, measured: Mapping[str, Any]) -> bool:
        """Return True if a choice that was measured on a call with these facts holds for this call."""
        return not measured


# Facts about calls that move elements or compare them, and compute nothing.
MOVES: Mapping[str, Any] = {"rounds": False, "portable": True}
Call = CallTraits
