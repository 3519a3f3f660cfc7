"""The launches of selections, by variant."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from gpuprims.core.counters import with_counters, with_scratch
from gpuprims.core.driver import Launch
from gpuprims.core.launch_plan import in_turn
from gpuprims.primitives.ordering import DIGIT_BITS, STATE_BYTES, digits, order_bits
from gpuprims.primitives.selection.sampled import launch_sampled
from gpuprims.primitives.selection.spec import CpuRowsSpec, LanesSpec, RowsSpec, SelectionSpec
from gpuprims.primitives.selection.work import Work

# As in selection_radix.cl.
_CLEAR, _DIGIT, _STORE = range(3)
# Elements of a row that one work-item of a CPU takes.
_CPU_PART = 1 << 14


def launch_of(work: Work) -> Launch:
    """Return the launches of a selection by its variant."""
    if not isinstance(work.variant.source, Path):
        return _launch_whole(work)
    return _LAUNCHES.get(work.variant.name, _launch_radix)(work)


def _launch_whole(work: Work) -> Launch:
    """Return the launch of the reference, which computes all in one function."""
    return work.kernel(SelectionSpec).prepare(1, work.layout.pack(0), work.rows.outputs, work.rows.n)


def _launch_cpu_rows(work: Work) -> Launch:
    """Return the launch of selection/cpu_rows; each group has scratch memory for a row."""
    (outputs, n, _), groups = work.rows, work.groups(work.rows.outputs)
    launch = work.kernel(CpuRowsSpec).prepare(groups, work.layout.pack(0), outputs, n)
    return with_scratch(work.device, launch, groups * n * (8 if order_bits(work.dtype) > 32 else 4))


def _launch_lanes(work: Work) -> Launch:
    """Return the launch of selection/lanes: a row for each work-item."""
    outputs, n, _ = work.rows
    kernel = work.kernel(LanesSpec, length=n)
    return kernel.prepare(work.groups(-(-outputs // work.variant.block)), work.layout.pack(0), outputs, n)


def _launch_sorted(work: Work) -> Launch:
    """Return the launch of selection/sorted: a row for each work-item."""
    outputs, n, _ = work.rows
    groups = work.groups(-(-outputs // work.variant.block))
    return work.kernel(RowsSpec).prepare(groups, work.layout.pack(0), outputs, n)


def _launch_rows(work: Work) -> Launch:
    """Return the launch of selection/rows: a row for each group."""
    outputs, n, _ = work.rows
    return work.kernel(RowsSpec).prepare(work.groups(outputs), work.layout.pack(0), outputs, n)


def _launch_sampled(work: Work) -> Launch:
    """Return the launches of selection/sampled."""
    return launch_sampled(_counting(work))


def _launch_radix(work: Work) -> Launch:
    """Return the launches of selection/radix: clear, count each digit, and store."""
    work = _counting(work)
    outputs, n, _ = work.rows
    kernel, most, packed = work.kernel(SelectionSpec), work.groups(2**30), work.layout.pack(0)
    parts = max(min(-(-most // outputs), -(-n // work.variant.tile)), 1)

    def launch(tasks: int, step: int, at: int, turn: int) -> Launch:
        return kernel.prepare(max(min(tasks, most), 1), packed, outputs, n, parts, step, at, turn % 2)

    shifts = digits(order_bits(work.dtype))
    launches = [launch(8 * outputs, _CLEAR, 0, 1)]
    launches += [launch(outputs * parts, _DIGIT, at, turn) for turn, at in enumerate(shifts)]
    launches.append(launch(-(-outputs // work.variant.block), _STORE, 0, len(shifts)))
    scratch = outputs * (2 * STATE_BYTES + ((8 if work.many else 4) << DIGIT_BITS) + 4)
    return with_counters(work.device, in_turn(launches), outputs, scratch)


def _counting(work: Work) -> Work:
    """Return the work by one work-item a group on CPUs, where a lone one counts without atomics."""
    if work.device.capabilities.kind != "cpu":
        return work
    return work._replace(variant=work.variant.resized(block=1, items=_CPU_PART))


_LAUNCHES: dict[str, Callable[[Work], Launch]] = {
    "cpu_rows": _launch_cpu_rows,
    "lanes": _launch_lanes,
    "sorted": _launch_sorted,
    "rows": _launch_rows,
    "sampled": _launch_sampled,
}
