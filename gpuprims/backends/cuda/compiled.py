"""What tells the facts of CuPy's arrays, and the functions in C for warm calls on them, where this machine has them."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from types import ModuleType
from typing import Any

from gpuprims.core.c_modules import FAILURES, use_module, why_not
from gpuprims.core.program_cache import forget_calls
from gpuprims.core.registry import REGISTRY
from gpuprims.core.warm_calls import WarmCalls, key_of_any


def facts_of(array: Any) -> tuple[Hashable, ...]:
    """Tell of a ``cupy.ndarray`` what a launch plan depends on."""
    data = array.data
    # Strides along axes of one element, which contiguous arrays may have, change nothing.
    strides = None if array._c_contiguous else array.strides  # no public name is as fast
    return (array.dtype, array.shape, strides, data.ptr & 15, data.device_id)


_SOURCE = Path(__file__).with_name("calls.c")


class Compiled:
    """The functions in C; ``calls`` is None where those in Python serve."""

    calls: Any = None

    @classmethod
    def use(cls, calls: ModuleType) -> None:
        """Use the functions from now on: for calls that are kept, too, because they are forgotten."""
        calls.use_keys(REGISTRY.facts_by_class, key_of_any)
        for kind, tell in list(REGISTRY.facts_by_class.items()):
            if tell is facts_of:
                REGISTRY.facts_by_class[kind] = calls.facts_of
        WarmCalls.key_of, WarmCalls.look_up = staticmethod(calls.key_of), staticmethod(calls.look_up)
        cls.calls = calls
        forget_calls()

    @classmethod
    def said(cls) -> str:
        """Return what runs warm calls, and why."""
        if cls.calls is not None:
            return "C"
        return f"Python ({why_not() or FAILURES.get(_SOURCE) or 'until the C compiler is done'})"


use_module(_SOURCE, Compiled.use)
