"""Facts about a call that decide which variant runs it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class CallTraits:
    """Facts about a call that variants are asked with. Primitives add their own in subclasses.

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
    in_index_order : bool
        True if a kernel reads the elements of an output in the order of their indices, not as they lie in memory.
    flat : bool
        True if the elements of all outputs lie one after the other in memory, and functions take no index.
    row_vector : int
        Neighbours of an output that one instruction may load.
    """

    dtypes: tuple[np.dtype[Any], ...]
    size: int
    outputs: int = 1
    commutative: bool = True
    value_bytes: int = 4
    side_by_side: bool = False
    picks: bool = False
    in_index_order: bool = True
    flat: bool = False
    row_vector: int = 1

    @property
    def measured(self) -> dict[str, Any]:
        """Facts that a tuned choice keeps, in a JSON file, beside the dtype and the bytes of a value."""
        return {}

    def resembles(self, measured: Mapping[str, Any]) -> bool:
        """Return True if a choice that was measured on a call with these facts holds for this call."""
        return not measured


Call = CallTraits
