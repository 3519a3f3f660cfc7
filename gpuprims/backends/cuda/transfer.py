"""Transfers between host arrays and a GPU, large ones through pinned memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import cached_property, partial
from typing import Any

import cupy
import numpy as np

from gpuprims.backends.cuda import sending
from gpuprims.backends.cuda.arrays import new_array
from gpuprims.backends.cuda.capture import refuse_capture
from gpuprims.backends.cuda.lanes import CudaLanes
from gpuprims.core.staging import CHUNK, LANES_DOWN, LANES_UP

# Bytes up to which CuPy's own copy, which waits, takes less time than a lane.
_FEW = 1 << 16
# Bytes of a copy to the host that is not waited for: counts of 16,384 bins are of them.
_READ = 1 << 18
# Bytes of one that is waited for, and takes less time by pinned memory than by memory of its own.
_FEWEST = 1 << 12
_HERE = nullcontext()
_TO_DEVICE, _TO_HOST = cupy.cuda.runtime.memcpyHostToDevice, cupy.cuda.runtime.memcpyDeviceToHost
# Of cudaMemoryType: memory of the host that is registered with CUDA, such as cupyx.empty_pinned gives.
_PINNED = 1


# Either half of a number that is not there yet, and how often the host looks for it before it waits.
_UNSET, _LOOKS = 0x7FC5_A5A5, 300


class PinnedReport:
    """A number in pinned host memory, and an event after the launches that write it.

    Kernels write all of it or each half, once, and the host sees that sooner than the end of the kernel. A number that
    looks unset is read once the work is done, and so is one that kernels write in smaller parts.
    """

    def __init__(self, transfer: Transfer, device: cupy.cuda.Device) -> None:
        self.memory, self._host = _pinned(device, np.dtype(np.int64))
        self._free, self._index, self._device = transfer.reports, device.id, device
        with device:
            self._done = cupy.cuda.Event(disable_timing=True)
        self._marked: Any = None  # the event, or the stream that the number is left to
        self._halves = self._host.data.cast("B").cast("I")  # read faster than by NumPy

    def unset(self) -> PinnedReport:
        """Prepare for the next call."""
        self._halves[0] = self._halves[1] = _UNSET
        return self

    def mark(self) -> None:
        """Record the event."""
        with _current(self._device):
            self._done.record(cupy.cuda.get_current_stream())
        self._marked = self._done

    def leave(self) -> None:
        """Remember the stream: recording an event takes as long as a launch."""
        self._marked = cupy.cuda.get_current_stream(self._index)

    def read(self) -> int:
        """Look for the number; then wait for the event, or for the stream that it was left to or the current one."""
        for _ in range(_LOOKS):
            if self._is_set():
                return self._taken()
        (self._marked or cupy.cuda.get_current_stream(self._index)).synchronize()
        if not self._is_set():  # it may have been left to another thread's stream of the same handle
            cupy.cuda.Device(self._index).synchronize()
        return self._taken()

    def peek(self) -> int | None:
        """Look for the number, and ask for the event if there is one."""
        if self._is_set() or (self._marked is self._done and self._done.done):
            return self._taken()
        return None

    def _is_set(self) -> bool:
        return self._halves[0] != _UNSET and self._halves[1] != _UNSET

    def _taken(self) -> int:
        number, self._marked = int(self._host[0]), None
        self._free.append(self)
        return number


class _Few:
    """A few bytes of pinned memory, and an event after the copy to them."""

    def __init__(self) -> None:
        self._pinned = cupy.cuda.alloc_pinned_memory(_READ)
        self._done = cupy.cuda.Event(disable_timing=True)

    def start(self, array: cupy.ndarray, stream: cupy.cuda.Stream) -> None:
        """Start to copy a contiguous array."""
        cupy.cuda.runtime.memcpyAsync(self._pinned.ptr, array.data.ptr, array.nbytes, _TO_HOST, stream.ptr)
        self._done.record(stream)

    def finish(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        """Wait, and return the array."""
        self._done.synchronize()
        host: np.ndarray = np.empty(shape, dtype)
        host.reshape(-1).view(np.uint8)[:] = np.frombuffer(self._pinned, np.uint8, host.nbytes)
        return host


class Transfer:
    """The transfers of one GPU, ordered with the work of CuPy's current stream."""

    def __init__(self, device: cupy.cuda.Device) -> None:
        self._device = device
        self._up, self._down = CudaLanes(device, LANES_UP, up=True), CudaLanes(device, LANES_DOWN, up=False)
        self.reports: list[PinnedReport] = []  # that no call uses
        self._few: list[_Few] = []  # likewise
        self._sending = sending.Sending()

    def report(self) -> PinnedReport:
        """Return a report that no other call uses."""
        refuse_capture(self._device.id, "waits for a number from the GPU")
        try:
            return self.reports.pop().unset()
        except IndexError:
            return PinnedReport(self, self._device).unset()

    def send(self, host: np.ndarray, array: cupy.ndarray) -> None:
        """Copy a host array to a GPU array; later work sees it."""
        if host.nbytes > CHUNK:
            self.begin_send(host, array)()
            return
        refuse_capture(self._device.id, "copies from the host")
        array.set(host)

    def begin_send(self, host: np.ndarray, array: cupy.ndarray) -> Callable[[], None]:
        """Start to copy a host array; the function returned waits until it has been read, and lets later work wait."""
        refuse_capture(self._device.id, "copies from the host")
        if 0 < host.nbytes <= sending.MOST:
            with _current(self._device):
                self._sending.start(host, array)
            return _nothing
        if host.nbytes <= _FEW:
            array.set(host)
            return _nothing
        with self._device:
            stream = cupy.cuda.get_current_stream()
            after = self._mark(stream)  # earlier work may still use the array's memory
            if host.flags.c_contiguous and _is_pinned(host):
                return self._finishing(self._send_pinned(host, array, after), stream)
        return self._finishing(self._up.start(host, array, after), stream)

    def _send_pinned(self, host: np.ndarray, array: cupy.ndarray, after: Any) -> Callable[[Any], None]:
        """Start to copy from pinned memory, which the engine reads where it lies."""
        side = self._beside
        side.wait_event(after)
        cupy.cuda.runtime.memcpyAsync(array.data.ptr, host.ctypes.data, host.nbytes, _TO_DEVICE, side.ptr)
        return partial(_finish_pinned, self._mark(side), host)

    @cached_property
    def _beside(self) -> cupy.cuda.Stream:
        """A stream for copies beside the kernels."""
        return cupy.cuda.Stream(non_blocking=True)

    def begin_copy(self, empty: Callable[..., cupy.ndarray], host: np.ndarray) -> Callable[[], cupy.ndarray]:
        """Start to copy a host array to a new one of the GPU, which the function returned returns."""
        array = empty(host.shape, host.dtype)
        finish = self.begin_send(host, array)

        def finished() -> cupy.ndarray:
            finish()
            return array

        return finished

    def receive(self, array: cupy.ndarray) -> np.ndarray:
        """Copy a GPU array to the host, after the work before it."""
        refuse_capture(self._device.id, "copies to the host")
        if 0 < array.nbytes <= _FEWEST and array.flags.c_contiguous:
            return self.begin_few(array)()
        if array.nbytes <= CHUNK or not array.flags.c_contiguous:
            small: np.ndarray = array.get()
            return small
        host = np.empty(array.shape, array.dtype)
        self.begin_receive(array, host, new=True)()
        return host

    def begin_few(self, array: cupy.ndarray) -> Callable[[], np.ndarray]:
        """Start to copy a few bytes, after the work before them; the function returned waits, and returns them.

        More bytes are copied at once. A copy by itself waits some 10 us for its GPU; copies that were started on all
        GPUs wait at the same time.
        """
        refuse_capture(self._device.id, "copies to the host")
        with _current(self._device):
            dense = array if array.flags.c_contiguous else cupy.ascontiguousarray(array)
            if not 0 < array.nbytes <= _READ:
                host = self.receive(dense)
                return lambda: host
            try:
                few = self._few.pop()
            except IndexError:
                few = _Few()
            few.start(dense, cupy.cuda.get_current_stream())
        return partial(self._finish_few, few, dense)

    def _finish_few(self, few: _Few, array: cupy.ndarray) -> np.ndarray:
        """Wait for a copy of few bytes; until then the array is kept."""
        host = few.finish(array.shape, array.dtype)
        self._few.append(few)
        return host

    def begin_receive(self, array: cupy.ndarray, host: np.ndarray, *, new: bool) -> Callable[[], None]:
        """Start to copy a contiguous GPU array, after the work before it; the function returned waits for the copy."""
        refuse_capture(self._device.id, "copies to the host")
        if not array.nbytes:
            return _nothing
        with self._device:
            stream = cupy.cuda.get_current_stream()
            after = self._mark(stream)
        return self._finishing(self._down.start(host, array, after, new=new), stream)

    def _finishing(self, finish: Callable[[Any], None], stream: cupy.cuda.Stream) -> Callable[[], None]:
        """Return a function that finishes a copy for a stream."""

        def finished() -> None:
            with self._settled(), self._device:
                finish(stream)

        return finished

    def scalar(self, dtype: np.dtype[Any]) -> tuple[cupy.ndarray, Callable[[], Any]]:
        """Return a scalar in pinned host memory, and a function that waits and reads it."""
        device = self._device
        array, host = _pinned(device, dtype)

        def read() -> Any:
            with _current(device):
                cupy.cuda.get_current_stream().synchronize()
            return host.item()

        return array, read

    def _mark(self, stream: cupy.cuda.Stream) -> Any:
        """Return an event after the stream's work so far."""
        event = cupy.cuda.Event(disable_timing=True)
        event.record(stream)
        return event

    @contextmanager
    def _settled(self) -> Iterator[None]:
        """Wait for the GPU before an error frees memory that transfers use."""
        try:
            yield
        except BaseException:
            with suppress(Exception):  # the first error says more
                self._device.synchronize()
            raise


