"""Shapes of arrays that broadcast together."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from gpuprims.errors import ShapeError

# Kernels count in 64-bit integers and may count a little beyond the last element.
_MOST_ELEMENTS = 2**62


def broadcast_shapes(label: str, shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Return the common shape of arrays, or raise :class:`ShapeError`."""
    got = " and ".join(str(shape) for shape in shapes)
    too_many = f"{label}: at most 2^62 elements, which 64-bit indices count; got {got}"
    try:
        # NumPy broadcasts up to 32 axes, but has arrays of 64.
        shape = tuple(shapes[0]) if shapes.count(shapes[0]) == len(shapes) else np.broadcast_shapes(*shapes)
    except ValueError as error:
        rule = f"{label}: shapes that broadcast together; got {got}"
        raise ShapeError(too_many if "too large" in str(error) else rule) from error
    except (TypeError, RuntimeError) as error:
        raise ShapeError(f"{label}: shapes of up to 32 axes, unless all are equal; got {got}") from error
    if math.prod(shape) > _MOST_ELEMENTS:
        raise ShapeError(too_many)
    return shape
