"""gpuprims: parallel primitives for any array on any GPU, or on the CPU you already have.

The public names; each is loaded when it is first used, so that importing the package costs next to nothing and brings
in no vendor's library.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpuprims import errors, models
    from gpuprims.calls import Call
    from gpuprims.device import Capabilities, Device, devices, use_device
    from gpuprims.explanation import explain
    from gpuprims.models.hashing import hash_counts
    from gpuprims.operators import Op
    from gpuprims.plans import Plan, plan
    from gpuprims.primitives.compact import compact
    from gpuprims.primitives.histogram import bincount, histogram
    from gpuprims.primitives.map import map  # noqa: A004 - the primitive's name in every library of its kind
    from gpuprims.primitives.reduce import reduce
    from gpuprims.primitives.scan import cumprod, cumsum, scan
    from gpuprims.registration import register, unregister
    from gpuprims.registry import Variant

__version__ = "0.1.0"

__all__ = [
    "Call",
    "Capabilities",
    "Device",
    "Op",
    "Plan",
    "Variant",
    "bincount",
    "blur",
    "compact",
    "cumprod",
    "cumsum",
    "devices",
    "errors",
    "explain",
    "hash_counts",
    "histogram",
    "map",
    "models",
    "plan",
    "reduce",
    "register",
    "scan",
    "stencil",
    "unregister",
    "use_device",
]

_HOMES = {
    "Call": "calls",
    "Capabilities": "driver",
    "Device": "device",
    "Op": "operators",
    "Plan": "plans",
    "Variant": "registry",
    "bincount": "primitives.histogram",
    "blur": "primitives.blur",
    "compact": "primitives.compact",
    "cumprod": "primitives.scan",
    "cumsum": "primitives.scan",
    "devices": "device",
    "explain": "explanation",
    "hash_counts": "models.hashing",
    "histogram": "primitives.histogram",
    "map": "primitives.map",
    "plan": "plans",
    "reduce": "primitives.reduce",
    "register": "registration",
    "scan": "primitives.scan",
    "stencil": "primitives.stencil",
    "unregister": "registration",
    "use_device": "device",
}


def __getattr__(name: str) -> Any:
    if name in ("errors", "models"):
        return importlib.import_module(f"gpuprims.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'gpuprims' has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(f"gpuprims.{_HOMES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
