"""pyopencl's arrays and their buffers, within a device's limits."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array
from pyopencl.tools import ImmediateAllocator, MemoryPool

from gpuprims.backends.opencl.queues import in_order, turn_of
from gpuprims.core.capabilities import Capabilities
from gpuprims.core.memory import host_memory
from gpuprims.errors import DeviceMemoryError

# Most bytes of scratch memory for which the time of a buffer counts. Larger memory comes from the pool, already mapped.
_FEW = 1 << 16
_BYTES = np.dtype(np.uint8)
_COPIED = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
# Not READ_ONLY, because Intel's runtime would copy unaligned memory (measurements.md: read_only).
_SHARED = cl.mem_flags.READ_WRITE | cl.mem_flags.USE_HOST_PTR


class Beside:
    """Memory that a launch takes beside the arrays of a call: a pointer if these are pointers, else a buffer.

    Kernels that take both kinds are slow (measurements.md: pointers). With ``both``, there is separate memory for each
    kind of launch; else later launches get the memory of the first.
    """

    __slots__ = ("_both", "_buffer", "_make_buffer", "_make_host", "_pointer")

    def __init__(self, buffer: Callable[[], Any], host: Callable[[], np.ndarray], *, both: bool = False) -> None:
        self._make_buffer, self._make_host, self._both = buffer, host, both
        self._buffer: Any = None
        self._pointer: np.ndarray | None = None

    @property
    def is_pointer(self) -> bool:
        """True if an earlier launch took it as a pointer, so that later ones do, too."""
        return self._pointer is not None and not self._both

    def pointer(self) -> Any:
        """Return the memory for a launch that takes pointers."""
        return self.taken(pointed=True)

    def taken(self, *, pointed: bool) -> Any:
        """Return the memory for a launch; the caller holds the queue's lock."""
        if not self._both and (self._pointer is not None or self._buffer is not None):
            return self._buffer if self._pointer is None else self._pointer
        if pointed:
            if self._pointer is None:
                self._pointer = self._make_host()
            return self._pointer
        if self._buffer is None:
            self._buffer = self._make_buffer()
        return self._buffer


