"""Specs of devices, such as ``"cuda:0"`` or ``"cpu"``, and messages about specs that name no device."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from gpuprims.core.driver import Driver
from gpuprims.core.lifetime import after_fork
from gpuprims.core.registry import OWN_BACKENDS, REGISTRY
from gpuprims.errors import UnknownDeviceError, did_you_mean, quoted

# Specs of a kind of device, by the rule that a message says.
_KINDS = {"gpu": "a GPU, as 'gpu' or by its spec", "cpu": "a CPU, as 'cpu' or by its spec"}
# Other libraries' names.
_INSTEAD = {
    "numpy": "reference", "host": "cpu", "nvidia": "cuda", "cupy": "cuda", "intel": "opencl:intel", "amd": "opencl:amd",
    "pocl": "opencl:portable", "mps": "opencl:gpu", "metal": "opencl:gpu", "rocm": "opencl:gpu", "hip": "opencl:gpu",
    "vulkan": "opencl:gpu", "xpu": "opencl:gpu", "cl": "opencl", "pyopencl": "opencl",
}  # fmt: skip
# Drivers of this library's own backends, which find their devices once, by spec: a search takes 5 us of each call.
FOUND: dict[str, Driver] = {}
after_fork(FOUND.clear)


def find_driver(
    spec: object, label: str, find: Callable[[str], list[Driver]], best_first: Callable[[], list[Driver]]
) -> Driver:
    """Return the driver that a caller's spec names, or raise.

    Parameters
    ----------
    spec : object
        A backend, perhaps with a number, a kind or a part of a name after a colon; or a kind of device.
    label : str
        Where the spec comes from, for messages.
    find : callable
        From a backend's name to its drivers.
    best_first : callable
        Returns the drivers of all backends.
    """
    if type(spec) is str and (known := FOUND.get(spec)) is not None and not sys.is_finalizing():
        return known
    if not isinstance(spec, str):
        hint = f" (write 'cuda:{spec}' or 'opencl:{spec}')" if type(spec) is int and 0 <= spec < 100 else ""
        raise UnknownDeviceError(
            f"{label}: a Device or a spec such as 'cuda:0' or 'opencl:cpu'; got {quoted(spec)}{hint}"
        )
    driver = _search(spec, label, find, best_first)
    if driver.backend in OWN_BACKENDS and len(REGISTRY.backend_names) == len(OWN_BACKENDS):
        FOUND[spec] = driver
    return driver


def _search(
    spec: str, label: str, find: Callable[[str], list[Driver]], best_first: Callable[[], list[Driver]]
) -> Driver:
    """Return the driver that a string names, or raise."""
    name, _, selector = spec.strip().lower().partition(":")
    if name in _KINDS and name not in REGISTRY.backend_names:
        drivers = [one for one in best_first() if one.capabilities.kind == name]
        if drivers and not selector:
            return drivers[0]
        found = f"where gpuprims finds {_listed(drivers)} (gpuprims info tells why)"
        raise UnknownDeviceError(f"{label}: {_KINDS[name]}; got {quoted(spec)} {found}")
    if name not in REGISTRY.backend_names:
        known = (*_KINDS, *REGISTRY.backend_names)
        rest = f":{selector}" if selector else ""
        corrected = [f"{one}{rest}" for one in (REGISTRY.backend_names if rest else known)]
        hint = did_you_mean(spec, corrected, _INSTEAD) or did_you_mean(name, known, _INSTEAD)
        raise UnknownDeviceError(
            f"{label}: one of {', '.join(known)}, or such as 'opencl:cpu'; got {quoted(spec)}{hint}"
        )
    drivers = find(name)
    for driver in drivers:
        able = driver.capabilities
        if selector.isdecimal():
            if len(selector) < 10 and driver.index == int(selector):  # int refuses thousands of digits
                return driver
        elif selector == able.kind or selector in able.vendor.lower() or selector in able.name.lower():
            return driver
    raise UnknownDeviceError(f"{label}: one of {_listed(drivers)}; got {quoted(spec)}")


def _listed(drivers: Sequence[Driver]) -> str:
    named = [f"{d.backend}:{d.index} ({d.capabilities.kind}, {d.capabilities.name})" for d in drivers]
    return ", ".join(named) or "none on this machine"
