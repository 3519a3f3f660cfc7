"""Arguments that the host reads, such as the weights of a filter."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuprims.core.arrays import native_of
from gpuprims.core.device import device_of
from gpuprims.errors import ArgumentError
from gpuprims.expressions.masks import plain_array


def host_values(label: str, given: Any, rule: str) -> np.ndarray:
    """Return an array_like as a NumPy array; raise with ``rule`` if it is none. The call waits for one on a device."""
    if hasattr(given, "__dlpack_device__") and not isinstance(given, np.ndarray):
        given = native_of(label, given)
    home = device_of(given)
    if home is None:
        return plain_array(label, given, rule, ArgumentError)
    values: np.ndarray = home.driver.to_host(given)
    return values
