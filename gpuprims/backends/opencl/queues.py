"""Queues: their order, and a lock that lets one thread at a time use each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from threading import RLock
from typing import Any

import pyopencl as cl

from gpuprims.core.lifetime import after_fork

# OpenCL lets any thread call at any time. Where six threads did, NVIDIA's driver (580.159, H200, 2026-11-22) ended the
# process within a minute, by SIGSEGV in a thread of its own, with pyopencl 2025.2.7, 2026.1 and 2026.1.4 alike. One at
# a time, the same threads made 50,660 calls in 45 s without a failure. Work of one queue runs in order anyway.
_make: Callable[[], Any] = RLock  # a function, as far as type checkers know
_TURNS: defaultdict[int, Any] = defaultdict(_make)
after_fork(_TURNS.clear)  # another thread of the parent may have held one


def turn_of(queue: cl.CommandQueue) -> Any:
    """Return the lock of a queue; on NVIDIA's platform, of its device."""
    held = queue.device if "NVIDIA" in queue.device.platform.name else queue
    return _TURNS[held.int_ptr]


def in_order(queue: cl.CommandQueue) -> bool:
    """Return True if a queue runs commands in order without events."""
    return not queue.properties & cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE
