"""The number of the segment that each element is in."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuprims.core.operands import Operands
from gpuprims.primitives.scan import scan
from gpuprims.primitives.segments.offsets import Segments, index_dtype


def rows_of(operands: Operands, segments: Segments) -> Any:
    """Return the number of each element's segment, from 0, in the narrowest dtype; the offsets have been checked.

    It lies on the device, or on the host if kernels work there.
    """
    dtype = index_dtype(segments.count)
    if operands.in_place:
        return np.repeat(np.arange(segments.count, dtype=dtype), segments.lengths())
    if not segments.size:
        return operands.empty((0,), dtype)
    return scan(segments.firsts(), op="max", device=operands.device)
