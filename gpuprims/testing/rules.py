"""Rules that hold or raise, and arrays to check them with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gpuprims.core.device import Device


def fail(label: str, rule: str, got: object) -> None:
    """Raise for a rule that does not hold."""
    raise AssertionError(f"{label}: {rule}; got {got}")


def hold(holds: bool, label: str, rule: str, got: object) -> None:
    """Raise unless a rule holds."""
    if not holds:
        fail(label, rule, got)


def described(array: Any) -> str:
    """Return an array's dtype and shape for a message."""
    return f"{array.dtype}{list(array.shape)}"


def layouts(device: Device, array: np.ndarray) -> Iterator[tuple[str, Any]]:
    """Yield an array in several layouts, on the host and on the device."""
    front = np.concatenate([array.ravel()[:1], array.ravel()])
    spread = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
    spread[..., ::2] = array
    places: tuple[tuple[str, Callable[[np.ndarray], Any]], ...] = (
        ("on the host", lambda host: host),
        ("on the device", device.asarray),
    )
    for place, put in places:
        yield place, put(array)
        yield f"every second element, {place}", put(spread)[..., ::2]
        if array.ndim > 1:
            yield f"transposed, {place}", put(np.ascontiguousarray(array.T)).T
    yield "offset by an element, on the host", front[1:].reshape(array.shape)
    yield "offset by an element, on the device", device.driver.cut(device.asarray(front), 1, array.shape)
