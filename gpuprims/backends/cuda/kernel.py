"""Compiling CUDA kernels by NVRTC, with binaries kept on disk, and launching them.

CuPy's own cache is not used: CuPy compiles with ``-ftz=true``, which flushes subnormal floats to zero, unlike NumPy.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import cupy
import numpy as np
from cupy_backends.cuda.api.driver import CUDADriverError, launchCooperativeKernel, launchKernel
from cupy_backends.cuda.libs import nvrtc

from gpuprims.backends.cuda.capture import PER_THREAD
from gpuprims.backends.cuda.compiled import CUDA_CALLS
from gpuprims.backends.cuda.options import options_of
from gpuprims.core import compile_cache
from gpuprims.core.driver import Launch
from gpuprims.core.variant import Variant

current_device = cupy.cuda.runtime.getDevice
_NO_CONTEXT = 201  # CUDA_ERROR_INVALID_CONTEXT: of a new thread


def compiled(text: str, device: cupy.cuda.Device) -> cupy.cuda.Module:
    """Return the module of a kernel's text, from the cache on disk if it is there."""
    version = nvrtc.getVersion()
    options = options_of(version)
    compiler = f"NVRTC {version}, CuPy {cupy.__version__}"
    key = compile_cache.key_of("cuda", compiler, device.compute_capability, *options, text)

    def load(binary: bytes) -> cupy.cuda.Module:
        module = cupy.cuda.Module()
        module.load(binary)
        return module

    def build() -> tuple[cupy.cuda.Module, bytes]:
        binary, _ = cupy.cuda.compiler.compile_using_nvrtc(text, options, cache_in_memory=True)
        return load(binary), binary

    return compile_cache.cached(key, load, build, cupy.cuda.driver.CUDADriverError)


def alongside(device: cupy.cuda.Device, function: Callable[[], Any]) -> Callable[[], Any]:
    """Return a function for another thread, with the device and stream of this one.

    NVRTC compiles in several threads at the same time, and CuPy releases Python's lock meanwhile.
    """
    stream = cupy.cuda.get_current_stream(device.id)

    def run() -> Any:
        with device, stream:
            return function()

    return run


class CudaKernel:
    """A kernel of one device; it takes pointers, the layout and numbers."""

    def __init__(self, device: cupy.cuda.Device, function: cupy.cuda.Function, variant: Variant, pointers: int) -> None:
        self._device, self._function, self._pointers = device, function, pointers
        self._block, self._together = variant.block, variant.together

    def prepare(self, groups: int, layout: np.ndarray, *numbers: int, local: int = 0) -> Launch:
        """Fix a launch on CuPy's current stream.

        Only the pointers change. CuPy's own call converts all arguments each time: 4.1 us for a reduce, against 3.3
        (H200, CuPy 14.2, 2026-11-21). The launch's ``with_beside`` returns one that takes two further memories from
        a function, the same for all launches in a stream.
        """
        arguments = [*[0] * self._pointers, *layout.tolist(), *numbers]
        if (calls := CUDA_CALLS.calls) is not None:
            shape = groups, self._block, local, self._together, self._device.id, self._pointers, layout.size
            elsewhere = partial(_launch_on, self._device)
            made: Launch = calls.Launch(self._function, elsewhere, self._function.ptr, *shape, tuple(arguments))
            return made
        how = (self._device, self._function, self._together, groups, self._block, local)
        # Where each argument begins: the pointers, the layout as a whole, and the numbers.
        starts = [*range(self._pointers + 1), *range(self._pointers + layout.size, len(arguments))]
        launch: Any = _launch(how, arguments, starts)
        launch.with_beside = partial(_launch, how, arguments, starts)
        return launch  # type: ignore[no-any-return] # a function with an attribute


def _launch_on(device: cupy.cuda.Device, launch: Launch, memories: Sequence[cupy.ndarray]) -> None:
    with device:
        launch(memories)


def _launch(
    how: tuple[cupy.cuda.Device, cupy.cuda.Function, bool, int, int, int],
    arguments: Sequence[int],
    starts: Sequence[int],
    beside: Callable[[], tuple[cupy.ndarray, cupy.ndarray]] | None = None,
) -> Launch:
    device, function, together, groups, block, local = how
    index, lock, stream = device.id, threading.Lock(), cupy.cuda.get_current_stream
    # CUDA starts all groups of a cooperative launch at the same time, or none while there is no room.
    address, start = function.ptr, _launch_together if together else launchKernel
    words = (ctypes.c_int64 * len(arguments))(*arguments)
    table = (ctypes.c_void_p * len(starts))(*(ctypes.addressof(words) + 8 * place for place in starts))
    found = ctypes.addressof(table)
    kept: dict[int, tuple[int, int]] = {}  # the addresses of the memories beside the call's, by stream

    # The function keeps the module alive, its address does not.
    def launch(memories: Sequence[cupy.ndarray], *, _alive: Any = (function, table)) -> None:
        if current_device() != index:  # seldom; entering the device takes longer than asking
            with device:
                return launch(memories)
        current = stream().ptr
        with lock:  # until the driver has read the words
            place = 0
            for memory in memories:
                words[place] = memory.data.ptr
                place += 1
            if beside is not None:
                more = kept.get(current) or _addresses(beside, current, kept)
                words[place], words[place + 1] = more
            try:
                start(address, groups, 1, 1, block, 1, 1, local, current, found, 0)
            except CUDADriverError as error:
                if error.status != _NO_CONTEXT:
                    raise
                cupy.cuda.runtime.free(0)  # any call of the runtime gives a thread its context
                start(address, groups, 1, 1, block, 1, 1, local, current, found, 0)
        return None

    return launch


def _addresses(
    beside: Callable[[], tuple[cupy.ndarray, cupy.ndarray]], stream: int, kept: dict[int, tuple[int, int]]
) -> tuple[int, int]:
    """Return the addresses of the memories beside a call's own; these never move."""
    first, second = beside()
    addresses = first.data.ptr, second.data.ptr
    if stream != PER_THREAD:  # the handle of a stream for each thread
        kept[stream] = addresses
    return addresses


def _launch_together(*arguments: int) -> None:
    """Launch like ``launchKernel``, which takes one more argument."""
    launchCooperativeKernel(*arguments[:-1])
