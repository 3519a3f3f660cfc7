"""runs: the runs of equal neighbours, by kernels of one pass."""

from __future__ import annotations

from typing import Any

from gpuprims.core.device import Device
from gpuprims.core.launch_plan import find_plan
from gpuprims.core.operands import as_operands
from gpuprims.core.primitive import Primitive
from gpuprims.core.variant_checks import asked_by_name
from gpuprims.primitives.runs.plan import RunsRequest, plan_call, sample
from gpuprims.primitives.runs.variants import VARIANTS

__all__ = ["PRIMITIVE", "RunsRequest", "runs_of"]

PRIMITIVE = Primitive("runs", VARIANTS, plan_call, sample)


def runs_of(
    x: Any,
    *,
    values: bool = True,
    begins: bool = False,
    lengths: bool = False,
    equal_nan: bool = True,
    device: str | Device | None = None,
    variant: str | None = None,
) -> Any:
    """Return what is wanted of the runs of a contiguous array; see :class:`RunsRequest`."""
    operands = as_operands("runs", (x,), device)
    asked = None if variant is None else asked_by_name("runs", variant)
    return find_plan(plan_call, operands, RunsRequest(values, begins, lengths, equal_nan), None, asked).run(
        operands, None
    )
