"""A fixture for calls on host arrays larger than a device's memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest
from links import Link

import gpuprims
from gpuprims.core import operands as arrays


@pytest.fixture
def uploads() -> list[int]:
    """The bytes of each upload to ``small``."""
    return []


@pytest.fixture
def link() -> Link:
    """The transfers of ``small`` if they overlap."""
    return Link()


@pytest.fixture(params=["waits", "overlaps"])
def small(
    request: pytest.FixtureRequest,
    device: gpuprims.Device,
    uploads: list[int],
    link: Link,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[gpuprims.Device]:
    """Each device with copies of host arrays, and room for 64 KiB of them; with transfers that overlap or wait."""
    if device.backend == "reference":
        pytest.skip("its arrays are host arrays")
    kind = type(device.driver)
    monkeypatch.setattr(kind, "shares_host_memory", False)
    monkeypatch.setattr(kind, "room", 64 << 10)
    monkeypatch.setattr(arrays, "_ALWAYS_ROOM", 0)
    driver = device.driver
    whole, begins = driver.asarray, getattr(driver, "begin_asarray", None)

    def asarray(array: np.ndarray) -> Any:
        uploads.append(array.nbytes)
        return whole(array)

    monkeypatch.setattr(driver, "asarray", asarray, raising=False)
    if begins is not None:
        if request.param == "waits":
            pytest.skip("its transfers overlap")
        monkeypatch.setattr(driver, "begin_asarray", lambda array: uploads.append(array.nbytes) or begins(array))
    elif request.param == "overlaps":
        monkeypatch.setattr(driver, "begin_asarray", partial(link.begin_asarray, driver), raising=False)
        monkeypatch.setattr(driver, "begin_to_host", partial(link.begin_to_host, driver), raising=False)
    yield device
    assert len(uploads) > 3, "nothing was cut"
    assert link.begun == link.finished, "an upload was left"


class Place(NamedTuple):
    """A device, and where a test's arrays are: on the host, on the host with copies to the device, or on the device."""

    device: gpuprims.Device
    given: Callable[[Any], Any]

    def host(self, result: Any) -> np.ndarray:
        """Return a result on the host."""
        return np.asarray(result if isinstance(result, np.ndarray) else self.device.driver.to_host(result))


@pytest.fixture(params=["host", "copies", "device"])
def place(request: pytest.FixtureRequest, device: gpuprims.Device, monkeypatch: pytest.MonkeyPatch) -> Place:
    """Each device with arrays of the host, with copies of these, and with its own arrays."""
    if request.param != "host" and device.backend == "reference":
        pytest.skip("its arrays are host arrays")
    if request.param == "copies":
        if not device.driver.shares_host_memory:
            pytest.skip("the same as arrays of the host")
        monkeypatch.setattr(type(device.driver), "shares_host_memory", False)
    return Place(device, device.driver.asarray if request.param == "device" else lambda array: array)
