"""Steps by teams of one group that take samples in turn, as in the thesis' kernels."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from gpuprims.core.counters import with_counters
from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.errors import ArgumentError
from gpuprims.primitives.sgd.steps import MOST_BLOCK, SgdSpec, Steps
from gpuprims.primitives.sgd.variants import SgdVariant

# The thesis' fastest group: work-items for each sample, and samples of a group.
_THREADS, _ROWS = 128, 2


class TurnsSpec(SgdSpec):
    """Macros and functions for teams that take turns."""

    own_headers: ClassVar[tuple[Path, ...]] = (*SgdSpec.own_headers, Path(__file__).parent / "kernels" / "turns.h")


def in_turns(
    label: str, steps: Steps, chosen: SgdVariant, threads: int | None, rows: int | None, device: Device
) -> Launch:
    """Return the launch of a group of ``rows`` teams of ``threads`` work-items; None: of as many as fit."""
    most = min(device.capabilities.group_limit, MOST_BLOCK)
    lanes = threads or min(_THREADS, most // (rows or _ROWS))
    teams = rows or max(1, min(_ROWS, most // lanes))
    block = -(-lanes * teams // chosen.whole) * chosen.whole
    if block > most or not lanes:
        rule = f"a group of at most {most} work-items, the product of both"
        asked = f"threads_per_datapoint={threads} and datapoints_per_block={rows}"
        raise ArgumentError(f"{label}: {rule}; got {asked}")
    kernel = device.kernel(chosen.resized(block=block), steps.spec(TurnsSpec, lanes=lanes, rows=teams))
    launch = kernel.prepare(1, steps.layout.pack(0), steps.total, steps.stretch)
    return with_counters(device, launch, 1)
