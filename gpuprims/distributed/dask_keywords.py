"""Keywords that calls on Dask arrays take and refuse."""

from __future__ import annotations

from typing import Any, NoReturn

from gpuprims.core.device import Device
from gpuprims.errors import ArgumentError, quoted


def plain_device(label: str, how: dict[str, Any], *taken: str) -> str | None:
    """Refuse keywords that calls on chunks do not take; return the spec of ``device=``."""
    for name, given in how.items():
        if name not in ("device", *taken) and given is not None:
            _refuse(label, name, given)
    device = how["device"]
    return device.spec if isinstance(device, Device) else device


def _refuse(label: str, name: str, given: Any) -> NoReturn:
    raise ArgumentError(f"{label} of Dask arrays: no {name}=, because results are new lazy arrays; got {quoted(given)}")
