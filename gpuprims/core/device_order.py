"""The order of devices, and the specs that name them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.driver import Driver
from gpuprims.core.registry import REGISTRY

# Backends that must be asked for by name: calls are not made to compute with NumPy.
_BY_NAME_ONLY = frozenset({"reference"})


def automatic_backends() -> list[str]:
    """Return the names of backends whose devices a call may get unasked."""
    return [name for name in REGISTRY.backend_names if name not in _BY_NAME_ONLY]


def matches(driver: Driver, selector: str) -> bool:
    """Return True if the part of a spec behind the colon names a driver: its number, kind, or part of a name."""
    able = driver.capabilities
    if not selector or selector.isdecimal():
        return not selector or (len(selector) < 10 and driver.index == int(selector))  # int refuses thousands of digits
    return selector == able.kind or selector in able.vendor.lower() or selector in able.name.lower()


def preference(driver: Driver) -> tuple[int, int, int]:
    """Return the sort key of a driver: CUDA first, CPUs last."""
    kinds = {"gpu": 0, "accelerator": 1, "cpu": 3}  # and whatever else a third party's devices are, before CPUs
    return (driver.backend != "cuda", kinds.get(driver.capabilities.kind, 2), driver.index)


def listed(drivers: Sequence[Driver]) -> str:
    """Return drivers in words, for messages."""
    names = [f"{d.backend}:{d.index} ({d.capabilities.kind}, {d.capabilities.name})" for d in drivers]
    return ", ".join(names) or "none on this machine"


class _Capable(Protocol):
    @property
    def capabilities(self) -> Capabilities: ...


def remedy(device: _Capable) -> str:
    """Return the one command that mends a device that is listed but does not compute."""
    if "portable computing" in device.capabilities.vendor.lower():
        return "to mend it: pip uninstall -y pocl-binary-distribution && pip install 'gpuprims[cpu]'"
    return "to mend it: update its driver"
