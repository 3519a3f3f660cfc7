"""The launch plan of a product with a sparse matrix."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.kernel_spec import KernelSpec, value_words
from gpuprims.core.launch_plan import LaunchPlan, Sample, nothing
from gpuprims.core.layout import Form, contiguous, starts_of
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.traits import CallTraits
from gpuprims.core.variant import Variant
from gpuprims.expressions import TypedExpr, c_type, trace, typed
from gpuprims.primitives.csr.checks import check_arrays
from gpuprims.primitives.rows import power_of_two, side_by_side

_LABEL = "csr_product"
# Most words of sums that a work-item of a GPU holds; columns that a work-item of a CPU can sum at once.
_MOST_HELD, _VECTORS = 8, (1, 2, 3, 4, 8)


@dataclass(frozen=True, eq=False, kw_only=True)
class CsrSpec(KernelSpec):
    """Macros for the product of a CSR matrix and a dense one; ``map`` multiplies an element of each."""

    columns: int  # of the dense matrix and of the product
    lanes: int  # neighbouring work-items that share a row
    held: int  # columns that a work-item sums at once
    vector_columns: int  # columns that it sums in one OpenCL vector

    maps: ClassVar[bool] = False
    lifts_constants: ClassVar[bool] = False
    exchanges: ClassVar[bool] = True

    def macros(self) -> dict[str, int | str]:
        """Define the columns, and how work-items share the product."""
        return {"COLUMNS": self.columns, "LANES": self.lanes, "HELD": self.held}

    def text(self) -> list[str]:
        """Write the type of sums."""
        number = c_type(self.values[0])
        summed = f"VECTOR_OF({number}, {self.vector_columns})" if self.vector_columns > 1 else number
        return [f"typedef {summed} sum_t;"]

    def headers(self) -> tuple[Path, ...]:
        """See :class:`KernelSpec`."""
        return (Path(__file__).parent / "kernels" / "sparse.h",)


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
    traits = CallTraits((dtype,), -(-stored // max(n, 1)), n, value_bytes=dtype.itemsize)

    def compiling(chosen: Variant) -> Launch:
        if 0 in result.shape:
            return nothing
        layout = starts_of((*forms, result))
        columns = result.shape[1] if len(result.shape) > 1 else 1
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

    inputs = range(4) if stored else [2] * 4  # empty arrays have no memory, and kernels read no elements
    return LaunchPlan(device, "csr", traits, (result,), compiling, asked=variant, inputs=inputs)


def sample(call: Sample) -> LaunchPlan:
    """Return the plan of a product with a vector: a row for each output, ``call.size`` elements in each."""
    stored, int32 = call.size * call.outputs, np.dtype(np.int32)
    arrays = (call.dtype, stored), (int32, stored), (int32, call.outputs + 1), (call.dtype, 1)
    forms = tuple(contiguous(dtype, (length,), 16) for dtype, length in arrays)
    return plan_call(None, forms, None, 16, call.device, None, 0)


@lru_cache(maxsize=2)
def _product(dtype: np.dtype[Any]) -> TypedExpr:
    return typed(trace(lambda element, beside: element * beside, 2), (dtype,) * 2)


def _lanes(variant: Variant, mean: int, device: Device) -> int:
    """Return how many work-items share a row, by the mean number of elements of a row."""
    if variant.block == 1:
        return 1
    return min(power_of_two(mean), device.capabilities.warp or 32, variant.block)


def _held(variant: Variant, columns: int, dtype: np.dtype[Any]) -> int:
    """Return how many columns to sum at once: on CPUs a vector, on GPUs about equally many each time."""
    if variant.block == 1:
        return max(width for width in _VECTORS if width <= columns)
    most = _MOST_HELD // value_words((dtype,))
    return -(-columns // -(-columns // most))