def _current(device: cupy.cuda.Device) -> AbstractContextManager[Any]:
    """Make a GPU the current one, to which the default stream belongs. Entering it takes longer than asking."""
    return _HERE if cupy.cuda.runtime.getDevice() == device.id else device


def _is_pinned(host: np.ndarray) -> bool:
    """Return True for an array in pinned memory."""
    return int(cupy.cuda.runtime.pointerGetAttributes(host.ctypes.data).type) == _PINNED


def _finish_pinned(done: Any, host: np.ndarray, stream: cupy.cuda.Stream) -> None:
    """Wait until ``host``, which the caller may drop before, has been read, and let a stream wait for the copy."""
    stream.wait_event(done)
    done.synchronize()


def _nothing() -> None:
    """Wait for nothing: the copy is done."""


def _pinned(device: cupy.cuda.Device, dtype: np.dtype[Any]) -> tuple[cupy.ndarray, np.ndarray]:
    """Return a scalar in pinned host memory, as kernels and as the host see it."""
    with device:
        pinned = cupy.cuda.alloc_pinned_memory(dtype.itemsize)
    memory = cupy.cuda.UnownedMemory(pinned.ptr, dtype.itemsize, pinned, device.id)
    host = np.frombuffer(pinned, dtype, 1)
    return new_array((), dtype, cupy.cuda.MemoryPointer(memory, 0)), host
