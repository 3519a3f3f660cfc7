"""Short calls on arrays of the host in C, where this machine has a C compiler (decision 0022)."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pyopencl as cl

from gpuprims.backends.opencl.arrays import Beside
from gpuprims.backends.opencl.queues import turn_of
from gpuprims.core.c_modules import said, use_module
from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.layout import Form
from gpuprims.core.program_cache import forget_calls
from gpuprims.core.quick_keys import use_quick_keys

Run = Callable[[Sequence[Any]], Any]

_SOURCE = Path(__file__).with_name("host_calls.c")
_FUNCTIONS = ("clSetKernelArgSVMPointer", "clEnqueueNDRangeKernel", "clWaitForEvents", "clReleaseEvent")


class Quick:
    """The functions in C; ``calls`` is None where those in Python serve."""

    calls: Any = None

    @classmethod
    def use(cls, calls: ModuleType) -> None:
        """Use the functions from now on: for calls that are kept, too, because they are forgotten."""
        library = ctypes.CDLL(cl._cl.__file__)  # which is linked to OpenCL's loader
        addresses = [ctypes.cast(getattr(library, name), ctypes.c_void_p).value for name in _FUNCTIONS]
        calls.use_opencl(*addresses, Beside)
        cls.calls = calls
        forget_calls()

    @classmethod
    def said(cls) -> str:
        """Return what runs short calls, and why."""
        return said(_SOURCE, used=cls.calls is not None)


@cache
def use_quick_calls() -> None:
    """Run short calls in C from now on, or once the compiler is done."""
    use_quick_keys()
    use_module(_SOURCE, Quick.use)


def quick_launch(
    launch: Launch, launches: Any, queue: cl.CommandQueue, made: Callable[[], cl.Kernel], size: tuple[int, int]
) -> Launch:
    """Return what launches so many work-items in groups of so many, by a kernel object of its own; in C if possible."""
    if Quick.calls is None or not launches.quick:
        return launch
    kernel = made()
    turn, near = turn_of(queue), launches.near
    handles = kernel.int_ptr, queue.int_ptr, 0 if near is None else near.int_ptr
    quick: Launch = Quick.calls.Launch(launch, _beside, kernel, launches, turn.acquire, turn.release, *handles, *size)
    return quick


def _beside(launch: Launch, beside: Callable[[], tuple[Any, Any]]) -> tuple[Launch, Callable[[], tuple[Any, ...]]]:
    """Return a launch that also takes two memories, and a function that returns them as arrays of the host."""

    def start(memories: Sequence[Any]) -> None:
        launch((*memories, *beside()))

    return start, lambda: tuple([memory.pointer() for memory in beside()])


def runner_in_place(device: Device, launch: Launch, form: Form, slow: Run, *, turned: bool, nbytes: int) -> Run:
    """Return what launches on arrays of so many bytes and a new one, and returns this one, in C; else ``slow``."""
    if Quick.calls is None or not isinstance(launch, Quick.calls.Launch):
        return slow
    quick: Run = Quick.calls.Run(launch, device, device.driver, slow, form.dtype, form.shape, turned, nbytes)
    return quick
