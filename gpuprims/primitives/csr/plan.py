"""The launch plan of a product with a sparse matrix."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.kernel_spec import value_words
from gpuprims.core.launch_plan import LaunchPlan, Sample
from gpuprims.core.layout import Form, contiguous, starts_of
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.outputs import Out
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.traits import CallTraits
from gpuprims.core.variant import Variant
from gpuprims.core.variant_checks import asked_by_name
from gpuprims.expressions import TypedExpr, trace, typed
from gpuprims.primitives.csr.checks import check_arrays
from gpuprims.primitives.csr.spec import CsrSpec

_LABEL = "csr_product"
# Columns that a work-item sums at once, on GPUs of one word each and at most, and on CPUs.
_MOST_HELD, _VECTORS = 8, (1, 2, 3, 4, 8)


class CsrRequest(NamedTuple):
    """The product; the arrays say the rest."""


def bind(
    arrays: tuple[Any, ...], device: str | Device | None = None, variant: str | Variant | None = None
) -> tuple[Operands, CsrRequest, Out | None, str | Variant | None]:
    """Check elements, columns, row offsets and the dense matrix, but not where they point."""
    operands = as_operands(_LABEL, arrays, device)
    check_arrays(_LABEL, [(array.dtype, array.shape) for array in operands.natives])
    return operands, CsrRequest(), None, None if variant is None else asked_by_name(_LABEL, variant)


def product_of_nothing(operands: Operands) -> Any:
    """Return the product if it has no elements or sums nothing, else None."""
    data, _, indptr, dense = operands.natives
    shape = (indptr.shape[0] - 1, *dense.shape[1:])
    return operands.zeros(shape, np.dtype(data.dtype)) if 0 in (*data.shape, *shape) else None


@keeps_calls()
def plan_call(
    request: CsrRequest,
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
    traits = CallTraits((dtype,), -(-stored // n), n, value_bytes=dtype.itemsize)

    def compiling(chosen: Variant) -> Launch:
        layout = starts_of((*forms, result))
        columns = forms[3].shape[1] if len(forms[3].shape) > 1 else 1
        held = _held(chosen, columns, dtype)
        accesses = layout.accesses
        spec = CsrSpec(
            accesses[:4],
            accesses[4:],
            (dtype,),
            _product(dtype),
            columns=columns,
            lanes=_lanes(chosen, traits.size, device),
            held=held,
            vector_columns=held if chosen.block == 1 else 1,
        )
        tiles = -(-(stored + n) // chosen.tile) if chosen.block == 1 else -(-n * spec.lanes // chosen.block)
        groups = chosen.groups(tiles, device.capabilities)
        return device.kernel(chosen, spec).prepare(groups, layout.pack(0), n)

    return LaunchPlan(device, "csr", traits, (result,), compiling, asked=variant, inputs=range(4))


def sample(call: Sample) -> LaunchPlan:
    """Return the plan of a product with so many rows of so many elements."""
    stored, int32 = call.size * call.outputs, np.dtype(np.int32)
    arrays = (call.dtype, stored), (int32, stored), (int32, call.outputs + 1), (call.dtype, 1)
    forms = tuple(contiguous(dtype, (length,), 16) for dtype, length in arrays)
    return plan_call(CsrRequest(), forms, None, 16, call.device, None, 0)


@lru_cache(maxsize=2)
def _product(dtype: np.dtype[Any]) -> TypedExpr:
    return typed(trace(lambda element, beside: element * beside, 2), (dtype,) * 2)


def _lanes(variant: Variant, mean: int, device: Device) -> int:
    """Return how many work-items share a row of so many elements."""
    if variant.block == 1:
        return 1
    return min(1 << (mean - 1).bit_length(), device.capabilities.warp or 32, variant.block)


def _held(variant: Variant, columns: int, dtype: np.dtype[Any]) -> int:
    """Return how many columns to sum at once: on CPUs in one vector, else about equally many each time."""
    if variant.block == 1:
        return max(width for width in _VECTORS if width <= columns)
    most = _MOST_HELD // value_words((dtype,))
    return -(-columns // -(-columns // most))
