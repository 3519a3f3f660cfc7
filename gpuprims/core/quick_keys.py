"""Keys of warm calls in C, where this machine has a C compiler; each backend asks for them when it is first used."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from types import ModuleType

from gpuprims.core.c_modules import use_module
from gpuprims.core.device import DEFAULT, pick_device
from gpuprims.core.program_cache import forget_calls
from gpuprims.core.registry import REGISTRY
from gpuprims.core.warm_calls import WarmCalls, key_of_any
from gpuprims.expressions.expr import COMPUTABLE

_SOURCE = Path(__file__).with_name("keys.c")


@cache
def use_quick_keys() -> None:
    """Make keys in C from now on, or once the compiler is done."""
    use_module(_SOURCE, _use)


def _use(keys: ModuleType) -> None:
    keys.use_keys(REGISTRY.facts_by_class, key_of_any, pick_device, DEFAULT, tuple(COMPUTABLE))
    WarmCalls.key_of, WarmCalls.look_up = staticmethod(keys.key_of), staticmethod(keys.look_up)
    forget_calls()
