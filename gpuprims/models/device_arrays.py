"""Arrays of the caller that may lie on a device."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuprims.core.device import device_of
from gpuprims.core.operands import as_operands
from gpuprims.expressions.masks import refuse_masked


def on_device(label: str, array: Any) -> bool:
    """Return True for an array in a device's memory, whichever library made it."""
    if isinstance(array, np.ndarray):
        return False
    if device_of(array) is not None:
        return True
    return hasattr(array, "__dlpack_device__") and not as_operands(label, (array,), None).on_host


def to_host(label: str, given: Any) -> Any:
    """Copy labels or weights to the host if they lie on a device; raise for masked arrays."""
    refuse_masked(f"{label}: labels and weights", given)
    if not on_device(label, given):
        return given
    operands = as_operands(label, (given,), None)
    return operands.driver.to_host(operands.natives[0])
