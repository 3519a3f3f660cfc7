"""Bins between the smallest and the largest element, which kernels find: the host need not wait for them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.kernel_spec import Dtype
from gpuprims.core.layout import Form
from gpuprims.core.operands import Operands
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.registry import REGISTRY
from gpuprims.operators import as_map, make_folding
from gpuprims.primitives.fold import plan_fold
from gpuprims.primitives.histogram.binning import Table, key_dtype
from gpuprims.primitives.histogram.bins import ends
from gpuprims.primitives.histogram.elements import in_memory_order
from gpuprims.primitives.histogram.spec import edge_dtype

# Kernels find cells by float32, and count to this in float16. With more bins, the host finds them (rows: sought).
_MOST_BINS, _MOST_OF_HALVES = 2**16, 2**11
# A table begins with two words: the smallest and the largest element, as keys.
_WORD, BOUNDS = 8, 16


def sought(operands: Operands, bins: int) -> Table | None:
    """Return the table of bins between the bounds of a call's elements, or None if the host must find these."""
    array, able = operands.natives[0], operands.device.capabilities
    if operands.on_host or array.dtype.kind not in "iuf" or not array.size or not able.fp64:
        return None
    most = _MOST_OF_HALVES if _is_half(array.dtype) else _MOST_BINS
    return sought_table(array.dtype, bins) if 0 < bins <= most else None


@lru_cache(maxsize=64)
def sought_table(dtype: Dtype, bins: int) -> Table:
    """Return the table of bins between the bounds of elements of a dtype."""
    zero, edges = np.zeros((), np.uint32), np.broadcast_to(np.zeros((), edge_dtype(dtype)), (bins + 1,))
    # Thresholds of float16 take two entries of a guide each, in the kernel's local memory.
    guide = np.broadcast_to(zero, 2 * (bins + 1) if _is_half(dtype) else 0)
    return Table("sought", bins, zero[None], zero[None], guide, edges)


def _is_half(dtype: Dtype) -> bool:
    return dtype.kind == "f" and dtype.itemsize == 2


def start_bounds(operands: Operands) -> Any:
    """Start the kernel that finds the smallest and the largest element, and return their memory."""
    _, (elements, *_) = operands.placed or operands.place()
    bounds = operands.driver.scratch(BOUNDS)
    find_bounds(operands)([elements, bounds, bounds])
    return bounds


def find_bounds(operands: Operands) -> Launch:
    """Look up the fold that finds the smallest and the largest element, or compile it."""
    (form, *_), _ = operands.placed or operands.place()
    return launch_of_bounds(form, operands.alignment, operands.device, REGISTRY.generation)


@keeps_calls()
def launch_of_bounds(form: Form, alignment: int, device: Device, generation: int) -> Launch:
    """Return a fold that stores the smallest and the largest element as keys."""
    folding = make_folding(ends(key_dtype(form.dtype)), as_map("reduce", None, 1), (form.dtype,), None)
    axes = tuple(range(len(form.shape)))
    (form,) = in_memory_order((form,), axes)
    places = [Form(folding.outputs[0], (), (), k * _WORD, alignment) for k in range(2)]
    return plan_fold(device, (form,), places, folding, form.shape, axes, commutative=True).compiled()
