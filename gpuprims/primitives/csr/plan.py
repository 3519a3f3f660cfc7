"""The launch plan of a product with a sparse matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuprims.core.determinism import asks_for_device
from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.geometry import power_of_two
from gpuprims.core.kernel_spec import value_words
from gpuprims.core.launch_plan import LaunchPlan, Sample, nothing
from gpuprims.core.layout import Form, contiguous, starts_of
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.traits import CallTraits
from gpuprims.core.variant import Variant
from gpuprims.primitives.csr.checks import check_arrays
from gpuprims.primitives.csr.spec import TREE_LANES, CsrSpec, FixedCsrSpec, product_of
from gpuprims.primitives.csr.variants import CsrVariant
from gpuprims.primitives.rows import side_by_side

_LABEL = "csr_product"
# Most words of sums that a work-item of a GPU holds; columns that a work-item of a CPU can sum at once.
_MOST_HELD, _VECTORS = 8, (1, 2, 3, 4, 8)


def checked_operands(arrays: tuple[Any, ...], device: str | Device | None) -> Operands:
    """Return the operands of a product; raise for dtypes and shapes that do not fit, but not for wrong indices."""
    operands = as_operands(_LABEL, arrays, device)
    check_arrays(_LABEL, operands.natives)
    return side_by_side(operands)


@keeps_calls()
def plan_call(
    request: None,
    forms: tuple[Form, ...],
    written: tuple[Form, ...] | None,
    alignment: int,
    device: Device,
    variant: str | Variant | None,
    generation: int,
) -> LaunchPlan:
    """Decide everything about a product but its memory."""
    dtype, n, stored = forms[0].dtype, forms[2].shape[0] - 1, forms[0].shape[0]
    result = contiguous(dtype, (n, *forms[3].shape[1:]), alignment)
    traits = CallTraits((dtype,), -(-stored // max(n, 1)), n, value_bytes=dtype.itemsize, portable=asks_for_device())

    def compiling(chosen: Variant) -> Launch:
        if 0 in result.shape:
            return nothing
        layout = starts_of((*forms, result))
        columns = result.shape[1] if len(result.shape) > 1 else 1
        lanes = _lanes(chosen, traits.size, device)
        held = _held(chosen, columns, lanes, dtype)
        accesses = layout.accesses
        kind = FixedCsrSpec if CsrVariant.of(chosen).fixed else CsrSpec
        spec = kind(
            accesses[:4],
            accesses[4:],
            (dtype,),
            product_of(dtype),
            columns=columns,
            lanes=lanes,
            held=held,
            vector_columns=held if chosen.block == 1 else 1,
        )
        tiles = -(-(stored + n) // chosen.tile) if chosen.block == 1 else -(-n * spec.lanes // chosen.block)
        groups = chosen.groups(tiles, device.capabilities)
        return device.kernel(chosen, spec).prepare(groups, layout.pack(0), n)

    inputs = range(4) if stored else [2] * 4  # empty arrays have no memory, and kernels read no elements
    return LaunchPlan(device, "csr", traits, (result,), compiling, asked=variant, inputs=inputs)


def sample(call: Sample) -> LaunchPlan:
    """Return the plan of a product with a vector: a row for each output, ``call.size`` elements in each."""
    stored, int32 = call.size * call.outputs, np.dtype(np.int32)
    arrays = (call.dtype, stored), (int32, stored), (int32, call.outputs + 1), (call.dtype, 1)
    forms = tuple(contiguous(dtype, (length,), 16) for dtype, length in arrays)
    return plan_call(None, forms, None, 16, call.device, None, 0)


def _lanes(variant: Variant, mean: int, device: Device) -> int:
    """Return how many work-items share a row, by the mean number of elements of a row."""
    if variant.block == 1:
        return 1
    return min(power_of_two(mean), device.capabilities.warp or 32, variant.block)


def _held(variant: Variant, columns: int, lanes: int, dtype: np.dtype[Any]) -> int:
    """Return how many columns to sum at once: on CPUs a vector, on GPUs about equally many each time."""
    if variant.block == 1 and CsrVariant.of(variant).fixed:
        return 1
    if variant.block == 1:
        return max(width for width in _VECTORS if width <= columns)
    most = _MOST_HELD // value_words((dtype,))
    if CsrVariant.of(variant).fixed:  # a work-item has several lanes of the tree
        most = max(most * lanes // TREE_LANES, 1)
    return -(-columns // -(-columns // most))
