"""A thread for each device of a group but the first, whose work the caller's thread does."""

from __future__ import annotations

import contextvars
import os
import threading
import weakref
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Any, Generic, NamedTuple, TypeVar

T = TypeVar("T")


class Failed(NamedTuple):
    """An exception that a task raised."""

    error: BaseException


class _Task(NamedTuple):
    """What a thread runs, where its outcome goes, and under which number."""

    number: int
    work: Callable[[], Any]
    context: contextvars.Context
    done: SimpleQueue[tuple[int, Any]]


class Workers(Generic[T]):
    """Threads that wait for tasks; they end when the last reference to this object does.

    A thread that waits takes 10 us to begin a task, a new one 100 us. No task waits for another one, so a task that
    raises or returns never leaves others waiting.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._begun: tuple[int, list[SimpleQueue[_Task | None]]] = (0, [])
        self._beginning = threading.Lock()

    def run(self, tasks: Sequence[Callable[[], T]]) -> list[T | Failed]:
        """Run a task in each thread at the same time; return results and failures once all have ended."""
        if len(tasks) == 1:
            return [outcome_of(tasks[0])]
        done: SimpleQueue[tuple[int, Any]] = SimpleQueue()
        outcomes: list[Any] = [None] * len(tasks)
        for number, (queue, work) in enumerate(zip(self._queues(), tasks[1:], strict=True), start=1):
            queue.put(_Task(number, work, contextvars.copy_context(), done))
        outcomes[0] = outcome_of(tasks[0])
        for _ in tasks[1:]:
            number, outcome = done.get()
            outcomes[number] = outcome
        return outcomes

    def _queues(self) -> list[SimpleQueue[_Task | None]]:
        """Return the threads' queues; a forked child, which has no threads, begins its own."""
        process, queues = self._begun
        if process == os.getpid():
            return queues
        with self._beginning:
            if self._begun[0] != os.getpid():
                queues = [SimpleQueue() for _ in range(self._count - 1)]
                for number, queue in enumerate(queues, start=1):
                    threading.Thread(target=_serve, args=(queue,), name=f"gpuprims-{number}", daemon=True).start()
                    weakref.finalize(self, queue.put, None)
                self._begun = os.getpid(), queues
        return self._begun[1]


def _serve(queue: SimpleQueue[_Task | None]) -> None:
    while (task := queue.get()) is not None:
        task.done.put((task.number, task.context.run(outcome_of, task.work)))
        del task  # it holds arrays


def outcome_of(work: Callable[[], T]) -> T | Failed:
    """Run a task; return what it returns, or the exception that it raises."""
    try:
        return work()
    except BaseException as error:  # the caller's thread raises it
        return Failed(error)
