"""Transfers that overlap with kernels, for devices that have none."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np


class Link:
    """Transfers in threads of their own, one for each direction, as drivers have that overlap them with kernels."""

    def __init__(self) -> None:
        self.up, self.down = ThreadPoolExecutor(1), ThreadPoolExecutor(1)
        self.begun = self.finished = self.most = 0  # uploads that are begun, and that the call has waited for

    def begin_asarray(self, driver: Any, array: np.ndarray) -> Callable[[], Any]:
        self.begun += 1
        self.most = max(self.most, self.begun - self.finished)
        copied = self.up.submit(driver.asarray, array)

        def finish() -> Any:
            self.finished += 1
            return copied.result()

        return finish

    def begin_to_host(self, driver: Any, array: Any, host: np.ndarray, *, new: bool) -> Callable[[], None]:
        def copy() -> None:
            if new:
                host[...] = 1  # contents of new memory do not matter
            host[...] = driver.to_host(array)

        return self.down.submit(copy).result
