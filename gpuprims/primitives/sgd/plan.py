"""The launch plan of steps by single samples, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.counters import with_counters
from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.kernel_spec import value_words
from gpuprims.core.launch_plan import LaunchPlan, Sample, in_turn
from gpuprims.core.layout import Form
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.variant import Variant
from gpuprims.errors import ArgumentError
from gpuprims.primitives.rows import vector_of
from gpuprims.primitives.sgd.fixed import in_fixed_order
from gpuprims.primitives.sgd.steps import MOST_BLOCK, Steps, plan_steps, power, sample_steps, takes_none, up_to
from gpuprims.primitives.sgd.turns import in_turns
from gpuprims.primitives.sgd.variants import SgdVariant

_LABEL = "sgd"
# Most samples of a run: a lane keeps the score of each. Scores are folded by teams of as many work-items.
_LANES = 32
# Most 32-bit words of a run's rows and of the weights that a work-item keeps in registers.
_MOST_HELD = 144
# Registers of a multiprocessor of NVIDIA's, and those that a work-item needs for other values.
_REGISTERS, _OTHER_REGISTERS = 65_536, 24
# Most numbers of a run that a work-item has: the code has a line for each.
_MOST_WRITTEN = 1024
# Most bytes of products that one launch computes; longer calls take several rounds.
_MOST_PRODUCTS = 64 << 20
# Bytes of local memory that a kernel may declare: NVIDIA's OpenCL offers a little less than 48 KiB.
_MOST_LOCAL = 48 * 1024 - 64


class SgdRequest(NamedTuple):
    """The requested work-items for each sample, and samples of a run."""

    threads: int | None
    rows: int | None

    def __str__(self) -> str:
        return f"threads_per_datapoint={self.threads} and datapoints_per_block={self.rows}"


def as_request(threads: int | None, rows: int | None) -> SgdRequest:
    """Check the requested numbers."""
    threads = up_to(_LABEL, "threads_per_datapoint", threads, MOST_BLOCK)
    return SgdRequest(threads, up_to(_LABEL, "datapoints_per_block", rows, _LANES))


@keeps_calls()
def plan_call(
    request: SgdRequest,
    forms: tuple[Form, ...],
    written: tuple[Form, ...] | None,
    alignment: int,
    device: Device,
    variant: str | Variant | None,
    generation: int,
) -> LaunchPlan:
    """Decide everything about the steps but their memory."""

    def compiling(variant: Variant, steps: Steps) -> Launch:
        chosen = SgdVariant.of(variant)
        if chosen.takes_turns:
            return in_turns(_LABEL, steps, chosen, *request, device)
        if chosen.fixed or chosen.backend == "reference":
            takes_none(_LABEL, chosen, threads_per_datapoint=request.threads, datapoints_per_block=request.rows)
            return in_fixed_order(steps, chosen, device)
        if chosen.scratch == "products":
            return _with_products(steps, chosen, request, device)
        takes_none(_LABEL, chosen, threads_per_datapoint=request.threads, datapoints_per_block=request.rows)
        kernel = device.kernel(chosen, steps.spec(lanes=1))
        launch = kernel.prepare(1, steps.layout.pack(0), steps.total, steps.stretch)
        return with_counters(device, launch, 1)

    return plan_steps(_LABEL, compiling, forms, alignment, device, variant)


def sample(call: Sample) -> LaunchPlan:
    """Return the plan of the steps of :func:`sample_steps`."""
    return plan_call(SgdRequest(None, None), sample_steps(call), None, 16, call.device, None, 0)


def _with_products(steps: Steps, chosen: SgdVariant, asked: SgdRequest, device: Device) -> Launch:
    """Return the launches of a kernel that computes the products of samples before it steps."""
    power(_LABEL, "threads_per_datapoint", asked.threads, MOST_BLOCK)
    power(_LABEL, "datapoints_per_block", asked.rows, _LANES)
    able, packed = device.capabilities, steps.layout.pack(0)
    group = _group(steps, asked, able)
    fitted = chosen.resized(block=group.block)
    kernel = device.kernel(fitted, steps.spec(lanes=_LANES, rows=group.rows, vector=group.vector))
    runs = steps.total // steps.stretch * -(-steps.stretch // group.rows)
    each = group.rows**2 * steps.dtype.itemsize
    most = _MOST_PRODUCTS // each
    launches = []
    for first in range(0, runs, most):
        count = min(most, runs - first)
        groups = fitted.groups(count, able), 1
        launches += [kernel.prepare(groups[step], packed, steps.stretch, first, count, step) for step in (0, 1)]
    return with_counters(device, in_turn(launches), 1, min(runs, most) * each)


class _Group(NamedTuple):
    """A group that takes ``rows`` samples in a run.

    A work-item holds ``held`` columns of each row and loads ``vector`` of them at once. The group needs ``local`` bytes
    of local memory.
    """

    block: int
    rows: int
    vector: int
    held: int
    local: int


def _group(steps: Steps, asked: SgdRequest, able: Capabilities) -> _Group:
    """Return the smallest group that holds the longest runs in registers, else the last one that the request allows."""
    words, local = value_words((steps.dtype,)), min(able.local_memory, _MOST_LOCAL)
    candidates = list(_candidates(steps, asked, min(able.group_limit, MOST_BLOCK)))
    for group in candidates:
        room = min(_MOST_HELD, _REGISTERS // group.block - _OTHER_REGISTERS)
        if group.held * (group.rows + 1) * words <= room and group.local <= local:
            return group
    if not candidates:
        rule = f"a group of at most {min(able.group_limit, MOST_BLOCK)} work-items, the product of both"
        raise ArgumentError(f"{_LABEL}: {rule}; got {asked}")
    slow = candidates[-1]
    written = slow.held * slow.rows
    if written > _MOST_WRITTEN:
        rule = f"at most {_MOST_WRITTEN} numbers of a run for each work-item"
        raise ArgumentError(f"{_LABEL}: {rule}; got {written} by {asked} (more threads, or fewer datapoints)")
    if slow.local > local:
        rule = f"a group that holds a run in {local} bytes of local memory"
        raise ArgumentError(f"{_LABEL}: {rule}; got {slow.local} by {asked} (fewer of either)")
    return slow


def _candidates(steps: Steps, asked: SgdRequest, limit: int) -> Iterator[_Group]:
    """Yield the groups of up to ``limit`` work-items that the request allows, those with the longest runs first."""
    widest = vector_of(steps.layout.forms[0])
    for rows in [asked.rows] if asked.rows else [32, 16, 8, 4, 2, 1]:
        for work_items in [asked.threads * rows] if asked.threads else [32, 64, 128, 256]:
            if work_items > limit:
                continue
            block = max(work_items, _LANES)
            columns = {width: -(-steps.features // (width * block)) * width for width in (4, 2, 1) if width <= widest}
            vector = min(columns, key=columns.__getitem__)  # of the widths with the fewest columns, the widest
            # Gram matrices and sums of two runs, a value for each work-item, a tile, and the order of two runs.
            values = 2 * rows**2 + 2 * block // _LANES * rows + block + rows * (_LANES + 1)
            yield _Group(block, rows, vector, columns[vector], values * steps.dtype.itemsize + 8 * rows)
