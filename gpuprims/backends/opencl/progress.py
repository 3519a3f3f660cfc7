"""Whether groups of one launch run at the same time: what a kernel needs whose groups wait for each other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyopencl as cl

from gpuprims.backends.opencl.kernel import compiled

# Looks at the counter of a group in the trial, after which it gives up: some 40 ms on a CPU, a second on a GPU at most.
_LOOKS = 1 << 20


# What trials have shown, by device: each of its queues is to choose the same kernels.
_SHOWN: dict[int, bool] = {}


def groups_run_together(queue: cl.CommandQueue) -> bool:
    """Return whether as many groups as there are compute units run at the same time, and see what others write.

    NVIDIA promises it of its GPUs. Elsewhere a trial finds out, which takes a bounded time: each group waits for all
    the others, and gives up after so many looks, or once another has.
    """
    if "NVIDIA" in queue.device.platform.name:
        return True
    device = queue.device.int_ptr
    if device not in _SHOWN:
        _SHOWN[device] = trial(queue)
    return _SHOWN[device]


def trial(queue: cl.CommandQueue) -> bool:
    """Return whether in one launch each group has seen all others come."""
    groups, block = queue.device.max_compute_units, min(queue.device.max_work_group_size, 256)
    counted = np.zeros(3, np.uint32)
    memory = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=counted)
    program = compiled(queue, Path(__file__).with_name("progress.cl").read_text())
    cl.Kernel(program, "progress")(queue, (groups * block,), (block,), memory, np.int32(_LOOKS))
    cl.enqueue_copy(queue, counted, memory)
    return bool(counted[1] == groups)
