"""The calls that devices are tuned on, collected from the primitives' packages."""

from __future__ import annotations

from typing import Any

from gpuprims.core.device import Device
from gpuprims.core.plans import bind_call
from gpuprims.core.registry import REGISTRY
from gpuprims.core.traits import CallTraits
from gpuprims.core.tuning_case import TuningCase

_FOUND = {name: REGISTRY.primitive(name) for name in REGISTRY.primitive_names}
_TUNED = {name: found for name, found in _FOUND.items() if found and found.tuned and found.tuning_case}
PRIMITIVES = tuple(_TUNED)


def case_of(primitive: str) -> TuningCase:
    """Return the case of one of ``PRIMITIVES``."""
    case = _TUNED[primitive].case
    if case is None:
        raise KeyError(primitive)
    return case


def traits_of(case: TuningCase, device: Device, array: Any) -> CallTraits:
    """Return the traits of the case's call on an array."""
    return bind_call(case.primitive, case.arguments(array), {"device": device})[3].traits
