"""Weights of a stencil in memory, passed beside the array."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.operands import Operands
from gpuprims.primitives.stencil.passes import Step


def with_weights(operands: Operands, step: Step) -> Operands:
    """Return the operands, with the weights of a step that reads them from memory."""
    if operands.on_host:
        return operands.beside(_weights(step))
    return operands.beside(_weights_on(operands.device, operands.driver.order, step))


def _weights(step: Step) -> np.ndarray:
    return np.frombuffer(step.weights or b"", step.value)


@lru_cache(maxsize=32)
def _weights_on(device: Device, order: int, step: Step) -> Any:
    """Return weights in device memory, for the current queue or stream."""
    return device.driver.asarray(_weights(step))
