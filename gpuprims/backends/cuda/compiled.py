"""The facts of CuPy's arrays, and the C functions for warm calls on them, where this machine can compile C."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import Any

from gpuprims.core.c_modules import CModule
from gpuprims.core.quick_keys import KEYS
from gpuprims.core.registry import REGISTRY


def facts_of(array: Any) -> tuple[Hashable, ...]:
    """Return the facts of a ``cupy.ndarray`` that a launch plan depends on."""
    data = array.data
    # Strides along axes of one element, which contiguous arrays may have, change nothing.
    strides = None if array._c_contiguous else array.strides  # no public name is as fast
    return (array.dtype, array.shape, strides, data.ptr & 15, data.device_id)


def _prepare(calls: Any) -> None:
    for kind, tell in list(REGISTRY.facts_by_class.items()):
        if tell is facts_of:
            REGISTRY.facts_by_class[kind] = calls.facts_of


CUDA_CALLS = CModule(Path(__file__).with_name("calls.c"), _prepare)
KEYS.ask()
CUDA_CALLS.ask()
