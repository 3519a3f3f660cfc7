"""Command queues: their order, and a lock for each, so that one thread at a time uses it."""

from __future__ import annotations

from collections import defaultdict
from threading import RLock
from typing import Any, cast

import pyopencl as cl

from gpuprims.core.lifetime import after_fork

# cl_intel_exec_by_local_thread: CL_QUEUE_THREAD_LOCAL_EXEC_ENABLE_INTEL.
_NEAR, _BY_THIS_THREAD = "cl_intel_exec_by_local_thread", 1 << 31

# OpenCL allows calls from any thread at any time, but NVIDIA's driver crashes then (measurements.md: turns). The
# commands of one queue run in order anyway.
_TURNS: defaultdict[int, Any] = defaultdict(RLock)


def _free_turns() -> None:
    """Reset all locks in a forked child: another thread of the parent may have held one."""
    for turn in _TURNS.values():
        turn._at_fork_reinit()


after_fork(_free_turns)


def turn_of(queue: cl.CommandQueue) -> Any:
    """Return the lock of a queue, or on NVIDIA's platform that of its device."""
    held = queue.device if "NVIDIA" in queue.device.platform.name else queue
    return _TURNS[held.int_ptr]


def in_order(queue: cl.CommandQueue) -> bool:
    """Return True if a queue runs its commands in order."""
    return not queue.properties & cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE


def near(queue: cl.CommandQueue) -> cl.CommandQueue | None:
    """Return a queue whose commands run in the calling thread, synchronously; None if the runtime has none.

    Waking a thread of the runtime takes longer than a small kernel (measurements.md: near).
    """
    if queue.properties or _NEAR not in queue.device.extensions.split():
        return None
    return cl.CommandQueue(queue.context, queue.device, cast("Any", _BY_THIS_THREAD))