class Arrays:
    """Arrays of one queue, with memory from a pool.

    pyopencl's constructor is slow, so the attributes of each shape and dtype are kept (measurements.md: arrays).
    """

    def __init__(self, queue: cl.CommandQueue, able: Capabilities) -> None:
        self.pool = MemoryPool(ImmediateAllocator(queue))
        self._queue, self._able = queue, able
        self._in_order, self._turn = in_order(queue), turn_of(queue)
        self._bare = lru_cache(maxsize=1024)(self._describe)
        self._points = self._in_order and queue.device.type == cl.device_type.CPU and takes_pointers(queue.device)
        self.memory: Callable[[np.ndarray], Any] = _writeable if self._points else self.share

    def allocate(self, nbytes: int, host: np.ndarray | None = None) -> Any:
        """Return a buffer, with the contents of the host array if one is given."""
        if nbytes > self._able.largest_allocation:
            self.check(nbytes)
        try:
            if host is not None:
                return cl.Buffer(self._queue.context, _COPIED, hostbuf=host)
            # pyopencl's pool rounds sizes up by a sixteenth (2026.1), which may exceed the device's limit.
            if nbytes + nbytes // 16 > self._able.largest_allocation:
                return ImmediateAllocator(self._queue)(nbytes)
            return self.pool.allocate(nbytes)
        except (cl.MemoryError, cl.LogicError) as error:  # INVALID_BUFFER_SIZE; OpenCL does not report free memory
            raise DeviceMemoryError(self._able.name, nbytes, None) from error

    def check(self, nbytes: int) -> None:
        """Raise if an array exceeds the device's limit, since not every driver raises."""
        if nbytes > self._able.largest_allocation:
            raise DeviceMemoryError(self._able.name, nbytes, None, self._able.largest_allocation)

    def share(self, host: np.ndarray) -> cl.Buffer:
        """Return a buffer over the memory of a C-contiguous host array."""
        host = _writeable(host)
        if host.nbytes > self._able.largest_allocation:
            self.check(host.nbytes)
        return cl.Buffer(self._queue.context, _SHARED, 0, host)

    def scratch(self, nbytes: int) -> Any:
        """Return a buffer from the pool, or for out-of-order queues an array, whose events keep the order."""
        if self._points and nbytes <= _FEW:
            return Beside(lambda: self.allocate(nbytes), lambda: np.empty(nbytes, _BYTES))
        return self.allocate(nbytes) if self._in_order else self.make((nbytes,), _BYTES)

    def kept_zeros(self, count: int, dtype: np.dtype[Any]) -> Any:
        """Return zeroed memory that launches share in order, one for pointers and one for buffers if needed."""

        def zeros() -> Any:
            return self.clear(self.make((count,), dtype))

        if self._points:
            return Beside(lambda: zeros().base_data, lambda: np.zeros(count, dtype), both=True)
        return zeros().base_data if self._in_order else zeros()

    def make(self, shape: tuple[int, ...], dtype: np.dtype[Any], host: np.ndarray | None = None) -> cl_array.Array:
        """Return an array with new memory, with the contents of the host array if one is given."""
        array: cl_array.Array = cl_array.Array.__new__(cl_array.Array)
        vars(array).update(self._bare(shape, dtype), offset=0, events=[])
        with self._turn:
            array.base_data = self.allocate(array.nbytes, host) if array.nbytes else None
            if not self._in_order:  # earlier work may still use the memory
                array.add_event(cl.enqueue_marker(self._queue))
        return array

    def cut(self, array: cl_array.Array, start: int, shape: tuple[int, ...]) -> cl_array.Array:
        """Return a part of a contiguous array; both share one list of events."""
        cut: cl_array.Array = cl_array.Array.__new__(cl_array.Array)
        offset = array.offset + start * array.dtype.itemsize
        vars(cut).update(self._bare(shape, array.dtype), offset=offset, events=array.events, base_data=array.base_data)
        return cut

    def fill(self, array: cl_array.Array, source: cl_array.Array) -> cl_array.Array:
        """Copy a contiguous array into a new one."""
        memories: Any = array.base_data, source.base_data
        after = [*array.events, *source.events]
        with self._turn:
            array.add_event(cl.enqueue_copy(self._queue, *memories, byte_count=source.nbytes, wait_for=after))
        return array

    def clear(self, array: cl_array.Array) -> cl_array.Array:
        """Fill with zeros, without pyopencl's kernel, whose compilation warns on Intel's runtime."""
        memory: Any = array.base_data
        if array.nbytes:
            with self._turn:
                array.add_event(cl.enqueue_fill_buffer(self._queue, memory, bytes(1), 0, array.nbytes, array.events))
        return array

    def _describe(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> dict[str, Any]:
        """Return an array's attributes without its memory."""
        array = cl_array.Array(self._queue, shape, dtype, allocator=self.pool, data=self.pool.allocate(1))
        array.flags.forc  # noqa: B018 - caches contiguity
        return vars(array) | {"base_data": None}


def _writeable(host: np.ndarray) -> np.ndarray:
    """Return a C-contiguous array, or its bytes if it is read-only: pyopencl needs writable memory even to read."""
    return host if host.flags.writeable else host_memory(host)[0]


def takes_pointers(device: cl.Device) -> bool:
    """Return True if kernels of a device can read and write any memory of the host by its address."""
    try:
        able: int = device.svm_capabilities
    except cl.Error:  # OpenCL older than 2.0
        return False
    return bool(able & cl.device_svm_capabilities.FINE_GRAIN_SYSTEM)


def place_of(memory: Any) -> tuple[int, int]:
    """Return the handle of the buffer that holds the memory (for a sub-buffer, its parent), and the first byte."""
    if type(memory) is cl.Buffer:  # memory of a pool is never a sub-buffer
        info: Any = memory.get_info
        if (whole := info(cl.mem_info.ASSOCIATED_MEMOBJECT)) is not None:
            return whole.int_ptr, info(cl.mem_info.OFFSET)
    return memory.int_ptr, 0
