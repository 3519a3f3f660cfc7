"""Rows that begin at any address, so that a work-item cannot load its elements as a vector."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.geometry import Geometry
from gpuprims.core.layout import VECTOR_BYTES, Form, Layout
from gpuprims.primitives.stencil.blocks import local_for_tiles
from gpuprims.primitives.stencil.refusals import ROWS_AT_ONCE, register_bytes
from gpuprims.primitives.stencil.traits import Neighbourhood

# Bytes of a word that a lane loads or stores.
_WORD = 4
# Most numbers of a window that leave registers for the words being loaded.
_MOST_HELD = 80  # rows: loose


def begins_anywhere(lines: Layout, forms: Sequence[Form]) -> bool:
    """Return True if rows of narrow elements or results begin between words."""
    return any(lines.width_of(k) * form.dtype.itemsize < _WORD for k, form in enumerate(forms))


def moved_by_words(
    element: np.dtype[Any],
    result: np.dtype[Any],
    vectors: tuple[int, int],
    fitted: Geometry,
    reads: Neighbourhood,
    able: Capabilities,
) -> dict[str, bool]:
    """Return if a group of stencil/rolling loads its row, and stores its results, as words that its lanes share.

    ``vectors``: the elements, and the results, that a work-item could move at once.
    """
    held = reads.registers(fitted.items) <= _MOST_HELD
    full = [held and dtype.itemsize * fitted.items >= VECTOR_BYTES for dtype in (element, result)]
    numbers = fitted.block * fitted.items
    read = 2 * ROWS_AT_ONCE * (numbers + 2 * reads.times * reads.beside + VECTOR_BYTES) * register_bytes(element)
    kept = ROWS_AT_ONCE * (numbers + VECTOR_BYTES) * result.itemsize
    return {
        "loose_in": full[0] and vectors[0] * element.itemsize < _WORD,
        "loose_out": full[1] and vectors[1] == 1 and read + kept <= local_for_tiles(able),
    }
