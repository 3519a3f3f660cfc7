"""The calls that devices are tuned on, collected from the primitives' packages."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from gpuprims.core.device import Device
from gpuprims.core.launch_plan import find_plan
from gpuprims.core.registry import REGISTRY
from gpuprims.core.traits import CallTraits
from gpuprims.core.tuning_case import TuningCase

_FOUND = {name: REGISTRY.primitive(name) for name in REGISTRY.primitive_names}
_TUNED = {name: found for name, found in _FOUND.items() if found and found.tuning_case and found.bind}
PRIMITIVES = tuple(_TUNED)


@cache
def case_of(primitive: str) -> TuningCase:
    """Return the case of one of ``PRIMITIVES``."""
    case: TuningCase = import_module(str(_TUNED[primitive].tuning_case)).CASE
    return case


def traits_of(case: TuningCase, device: Device, array: Any) -> CallTraits:
    """Return the traits of the case's call on an array."""
    primitive = _TUNED[case.primitive]
    assert primitive.bind is not None  # noqa: S101 - for mypy
    operands, request, out, variant = primitive.bind(case.arguments(array), device=device)
    return find_plan(primitive.plan_call, operands, request, out, variant).traits
