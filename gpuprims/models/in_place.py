"""Where the arrays of a model lie: on a device, or on the host if kernels on CPUs read them there.

Copying samples takes longer than predicting from them, and allocating a device's array longer than a step of a small
fit (measurements.md, predictions in place, small fits in place).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.device import Device


class Home(NamedTuple):
    """Where the arrays beside some features lie: on a device, or in NumPy's arrays that its kernels read in place."""

    device: Device
    on_host: bool

    def asarray(self, host: np.ndarray) -> Any:
        """Return a host array there."""
        return host if self.on_host else self.device.asarray(host)

    def begin_asarray(self, host: np.ndarray) -> Any:
        """Return a host array there, without waiting for earlier work if the driver is able to."""
        begin = None if self.on_host else getattr(self.device.driver, "begin_asarray", None)
        return self.asarray(host) if begin is None else begin(host)()

    def has_few(self, count: int, most: int) -> bool:
        """Return True on the host for a count up to ``most``, or four times as many if a launch wakes threads."""
        times = 4 if getattr(self.device.driver, "wakes_threads", False) else 1
        return self.on_host and count <= times * most

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Allocate an array there."""
        return np.empty(shape, dtype) if self.on_host else self.device.driver.empty(shape, dtype)

    def zeros(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Allocate an array of zeros there."""
        return np.zeros(shape, dtype) if self.on_host else self.device.driver.zeros(shape, dtype)


def reads_in_place(device: Device) -> bool:
    """Return True if kernels of the device read the host's arrays where they lie, and NumPy computes beside them."""
    return device.capabilities.kind == "cpu" and device.driver.shares_host_memory


def home_of(array: Any, device: Device) -> Home:
    """Return where an array lies that kernels of the device read."""
    return Home(device, isinstance(array, np.ndarray) and reads_in_place(device))
