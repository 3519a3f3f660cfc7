"""Arrays of the caller that may lie on a device."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuprims.core.device import Device, device_of
from gpuprims.core.operands import Operands, as_operands
from gpuprims.expressions.masks import refuse_masked


def device_operands(label: str, array: Any, asked: str | Device | None = None) -> Operands | None:
    """Return the operands of an array in a device's memory, whichever library made it; None for a host array."""
    if isinstance(array, np.ndarray) or (device_of(array) is None and not hasattr(array, "__dlpack_device__")):
        return None
    operands = as_operands(label, (array,), asked)
    return None if operands.on_host else operands


def to_host(label: str, given: Any) -> Any:
    """Copy labels or weights to the host if they lie on a device; raise for masked arrays."""
    refuse_masked(f"{label}: labels and weights", given)
    operands = device_operands(label, given)
    return given if operands is None else operands.driver.to_host(operands.natives[0])
