"""The launch plan of steps by single samples, several at the same time."""

from __future__ import annotations

from typing import NamedTuple

from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.launch_plan import LaunchPlan, Sample, in_turn, with_counters
from gpuprims.core.layout import Form
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.variant import Variant
from gpuprims.errors import ArgumentError, quoted
from gpuprims.primitives.sgd.arrays import MOST_BLOCK, SgdForms, power, sample_steps, takes_none, whole

_LABEL = "hogwild"


class HogwildRequest(NamedTuple):
    """The work-items for a sample and the samples at a time that the caller asks for."""

    threads: int | None
    workers: int | None


def as_request(threads: int | None, workers: int | None) -> HogwildRequest:
    """Check the caller's work-items and workers."""
    threads = power(_LABEL, "threads_per_datapoint", threads, MOST_BLOCK)
    if workers is not None and not whole(workers):
        raise ArgumentError(f"{_LABEL}: workers= one or more; got {quoted(workers)}")
    return HogwildRequest(threads, workers)


@keeps_calls()
def plan_call(
    request: HogwildRequest,
    forms: tuple[Form, ...],
    written: tuple[Form, ...] | None,
    alignment: int,
    device: Device,
    variant: str | Variant | None,
    generation: int,
) -> LaunchPlan:
    """Decide everything about the steps but their memory."""
    arrays, able = SgdForms(forms, alignment), device.capabilities
    threads, workers = request

    def compiling(chosen: Variant) -> Launch:
        if device.backend == "reference":
            takes_none(_LABEL, chosen, threads_per_datapoint=threads, workers=workers)
        lanes = threads or (chosen.block if able.kind == "gpu" else 1)
        block = 1 if lanes == 1 and able.kind != "gpu" else max(lanes, chosen.block)
        if block > able.group_limit:
            raise ArgumentError(f"{_LABEL}: threads_per_datapoint= up to {able.group_limit}; got {threads}")
        fitted, packed = chosen.resized(block=block), arrays.layout.pack(0)
        kernel = device.kernel(fitted, arrays.spec(lanes=lanes))
        count = workers or _workers(chosen, arrays, device)
        groups = fitted.groups(-(-arrays.result.shape[0] // block), able), -(-count // (block // lanes))
        numbers = arrays.steps, arrays.stretch, count
        launches = [kernel.prepare(groups[part], packed, *numbers, part) for part in (0, 1)]
        return with_counters(device, in_turn(launches), 1)

    return LaunchPlan(
        device, _LABEL, arrays.traits, (arrays.result,), compiling, asked=variant, inputs=range(len(forms))
    )


def sample(call: Sample) -> LaunchPlan:
    """Return the plan of so many steps."""
    return plan_call(HogwildRequest(None, None), sample_steps(call), None, 16, call.device, None, 0)


def _workers(variant: Variant, arrays: SgdForms, device: Device) -> int:
    """Return how many samples to work on at once: no more than a small part of all there are."""
    able = device.capabilities
    most = able.compute_units * (variant.groups_per_unit or 1) if able.kind == "gpu" else able.compute_units
    return max(min(most, arrays.samples // variant.items), 1)
