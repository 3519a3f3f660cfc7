"""The launch plan of steps by single samples, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.kernel_spec import value_words
from gpuprims.core.launch_plan import LaunchPlan, Sample, in_turn, with_counters
from gpuprims.core.layout import Form
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.variant import Variant
from gpuprims.errors import ArgumentError
from gpuprims.primitives.rows import vector_of
from gpuprims.primitives.sgd.arrays import MOST_BLOCK, SgdForms, power, sample_steps, takes_none
from gpuprims.primitives.sgd.variants import SgdVariant

_LABEL = "sgd"
# Most samples of a run: a lane keeps the score of each. Work-items fold scores in teams of as many.
_LANES = 32
# Numbers of 32 bits that a work-item has of a run's rows and of the weights, so that all stay in registers.
_MOST_HELD = 144
# Registers of a multiprocessor of NVIDIA's, and those of a work-item that are for anything else.
_REGISTERS, _OTHER_REGISTERS = 65_536, 24
# Numbers of a run that a work-item has where they do not: the steps are written out for each.
_MOST_WRITTEN = 1024
# Bytes of products that are computed before steps are taken; more steps go in several rounds.
_MOST_PRODUCTS = 64 << 20
# Bytes of local memory that kernels declare: NVIDIA's OpenCL lends not quite all of 48 KiB.
_MOST_LOCAL = 48 * 1024 - 64


class SgdRequest(NamedTuple):
    """The work-items and samples of a group that the caller asks for."""

    threads: int | None
    rows: int | None

    def __str__(self) -> str:
        return f"threads_per_datapoint={self.threads} and datapoints_per_block={self.rows}"


def as_request(threads: int | None, rows: int | None) -> SgdRequest:
    """Check the caller's work-items and samples of a group."""
    threads = power(_LABEL, "threads_per_datapoint", threads, MOST_BLOCK)
    return SgdRequest(threads, power(_LABEL, "datapoints_per_block", rows, _LANES))


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
    arrays = SgdForms(forms, alignment)

    def compiling(variant: Variant) -> Launch:
        chosen = SgdVariant.of(variant)
        if chosen.scratch == "products":
            return _with_products(arrays, chosen, request, device)
        takes_none(_LABEL, chosen, threads_per_datapoint=request.threads, datapoints_per_block=request.rows)
        kernel = device.kernel(chosen, arrays.spec(lanes=1))
        launch = kernel.prepare(1, arrays.layout.pack(0), arrays.steps, arrays.stretch)
        return with_counters(device, launch, 1)

    return LaunchPlan(
        device, _LABEL, arrays.traits, (arrays.result,), compiling, asked=variant, inputs=range(len(forms))
    )


def sample(call: Sample) -> LaunchPlan:
    """Return the plan of so many steps."""
    return plan_call(SgdRequest(None, None), sample_steps(call), None, 16, call.device, None, 0)


def _with_products(arrays: SgdForms, chosen: SgdVariant, asked: SgdRequest, device: Device) -> Launch:
    """Fix the launches of a kernel for which products of samples are computed before it steps."""
    able, packed = device.capabilities, arrays.layout.pack(0)
    group = _group(arrays, asked, able)
    fitted = chosen.resized(block=group.block)
    kernel = device.kernel(fitted, arrays.spec(lanes=_LANES, rows=group.rows, vector=group.vector(arrays)))
    runs = arrays.stretches * -(-arrays.stretch // group.rows)
    each = group.rows**2 * arrays.dtype.itemsize
    most = _MOST_PRODUCTS // each
    launches = []
    for first in range(0, runs, most):
        count = min(most, runs - first)
        groups = fitted.groups(count, able), 1
        launches += [kernel.prepare(groups[step], packed, arrays.stretch, first, count, step) for step in (0, 1)]
    return with_counters(device, in_turn(launches), 1, min(runs, most) * each)


class _Group(NamedTuple):
    """How many work-items a group has, and how many samples a run."""

    block: int
    rows: int

    def local_bytes(self, item: int) -> int:
        """Return the bytes of Gram matrices, sums, a value for each work-item, a tile, and two runs' order."""
        matrices, sums = 2 * self.rows**2, 2 * self.block // _LANES * self.rows
        return (matrices + sums + self.block + self.rows * (_LANES + 1)) * item + 8 * self.rows

    def vector(self, arrays: SgdForms) -> int:
        """Return how many columns a work-item reads at once: no more than leave all of them as few as can be."""
        widths = [1 << k for k in range(vector_of(arrays.forms[0]).bit_length())]
        return min(reversed(widths), key=lambda width: self._columns(arrays, width))

    def held(self, arrays: SgdForms) -> int:
        """Return how many columns of each row a work-item has."""
        return self._columns(arrays, self.vector(arrays))

    def _columns(self, arrays: SgdForms, vector: int) -> int:
        return -(-arrays.features // (vector * self.block)) * vector


def _group(arrays: SgdForms, asked: SgdRequest, able: Capabilities) -> _Group:
    """Return the smallest group that holds the longest runs in registers, or else the one that the caller asks for."""
    words, local = value_words((arrays.dtype,)), min(able.local_memory, _MOST_LOCAL)
    candidates = list(_candidates(asked, min(able.group_limit, MOST_BLOCK)))
    for group in candidates:
        room = min(_MOST_HELD, _REGISTERS // group.block - _OTHER_REGISTERS)
        fits = group.held(arrays) * (group.rows + 1) * words <= room
        if fits and group.local_bytes(arrays.dtype.itemsize) <= local:
            return group
    if not candidates:
        rule = f"a group of {min(able.group_limit, MOST_BLOCK)} work-items at most, the product of both"
        raise ArgumentError(f"{_LABEL}: {rule}; got {asked}")
    slow = candidates[-1]
    written, needed = slow.held(arrays) * slow.rows, slow.local_bytes(arrays.dtype.itemsize)
    if written > _MOST_WRITTEN:
        rule = f"{_MOST_WRITTEN} numbers of a run at most for a work-item"
        raise ArgumentError(f"{_LABEL}: {rule}; got {written} by {asked} (more threads, or fewer datapoints)")
    if needed > local:
        rule = f"a group that holds a run in {local} bytes of local memory"
        raise ArgumentError(f"{_LABEL}: {rule}; got {needed} by {asked} (fewer of either)")
    return slow


def _candidates(asked: SgdRequest, limit: int) -> Iterator[_Group]:
    """Yield groups, those of the longest runs first."""
    for rows in [asked.rows] if asked.rows else [32, 16, 8, 4, 2, 1]:
        blocks = [asked.threads * rows] if asked.threads else [32, 64, 128, 256]
        yield from (_Group(max(block, _LANES), rows) for block in blocks if block <= limit)
