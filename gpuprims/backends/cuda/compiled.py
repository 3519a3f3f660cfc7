"""What tells the facts of CuPy's arrays, and the functions in C for warm calls on them, where this machine has them."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from types import ModuleType
from typing import Any

from gpuprims.core.c_modules import said, use_module
from gpuprims.core.program_cache import forget_calls
from gpuprims.core.quick_keys import use_quick_keys
from gpuprims.core.registry import REGISTRY


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
        for kind, tell in list(REGISTRY.facts_by_class.items()):
            if tell is facts_of:
                REGISTRY.facts_by_class[kind] = calls.facts_of
        cls.calls = calls
        forget_calls()

    @classmethod
    def said(cls) -> str:
        """Return what runs warm calls, and why."""
        return said(_SOURCE, used=cls.calls is not None)


use_quick_keys()
use_module(_SOURCE, Compiled.use)
