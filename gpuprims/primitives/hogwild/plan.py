"""The launch plan of steps by single samples, several at the same time."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, NamedTuple

from gpuprims.core.counters import with_counters
from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.launch_plan import LaunchPlan, Sample, in_turn
from gpuprims.core.layout import Form
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.variant import Variant
from gpuprims.errors import ArgumentError, quoted
from gpuprims.primitives.sgd.steps import MOST_BLOCK, SgdSpec, Steps, plan_steps, power, sample_steps, takes_none, whole

_LABEL = "hogwild"


class HogwildSpec(SgdSpec):
    """Macros and functions for workers that share the weights."""

    own_headers: ClassVar[tuple[Path, ...]] = (*SgdSpec.own_headers, Path(__file__).parent / "kernels" / "walk.h")


class HogwildRequest(NamedTuple):
    """The requested work-items for each sample, and samples at a time."""

    threads: int | None
    workers: int | None


def as_request(threads: int | None, workers: int | None) -> HogwildRequest:
    """Check the requested numbers."""
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
    able, (threads, workers) = device.capabilities, request

    def compiling(chosen: Variant, steps: Steps) -> Launch:
        if device.backend == "reference":
            takes_none(_LABEL, chosen, threads_per_datapoint=threads, workers=workers)
        lanes = threads or (chosen.block if able.kind == "gpu" else 1)
        block = 1 if lanes == 1 and able.kind != "gpu" else max(lanes, chosen.block)
        if block > able.group_limit:
            raise ArgumentError(f"{_LABEL}: threads_per_datapoint= up to {able.group_limit}; got {threads}")
        fitted, packed = chosen.resized(block=block), steps.layout.pack(0)
        kernel = device.kernel(fitted, steps.spec(HogwildSpec, lanes=lanes))
        count = workers or _workers(chosen, steps, device)
        groups = fitted.groups(-(-forms[2].shape[0] // block), able), -(-count // (block // lanes))
        numbers = steps.total, steps.stretch, count
        launches = [kernel.prepare(groups[part], packed, *numbers, part) for part in (0, 1)]
        return with_counters(device, in_turn(launches), 1)

    return plan_steps(_LABEL, compiling, forms, alignment, device, variant)


def sample(call: Sample) -> LaunchPlan:
    """Return the plan of the steps of :func:`sample_steps`."""
    return plan_call(HogwildRequest(None, None), sample_steps(call), None, 16, call.device, None, 0)


def _workers(variant: Variant, steps: Steps, device: Device) -> int:
    """Return how many samples to work on at once: as many as run, but only a small part of all samples."""
    able = device.capabilities
    most = able.compute_units * (variant.groups_per_unit or 1) if able.kind == "gpu" else able.compute_units
    return max(min(most, steps.samples // variant.items), 1)
