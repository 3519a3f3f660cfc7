"""Keys of warm calls in C, where this machine has a C compiler; each backend asks for them when it is first used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gpuprims.core.c_modules import CModule
from gpuprims.core.call_keys import key_of_any
from gpuprims.core.device import DEFAULT, Device, pick_device
from gpuprims.core.device_specs import FOUND
from gpuprims.core.registry import REGISTRY
from gpuprims.core.warm_calls import WarmCalls
from gpuprims.expressions.expr import COMPUTABLE


def _prepare(keys: Any) -> None:
    found = FOUND, Device, Device._known
    keys.use_keys(REGISTRY.facts_by_class, key_of_any, pick_device, DEFAULT, tuple(COMPUTABLE), *found)
    WarmCalls.key_of, WarmCalls.look_up = staticmethod(keys.key_of), staticmethod(keys.look_up)


KEYS = CModule(Path(__file__).with_name("keys.c"), _prepare)
WarmCalls.ask = staticmethod(KEYS.ask)
