"""Scalars that kernels write and the host waits for."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from gpuprims.core.device import Device


class Scalars:
    """Arrays of shape () on a device, in memory that the host reads fast, kept from call to call."""

    def __init__(self, device: Device, dtypes: tuple[np.dtype[Any], ...]) -> None:
        self._device, self._dtypes = device, dtypes
        self._free: deque[Sequence[tuple[Any, Callable[[], Any]]]] = deque()  # threads may pop and append at any time

    def take(self) -> tuple[list[Any], Callable[[], tuple[Any, ...]]]:
        """Return arrays for one launch, and a function that waits for it and returns the Python numbers."""
        try:
            taken = self._free.pop()
        except IndexError:
            taken = [self._device.driver.scalar(dtype) for dtype in self._dtypes]

        def read() -> tuple[Any, ...]:
            items = tuple([item() for _, item in taken])
            self._free.append(taken)  # after an error they are left out: a kernel may still write to them
            return items

        return [array for array, _ in taken], read


@lru_cache(maxsize=256)
def scalars_on(device: Device, dtypes: tuple[np.dtype[Any], ...]) -> Scalars:
    """Return the scalars of these dtypes on a device."""
    return Scalars(device, dtypes)
