"""rle: the runs of equal neighbours in a contiguous array, by kernels that read each element once."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.launch_plan import find_plan
from gpuprims.core.operands import as_operands
from gpuprims.core.primitive import Primitive
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.registry import REGISTRY
from gpuprims.core.variant_checks import asked_by_name
from gpuprims.core.warm_calls import WarmCalls
from gpuprims.primitives.rle.plan import EncodeRequest, plan_call, sample, traits_of
from gpuprims.primitives.rle.variants import VARIANTS

__all__ = ["PRIMITIVE", "EncodeRequest", "able_to_encode", "encode_runs"]

PRIMITIVE = Primitive("rle", VARIANTS, plan_call, sample)
_WARM = WarmCalls()


def encode_runs(
    x: Any,
    *,
    values: bool = True,
    begins: bool = False,
    lengths: bool = False,
    equal_nan: bool = True,
    device: str | Device | None = None,
    variant: str | None = None,
) -> Any:
    """Find the runs of a contiguous array, in C order, and wait for their number.

    Parameters
    ----------
    x : array_like
        The array, contiguous and not empty.
    values : bool, default True
        Return the first element of each run.
    begins : bool, default False
        Return the index of the first element of each run, followed by the size, as int32 where it is large enough.
    lengths : bool, default False
        Return the length of each run, as int64; not with ``begins``.
    equal_nan : bool, default True
        True if NaN equals NaN.
    device : str or Device, optional
        Where to compute, for host arrays.
    variant : str, optional
        The kernel to use, instead of the best one.

    Returns
    -------
    array or tuple of arrays
        The wanted results, in this order.
    """
    request = EncodeRequest(values, begins, lengths, equal_nan)
    key, given, run = _WARM.find_into((request, variant), (x,), None, device)
    if run is not None:
        return run(given)
    operands = as_operands("rle", (x,), device)
    asked = None if variant is None else asked_by_name("rle", variant)
    plan = find_plan(plan_call, operands, request, None, asked)
    _WARM.keep(key, plan, operands)
    return plan.run(operands, None)


def able_to_encode(device: Device, dtype: np.dtype[Any], size: int) -> bool:
    """Return True if a kernel of a device finds the runs of such an array."""
    return size > 0 and _able(device, dtype, REGISTRY.generation)


@keeps_calls()
def _able(device: Device, dtype: np.dtype[Any], generation: int) -> bool:
    """Return True if a kernel of a device takes a dtype; to ask each variant takes 20 us."""
    return device.explain("rle", traits_of(dtype, 1)).chosen is not None
