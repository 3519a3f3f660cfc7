"""The calls that devices are tuned on, collected from the primitives' packages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.device import Device
from gpuprims.core.registry import REGISTRY
from gpuprims.core.traits import CallTraits
from gpuprims.core.tuning_case import TuningCase
from gpuprims.errors import NoVariantError
from gpuprims.primitives import ROOMS

_MODULES = [f"gpuprims.primitives.{room}.tuning_case" for room in ROOMS]
CASES: Mapping[str, TuningCase] = {
    case.primitive: case for case in (import_module(module).CASE for module in _MODULES if find_spec(module))
}


def traits_of(case: TuningCase, device: Device, array: Any) -> CallTraits:
    """Return the traits of the case's call on an array, by asking a variant that refuses every call."""
    asked: list[CallTraits] = []

    def refuse(capabilities: Capabilities, call: CallTraits) -> str:
        asked.append(call)
        return "refuses every call"

    refusing = replace(REGISTRY.variants(case.primitive, device.backend)[0], refuse=refuse)
    try:
        case.run(array, device=device, variant=refusing)
    except NoVariantError:
        return asked[0]
    raise TypeError(f"{case.primitive}: a call that asks its variant; got a result")
