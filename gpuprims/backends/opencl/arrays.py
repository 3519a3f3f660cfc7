"""pyopencl's arrays, over memory that is there already."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array
from pyopencl.tools import MemoryPool

from gpuprims.backends.opencl.kernel import in_order
from gpuprims.backends.opencl.turns import turn_of


class Arrays:
    """Arrays of one queue, whose memory comes from a pool.

    pyopencl's constructor looks at each length again, for 10 us an array. So one of each shape and dtype is kept,
    without memory, and the others are what :func:`copy.copy` makes of it, in 0.7 us (one core of an AMD EPYC of family
    26, pyopencl 2026.1, 2026-11-22).
    """

    def __init__(self, queue: cl.CommandQueue, pool: MemoryPool) -> None:
        self._queue = queue
        self._pool = pool
        self._bare = lru_cache(maxsize=1024)(self._describe)
        self._in_order = in_order(queue)
        self._turn = turn_of(queue)

    def make(
        self, shape: tuple[int, ...], dtype: np.dtype[Any], allocate: Callable[[int], cl.Buffer]
    ) -> cl_array.Array:
        """Return an array with memory of its own."""
        array: cl_array.Array = cl_array.Array.__new__(cl_array.Array)
        vars(array).update(self._bare(shape, dtype), offset=0, events=[])
        with self._turn:
            array.base_data = allocate(array.nbytes) if array.nbytes else None
            if not self._in_order:  # the memory may have been another's, which work given to the queue still uses
                array.add_event(cl.enqueue_marker(self._queue))
        return array

    def cut(self, array: cl_array.Array, start: int, shape: tuple[int, ...]) -> cl_array.Array:
        """Return a stretch of a contiguous array, which has its events too: work on either is work on both."""
        cut: cl_array.Array = cl_array.Array.__new__(cl_array.Array)
        offset = array.offset + start * array.dtype.itemsize
        vars(cut).update(self._bare(shape, array.dtype), offset=offset, events=array.events, base_data=array.base_data)
        return cut

    def fill(self, array: cl_array.Array, source: cl_array.Array) -> cl_array.Array:
        """Copy a contiguous array into one that was just made."""
        memories: Any = array.base_data, source.base_data
        after = [*array.events, *source.events]
        with self._turn:
            array.add_event(cl.enqueue_copy(self._queue, *memories, byte_count=source.nbytes, wait_for=after))
        return array

    def clear(self, array: cl_array.Array) -> cl_array.Array:
        """Fill with zeros; not by pyopencl's kernel, whose compilation warns on Intel's runtime."""
        memory: Any = array.base_data
        if array.nbytes:
            with self._turn:
                array.add_event(cl.enqueue_fill_buffer(self._queue, memory, bytes(1), 0, array.nbytes, array.events))
        return array

    def _describe(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> dict[str, Any]:
        """Return what an array knows of itself, contiguity included, but for its memory."""
        array = cl_array.Array(self._queue, shape, dtype, allocator=self._pool, data=self._pool.allocate(1))
        array.flags.forc  # noqa: B018 - is looked up once
        return vars(array) | {"base_data": None}


def place_of(memory: Any) -> tuple[int, int]:
    """Return the handle of the buffer that holds an array's memory, and its first byte; not that of a sub-buffer."""
    if type(memory) is cl.Buffer:  # memory of a pool is never a sub-buffer
        told: Any = memory.get_info
        whole = told(cl.mem_info.ASSOCIATED_MEMOBJECT)
        if whole is not None:
            return whole.int_ptr, told(cl.mem_info.OFFSET)
    return memory.int_ptr, 0
