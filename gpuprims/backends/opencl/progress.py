"""Forward progress of groups on OpenCL devices, which OpenCL does not promise: known for some, tried on others."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyopencl as cl

from gpuprims.backends.opencl.compiling import compiled
from gpuprims.core.capabilities import Progress
from gpuprims.core.progress import progress_by_trial

# Reads of the counter before a group gives up: 40 ms on a CPU, at most a second on a GPU (measurements.md: attempts).
_LOOKS = 1 << 20


class _Rule(NamedTuple):
    """The answer for one kind of device on platforms whose name begins with ``platform``."""

    platform: str
    kind: int
    together: bool
    reason: str


_KNOWN = (
    _Rule("nvidia", cl.device_type.GPU, True, "NVIDIA's GPUs keep running groups that have started"),
    # measurements.md: intel_groups, pocl_groups
    _Rule("intel", cl.device_type.CPU, True, "Intel's CPU runtime has a thread for each compute unit"),
    _Rule("portable computing", cl.device_type.CPU, True, "PoCL has a thread for each compute unit"),
    # Sorensen et al., "Specifying and testing GPU workgroup progress models" (OOPSLA 2021): a group that has started
    # may stop until others end.
    _Rule("apple", cl.device_type.GPU, False, "Apple's GPUs may suspend a group that has started until others end"),
    _Rule("arm", cl.device_type.GPU, False, "ARM's GPUs may suspend a group that has started until others end"),
)


def groups_run_together(queue: cl.CommandQueue) -> Progress:
    """Return True, with a reason, if a group for each compute unit runs concurrently, and sees others' writes."""
    device, platform = queue.device, queue.device.platform
    if (known := known_progress(platform.name, device.type, device.max_compute_units)) is not None:
        return known
    about = {
        "platform": platform.name.strip(),
        "device": device.name.strip(),
        "driver": f"{platform.version.strip()}, {device.driver_version.strip()}",
        "compute_units": device.max_compute_units,
    }
    return progress_by_trial(about, lambda: trial(queue))


def known_progress(platform: str, kind: int, compute_units: int) -> Progress | None:
    """Return the answer for a known device; None for others."""
    for rule in _KNOWN:
        if rule.kind & kind and platform.lower().startswith(rule.platform):
            return Progress(rule.together, rule.reason)
    return Progress(True, "one group runs at a time") if compute_units == 1 else None


def trial(queue: cl.CommandQueue) -> bool:
    """Return True if each group of a launch saw all others start before it or another one gave up."""
    groups, block = queue.device.max_compute_units, min(queue.device.max_work_group_size, 256)
    counted = np.zeros(3, np.uint32)
    memory = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=counted)
    program = compiled(queue, Path(__file__).with_name("progress.cl").read_text())
    cl.Kernel(program, "progress")(queue, (groups * block,), (block,), memory, np.int32(_LOOKS))
    cl.enqueue_copy(queue, counted, memory)
    return bool(counted[1] == groups)
