"""Fixtures of tests of warm calls: where arrays lie, and whether calls are found again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gpuprims
from gpuprims.core.warm_calls import WarmCalls


@pytest.fixture(params=["on the device", "in place"])
def there(device: gpuprims.Device, request: pytest.FixtureRequest) -> Iterator[Callable[[np.ndarray], Any]]:
    """Copy a host array to a device whose arrays are of a class of its own; or use it where a device shares memory."""
    if request.param == "in place":
        if not device.driver.shares_host_memory:
            pytest.skip("has memory of its own")
        with gpuprims.use_device(device):
            yield lambda array: array.copy()
    elif device.backend == "reference":
        pytest.skip("has no arrays of its own")
    else:
        yield device.driver.asarray


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Collect for each lookup whether an earlier call is found."""
    seen: list[bool] = []
    find, find_into = WarmCalls.find, WarmCalls.find_into

    def watched(self: WarmCalls, key: Any) -> Any:
        run = find(self, key)
        seen.append(run is not None)
        return run

    def watched_into(self: WarmCalls, *given: Any, **how: Any) -> Any:
        found = find_into(self, *given, **how)
        seen.append(found[-1] is not None)
        return found

    monkeypatch.setattr(WarmCalls, "find", watched)
    monkeypatch.setattr(WarmCalls, "find_into", watched_into)
    return seen
