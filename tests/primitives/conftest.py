"""A fixture for calls on host arrays larger than a device's memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import gpuprims
from gpuprims.core import operands as arrays


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


@pytest.fixture
def uploads() -> list[int]:
    """The bytes of each upload to ``small``."""
    return []


@pytest.fixture(params=["waits", "overlaps"])
def small(
    request: pytest.FixtureRequest, device: gpuprims.Device, uploads: list[int], monkeypatch: pytest.MonkeyPatch
) -> Iterator[gpuprims.Device]:
    """Each device with copies of host arrays, and room for 64 KiB of them; with transfers that overlap or wait."""
    if device.backend == "reference":
        pytest.skip("its arrays are host arrays")
    kind = type(device.driver)
    monkeypatch.setattr(kind, "shares_host_memory", False)
    monkeypatch.setattr(kind, "room", 64 << 10)
    monkeypatch.setattr(arrays, "_ALWAYS_ROOM", 0)
    link = Link()
    whole = kind.asarray

    def asarray(self: Any, array: np.ndarray) -> Any:
        uploads.append(array.nbytes)
        return whole(self, array)

    monkeypatch.setattr(kind, "asarray", asarray)
    if request.param == "overlaps":
        monkeypatch.setattr(kind, "begin_asarray", lambda self, array: link.begin_asarray(self, array), raising=False)
        monkeypatch.setattr(
            kind, "begin_to_host", lambda self, *to, new: link.begin_to_host(self, *to, new=new), raising=False
        )
    yield device
    assert len(uploads) > 3, "nothing was cut"
    assert link.begun == link.finished, "an upload was left"
