"""Launches that take memory beside a call's arrays: bytes for partial values, and counters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.launch_plan import in_turn
from gpuprims.core.stream_memory import MOST_BYTES, Room, StreamMemory


def with_counters(
    device: Device, launch: Launch, counters: int, scratch: int = 0, unread: int = 0, *, one_kernel: bool = False
) -> Launch:
    """Pass a launch, after its operands, bytes for partial values and 32-bit zeros that groups use as counters.

    The first ``unread`` operands have no elements, and so no memory; the kernel gets the zeros instead. If the
    launch starts ``one_kernel``, the next launch in order can have the same bytes, so they stay with the stream.
    """
    few = max(scratch, 4 * counters) <= MOST_BYTES
    if one_kernel and few and not unread and hasattr(device.driver, "stream_memory"):
        there: Any = device  # its driver is read in each call: after a fork, another one refuses
        room = Room.of(scratch, counters)
        if hasattr(launch, "with_beside"):
            quick: Launch = launch.with_beside(lambda: there.driver.stream_memory.beside(room))
            return quick

        def start_beside(memories: Sequence[Any]) -> None:
            launch((*memories, *there.driver.stream_memory.beside(room)))

        return start_beside

    def start(memories: Sequence[Any]) -> None:
        driver = device.driver
        zeros = driver.counters(counters)
        partials = driver.scratch(scratch) if scratch else zeros
        launch([*memories, partials, zeros] if not unread else [*[zeros] * unread, *memories[unread:], partials, zeros])

    return start


def with_scratch(device: Device, launch: Launch, nbytes: int) -> Launch:
    """Pass the launch of one kernel bytes for partial values, after its operands.

    In the host's memory they stay with the stream, where the next kernel may have them.
    """
    there: Any = device
    if device.driver.shares_host_memory and nbytes <= MOST_BYTES and hasattr(launch, "with_beside"):
        room = Room.of(nbytes, 0)
        quick: Launch = launch.with_beside(lambda: there.driver.stream_memory.beside(room)[:1])
        return quick
    return lambda memories: launch([*memories, device.driver.scratch(nbytes)])


def all_with_counters(
    device: Device, launches: Sequence[Launch], counters: int, scratch: int
) -> Callable[[Sequence[Any], Any], None]:
    """Return a launch of several kernels, with bytes and zeros as in :func:`with_counters`, and another memory.

    All have the same bytes, which stay with the stream if there are not very many.
    """
    every = in_turn(launches)
    if scratch > MOST_BYTES or not hasattr(device.driver, "stream_memory"):

        def start(memories: Sequence[Any], last: Any) -> None:
            driver = device.driver
            every([*memories, driver.scratch(scratch), driver.counters(counters), last])

        return start
    there: Any = device
    room = Room.of(scratch, counters)
    if len(launches) > 1:  # single kernels of other threads take no turns, so theirs are other bytes
        room = room._replace(counters=room.counters + 1)

    def start_in_turn(memories: Sequence[Any], last: Any) -> None:
        memory: StreamMemory = there.driver.stream_memory
        everything = [*memories, *memory.beside(room), last]
        with memory.turn:  # no other thread may write to these bytes between them
            every(everything)

    return start_in_turn
