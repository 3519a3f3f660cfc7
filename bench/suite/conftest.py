"""The device of a suite, the kernels that the options ask for, and the fixture that times a call."""

from __future__ import annotations

import functools
from typing import Any

import pytest

import gpuprims
from gpuprims.core.device import pick_device
from gpuprims.core.registry import REGISTRY
from gpuprims.errors import GpuprimsError

from ..session import device_asked_for
from .timed import Timed


@functools.cache
def _device_of(backend: str, asked: str | None) -> gpuprims.Device | str:
    """Return the device of a backend's suite, or the reason for its absence."""
    try:
        device = pick_device(None, asked or backend)
    except GpuprimsError as error:
        return str(error)
    return device if device.backend == backend else f"the device of this run is {device.spec}"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    backend = getattr(metafunc.cls, "backend", None)
    if backend is None:
        return
    device = _device_of(backend, device_asked_for(metafunc.config.getoption("--device")))
    if isinstance(device, str):
        metafunc.parametrize("device", [pytest.param(None, marks=pytest.mark.skip(reason=device), id=backend)])
    else:
        metafunc.parametrize("device", [pytest.param(device, id=device.capabilities.kind)])
    if "variant" in metafunc.fixturenames:
        metafunc.parametrize("variant", _variants(metafunc, backend))


def _params(item: pytest.Item) -> dict[str, Any]:
    callspec = getattr(item, "callspec", None)
    return callspec.params if callspec else {}


def _variants(metafunc: pytest.Metafunc, backend: str) -> list[Any]:
    """Return None, for the kernel that gpuprims chooses, or the names of kernels of the test's primitive."""
    primitive, option = metafunc.function.primitive, metafunc.config.getoption
    known = [variant.name for variant in REGISTRY.variants(primitive, backend)]
    if option("--variants"):
        return [pytest.param(None, id="chosen"), *known]
    asked = [name.removeprefix(f"{primitive}/") for name in option("--variant")]
    return [name for name in known if name in asked] if asked else [pytest.param(None, id="chosen")]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the tests of the kernels that ``--variant`` names, or raise if there are none."""
    if not (asked := config.getoption("--variant")):
        return
    kept = [item for item in items if isinstance(_params(item).get("variant"), str)]
    if not kept:
        raise pytest.UsageError(f"--variant with a kernel of the device, such as reduce/tree; got {', '.join(asked)}")
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept


@pytest.fixture
def timed(request: pytest.FixtureRequest, benchmark: Any, device: gpuprims.Device) -> Timed:
    """Return what times a call by pytest-benchmark, and the device's part of it by events."""
    option = request.config.getoption
    return Timed(benchmark, device, full=option("--full"), by_name=bool(option("--variants") or option("--variant")))
