"""Whether groups of one launch run at the same time, which kernels need whose groups wait for each other.

OpenCL promises nothing. The answer decides which kernel runs, and so the last bits of float sums: it must be the same
in every process, whatever else the machine does. So it is looked up for devices whose way of running groups is known,
and tried once on others; what the trial found stays on disk.
"""

from __future__ import annotations

import time
from pathlib import Path
from threading import Lock
from typing import NamedTuple

import numpy as np
import pyopencl as cl

from gpuprims.backends.opencl.kernel import compiled
from gpuprims.backends.opencl.remembered import Finding, keep, kept
from gpuprims.driver import Progress

# Looks at the counter of a group in one attempt, before it gives up: some 40 ms on a CPU, a second on a GPU at most.
_LOOKS = 1 << 20
# One success proves that groups run together. A failure may only mean that others had the cores: of attempts on Intel's
# CPU runtime 4 of 50 failed while six other processes ran (2 cores, 2^20 looks, 2026-11-22). "No" takes all of these.
_ATTEMPTS, _PAUSE = 16, 0.5


class _Rule(NamedTuple):
    """What is known of devices: how the platform's name begins, the kind of device, the answer and the reason."""

    platform: str
    kind: int
    together: bool
    reason: str


_KNOWN = (
    _Rule("nvidia", cl.device_type.GPU, True, "NVIDIA's GPUs keep groups that have started until they end"),
    # One thread for each compute unit takes groups, one at a time, and the system gives each thread its turn. 400 of
    # 400 attempts of 2^28 looks succeeded while six other processes ran, after 0.20 s at most (2026.22.10, 2 cores,
    # 2026-11-22).
    _Rule("intel", cl.device_type.CPU, True, "Intel's CPU runtime has a thread for each compute unit"),
    # lib/CL/devices/pthread/pthread_scheduler.c gives each thread at most the groups left divided by the threads, which
    # is one. 200 of 200 such attempts succeeded, after 2.17 s at most (3.1, the same).
    _Rule("portable computing", cl.device_type.CPU, True, "PoCL has a thread for each compute unit"),
    # Sorensen et al., "Specifying and testing GPU workgroup progress models" (OOPSLA 2021): a group that has started
    # does not always run on before others end.
    _Rule("apple", cl.device_type.GPU, False, "Apple's GPUs may leave a group that has started until others end"),
    _Rule("arm", cl.device_type.GPU, False, "ARM's GPUs may leave a group that has started until others end"),
)

# What trials have shown in this process, by device: each of a device's queues is to choose the same kernels.
_SHOWN: dict[int, Progress] = {}
_LOCK = Lock()


def groups_run_together(queue: cl.CommandQueue) -> Progress:
    """Return whether as many groups as there are compute units run at the same time, and see what others write."""
    device = queue.device
    if (known := known_progress(device.platform.name, device.type, device.max_compute_units)) is not None:
        return known
    with _LOCK:
        if device.int_ptr not in _SHOWN:
            _SHOWN[device.int_ptr] = _remembered(queue)
        return _SHOWN[device.int_ptr]


def known_progress(platform: str, kind: int, compute_units: int) -> Progress | None:
    """Return what is known without a trial, if anything is."""
    for rule in _KNOWN:
        if rule.kind & kind and platform.lower().startswith(rule.platform):
            return Progress(rule.together, rule.reason)
    return Progress(True, "one group at a time has nobody to wait for") if compute_units == 1 else None


def _remembered(queue: cl.CommandQueue) -> Progress:
    """Return what a trial has found on this device, in this process or an earlier one."""
    finding = Finding.of(queue.device)
    together = kept(finding)
    if together is None:
        together = keep(finding, tried(queue))
    shown = "showed so" if together else "did not show it"
    return Progress(together, f"a trial of this device and driver {shown}")


def tried(queue: cl.CommandQueue) -> bool:
    """Return whether one of several attempts succeeds, which takes 8 seconds and the attempts themselves at most."""
    for attempt in range(_ATTEMPTS):
        if attempt:
            time.sleep(_PAUSE)
        if trial(queue):
            return True
    return False


def trial(queue: cl.CommandQueue) -> bool:
    """Return whether in one launch each group has seen all others come.

    Each group waits for all the others, and gives up after so many looks, or once another has.
    """
    groups, block = queue.device.max_compute_units, min(queue.device.max_work_group_size, 256)
    counted = np.zeros(3, np.uint32)
    memory = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=counted)
    program = compiled(queue, Path(__file__).with_name("progress.cl").read_text())
    cl.Kernel(program, "progress")(queue, (groups * block,), (block,), memory, np.int32(_LOOKS))
    cl.enqueue_copy(queue, counted, memory)
    return bool(counted[1] == groups)
