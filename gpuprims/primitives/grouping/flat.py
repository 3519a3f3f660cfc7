"""Flattened arrays of a call."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuprims.core.layout import is_contiguous
from gpuprims.core.operands import Operands
from gpuprims.primitives.map import contiguous_copy


def flat(operands: Operands, array: Any) -> Any:
    """Flatten an array of a call, in C order, on the device or on a host whose memory the device shares."""
    if isinstance(array, np.ndarray):
        host = np.ravel(array)
        if operands.in_place:
            return host
        return operands.driver.asarray(host) if host.size else operands.empty((0,), host.dtype)
    size = int(array.size)
    if size and not (array.flags.c_contiguous or is_contiguous(operands.form(array))):
        array = contiguous_copy(array, operands.device)
    return operands.driver.cut(array, 0, (size,)) if size else operands.empty((0,), array.dtype)
