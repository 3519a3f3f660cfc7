"""gpuprims: parallel primitives for any array on any GPU, or on the CPU you already have.

The public names; each is loaded when it is first used, so that importing the package costs next to nothing and brings
in no vendor's library.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpuprims import errors, models
    from gpuprims.core.capabilities import Capabilities
    from gpuprims.core.device import Device, devices
    from gpuprims.core.explain import explain
    from gpuprims.core.geometry import Geometry
    from gpuprims.core.plans import Plan, plan
    from gpuprims.core.primitive import Primitive
    from gpuprims.core.registry import register, unregister
    from gpuprims.core.traits import CallTraits
    from gpuprims.core.use_device import use_device
    from gpuprims.core.variant import Variant
    from gpuprims.models.spam.hashing import hash_counts
    from gpuprims.operators import Op
    from gpuprims.primitives.compact import compact
    from gpuprims.primitives.histogram import bincount, histogram
    from gpuprims.primitives.map import map  # noqa: A004 - the primitive's name in every library of its kind
    from gpuprims.primitives.reduce import reduce
    from gpuprims.primitives.scan import cumprod, cumsum, scan

__version__ = "0.1.0"

__all__ = [
    "Call",
    "CallTraits",
    "Capabilities",
    "Device",
    "Geometry",
    "Op",
    "Plan",
    "Primitive",
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
    "Call": "core.traits",
    "CallTraits": "core.traits",
    "Capabilities": "core.capabilities",
    "Device": "core.device",
    "Geometry": "core.geometry",
    "Op": "operators",
    "Plan": "core.plans",
    "Primitive": "core.primitive",
    "Variant": "core.variant",
    "bincount": "primitives.histogram",
    "blur": "primitives.stencil.blur",
    "compact": "primitives.compact",
    "cumprod": "primitives.scan",
    "cumsum": "primitives.scan",
    "devices": "core.device",
    "explain": "core.explain",
    "hash_counts": "models.spam.hashing",
    "histogram": "primitives.histogram",
    "map": "primitives.map",
    "plan": "core.plans",
    "reduce": "primitives.reduce",
    "register": "core.registry",
    "scan": "primitives.scan",
    "stencil": "primitives.stencil",
    "unregister": "core.registry",
    "use_device": "core.use_device",
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
