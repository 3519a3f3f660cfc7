"""The calls that devices are tuned on, collected from the primitives' packages."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from gpuprims.core.device import Device
from gpuprims.core.plans import bind_call
from gpuprims.core.traits import CallTraits
from gpuprims.core.tuning_case import TuningCase
from gpuprims.primitives import ROOMS

_MODULES = [f"gpuprims.primitives.{name}.tuning_case" for name in ROOMS]
CASES: Mapping[str, TuningCase] = {
    case.primitive: case for case in (import_module(module).CASE for module in _MODULES if find_spec(module))
}


def traits_of(case: TuningCase, device: Device, array: Any) -> CallTraits:
    """Return the traits of the case's call on an array."""
    return bind_call(case.primitive, case.arguments(array), {"device": device})[3].traits
