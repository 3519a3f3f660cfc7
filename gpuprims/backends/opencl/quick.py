"""Short calls on host arrays in C, on machines with a C compiler (decision 0022)."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyopencl as cl

from gpuprims.backends.opencl.arrays import Beside
from gpuprims.backends.opencl.queues import turn_of
from gpuprims.core.c_modules import CModule
from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.layout import Form

Run = Callable[[Sequence[Any]], Any]

_FUNCTIONS = ("clSetKernelArgSVMPointer", "clEnqueueNDRangeKernel", "clWaitForEvents", "clReleaseEvent")


def _prepare(calls: Any) -> None:
    library = ctypes.CDLL(cl._cl.__file__)  # it is linked to OpenCL's loader
    addresses = [ctypes.cast(getattr(library, name), ctypes.c_void_p).value for name in _FUNCTIONS]
    calls.use_opencl(*addresses, Beside)


HOST_CALLS = CModule(Path(__file__).with_name("host_calls.c"), _prepare)


def quick_launch(
    launch: Launch, launches: Any, queue: cl.CommandQueue, made: Callable[[], cl.Kernel], size: tuple[int, int]
) -> Launch:
    """Return a launch with its own kernel object, in C if possible; ``size`` is its work-items and the block."""
    if HOST_CALLS.calls is None or not launches.quick:
        return launch
    kernel = made()
    turn, near = turn_of(queue), launches.near
    handles = kernel.int_ptr, queue.int_ptr, 0 if near is None else near.int_ptr
    quick: Launch = HOST_CALLS.calls.Launch(
        launch, _beside, kernel, launches, turn.acquire, turn.release, *handles, *size
    )
    return quick


def _beside(launch: Launch, beside: Callable[[], tuple[Any, Any]]) -> tuple[Launch, Callable[[], tuple[Any, ...]]]:
    """Return a launch with the memory of ``beside`` added, and a function that returns it as host arrays."""

    def start(memories: Sequence[Any]) -> None:
        launch((*memories, *beside()))

    return start, lambda: tuple([memory.pointer() for memory in beside()])


class _Pointer(NamedTuple):
    """A host array with the interface of :class:`Beside`."""

    array: np.ndarray

    def pointer(self) -> np.ndarray:
        """Return the array."""
        return self.array


def runner_in_place(
    device: Device,
    launch: Launch,
    form: Form,
    slow: Run,
    *,
    turned: bool,
    nbytes: int,
    beside: Sequence[np.ndarray] = (),
) -> Run:
    """Return a function in C that launches on short arrays and returns a new array, or ``slow`` without C.

    The kernel takes the arrays of ``beside`` last.
    """
    if HOST_CALLS.calls is None or not isinstance(launch, HOST_CALLS.calls.Launch):
        return slow
    if beside:
        held, kernel = [_Pointer(array) for array in beside], launch
        launch = kernel.with_beside(lambda: held)
    quick: Run = HOST_CALLS.calls.Run(launch, device, device.driver, slow, form.dtype, form.shape, turned, nbytes)
    return quick
