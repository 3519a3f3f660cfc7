"""The long task of a fit on each worker of Dask, and the client that asks it for passes.

A task keeps the samples of some blocks, and answers messages until the client ends it. It tells by a queue of Dask's
scheduler where it runs; after that, a pass is one remote call to each worker. If a worker is lost, Dask runs its task
and the blocks that it needs elsewhere; the new task tells where it is, and the client repeats the call.
"""

from __future__ import annotations

import asyncio
import pickle
import time
from collections.abc import Callable, Sequence
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
from dask.distributed import Queue, get_worker, secede

from gpuprims.distributed.dask_parts import Blocks, Facts
from gpuprims.distributed.devices import MISTAKES
from gpuprims.distributed.passes import Pass
from gpuprims.distributed.samples import LABEL
from gpuprims.distributed.workers import Failed, outcome_of
from gpuprims.errors import ArgumentError, ShardError, said

# How often a task looks whether it is still wanted, and the client whether a task has begun, in seconds.
_LOOK, _WAIT = 1.0, 0.02
# How long the client tries to reach a worker without the scheduler, and to end tasks, in seconds.
_REACH = 3.0
_OPERATION = "gpuprims_pass"
# By token: the messages to each task of this process, with functions that take the answers.
_INBOXES: dict[str, SimpleQueue[tuple[bytes, Callable[[bytes | None], Any]]]] = {}
_PING, _END = b"", b"end"


class Fit(NamedTuple):
    """Facts that the tasks of a fit share: the name of their queue, the device, and if there are intercepts."""

    name: str
    device: str | None
    intercept: bool


class Arrival(NamedTuple):
    """A task that has begun: its number, its worker, the token of its messages, and its facts or what failed."""

    number: int
    address: str
    token: str
    outcome: Any


# On a worker ---------------------------------------------------------------------------------------------------------


def serve(fit: Fit, number: int, X: Sequence[Any], y: Sequence[Any], weights: Sequence[Any] | None) -> None:
    """Keep the samples of blocks, and compute passes until the client ends this task."""
    worker, token = get_worker(), uuid4().hex
    key = worker.get_current_task()
    secede()  # so that a worker with one thread can compute the blocks of another one that is lost
    inbox = _INBOXES[token] = SimpleQueue()
    worker.handlers[_OPERATION] = _receive
    try:
        made = outcome_of(lambda: Blocks(fit.device, X, y, weights, intercept=fit.intercept))
        found = _sendable(made) if isinstance(made, Failed) else made.facts
        Queue(fit.name).put(pickle.dumps(Arrival(number, worker.address, token, found)))
        while not isinstance(made, Failed):
            try:
                data, answer = inbox.get(timeout=_LOOK)
            except Empty:
                if not _wanted(worker, key):
                    return
                continue
            if data == _END:
                answer(_END)
                return
            message = pickle.loads(data)  # noqa: S301 - Dask's own connections carry it
            outcome = outcome_of(partial(_done, made, message))
            answer(pickle.dumps(_sendable(outcome) if isinstance(outcome, Failed) else outcome))
    finally:
        del _INBOXES[token]
        while not inbox.empty():
            inbox.get()[1](None)


def _done(blocks: Blocks, message: Pass | np.ndarray) -> Any:
    """Run a pass, or begin the fit with its classes."""
    return blocks.run(message) if isinstance(message, Pass) else blocks.begin(message)


async def _receive(token: str, data: bytes) -> bytes | None:
    """Give a message to a task of this worker, and return its answer; None if there is no such task."""
    inbox = _INBOXES.get(token)
    if inbox is None or data == _PING:
        return None if inbox is None else _PING
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[bytes | None] = loop.create_future()

    def settle(found: bytes | None) -> None:
        if not answer.done():
            answer.set_result(found)

    inbox.put((data, lambda found: loop.call_soon_threadsafe(settle, found)))
    return await answer


def _wanted(worker: Any, key: str) -> bool:
    """Return False for a task that the scheduler no longer knows, as if its client is gone."""
    state = worker.state.tasks.get(key)
    return state is not None and state.state in ("executing", "long-running")


def _sendable(failed: Failed) -> Failed:
    """Return a failure whose exception can be read again elsewhere."""
    try:
        pickle.loads(pickle.dumps(failed))  # noqa: S301 - just made
    except Exception:
        return Failed(RuntimeError(f"{type(failed.error).__name__}: {said(failed.error)}"))
    return failed


# In the client -------------------------------------------------------------------------------------------------------


class Tasks:
    """The tasks of a fit on the workers of a client of Dask."""

    def __init__(self, client: Any, fit: Fit, count: int, submit: Callable[[int], Any]) -> None:
        self._client, self._count = client, count
        self._queue = Queue(fit.name, client=client)
        self._where: dict[int, Arrival] = {}
        self._facts: dict[int, Facts | None] = {}
        self._begun: set[str] = set()
        self._classes: bytes | None = None
        self._direct = client.direct_to_workers is not False
        self._futures = [submit(k) for k in range(count)]

    def facts(self) -> Facts:
        """Wait for all tasks, and return the facts of their samples."""
        while len(self._facts) < self._count:
            self._meet([k for k in range(self._count) if k not in self._facts])
        if self._direct:
            self._direct = self._client.sync(self._reached, self._where[0])
        return Facts.join([self._facts[k] for k in range(self._count)])

    def begin(self, classes: np.ndarray) -> None:
        """Tell the classes; each task gets them before its first pass."""
        self._classes = pickle.dumps(classes)

    def each(self, work: Pass) -> list[Any]:
        """Run a pass in each task, and return the results in order, of those that have samples."""
        data, results = pickle.dumps(work), dict[int, Any]()
        while missing := [k for k in range(self._count) if k not in results]:
            for k, answer in zip(missing, self._client.sync(self._ask, missing, data), strict=True):
                if answer is not None:
                    results[k] = self._checked(k, pickle.loads(answer))  # noqa: S301 - of a worker of ours
            if len(results) < self._count:
                self._meet([k for k in missing if k not in results])
        return [results[k] for k in range(self._count) if results[k] is not None]

    def close(self) -> None:
        """End the tasks. Those that do not hear of it end when the scheduler has forgotten them."""
        if self._client.status == "running":
            self._client.sync(self._end)
            self._client.cancel(self._futures)
            self._queue.close()
        self._futures = []

    def _meet(self, missing: Sequence[int]) -> None:
        """Note the tasks that have begun; raise if one of those that are missing has failed."""
        for data in self._queue.get(batch=True):
            self._arrived(pickle.loads(data))  # noqa: S301 - of a worker of ours
        for k in missing:
            self._look(k)
        time.sleep(_WAIT)

    def _arrived(self, task: Arrival) -> None:
        k, facts = task.number, self._checked(task.number, task.outcome, task.address)
        if k in self._facts and facts != self._facts[k]:
            rule = f"{LABEL}: blocks that have the same samples when Dask computes them again"
            raise ArgumentError(f"{rule}; got other ones after worker {self._where[k].address} was lost")
        self._facts[k], self._where[k] = facts, task

    def _look(self, k: int) -> None:
        """Raise if Dask gave up a task."""
        future = self._futures[k]
        begun = k in self._facts  # a task that could not begin tells why, and ends
        if future.status == "pending" or (future.status == "finished" and not begun):
            return
        error = future.exception() if future.status == "error" else None
        reason = f"its task is {future.status}" if error is None else f"{type(error).__name__}: {said(error)}"
        raise ShardError(f"{LABEL}.fit", k, self._count, "a worker of Dask", reason) from error

    def _checked(self, k: int, outcome: Any, address: str = "") -> Any:
        """Return a task's result, or raise its error."""
        if not isinstance(outcome, Failed):
            return outcome
        error, where = outcome.error, f"worker {address or self._where[k].address}"
        if isinstance(error, MISTAKES):
            error.add_note(f"in {LABEL}.fit, on shard {k} of {self._count}, {where}")
            raise error
        raise ShardError(f"{LABEL}.fit", k, self._count, where, f"{type(error).__name__}: {said(error)}") from error

    async def _ask(self, numbers: Sequence[int], data: bytes) -> list[bytes | None]:
        return await asyncio.gather(*(self._answer(self._where[k], data) for k in numbers))

    async def _answer(self, task: Arrival, data: bytes) -> bytes | None:
        """Return a task's answer; None if it is lost."""
        try:
            if task.token not in self._begun and self._classes is not None:
                if await self._send(task, self._classes) is None:
                    return None
                self._begun.add(task.token)
            return await self._send(task, data)
        except OSError:  # Dask's CommClosedError is one
            return None

    async def _send(self, task: Arrival, data: bytes) -> bytes | None:
        message = {"token": task.token, "data": data}
        if self._direct:
            found: bytes | None = await getattr(self._client.rpc(task.address), _OPERATION)(**message)
            return found
        answer: bytes | None = await self._client.scheduler.proxy(
            worker=task.address, msg={"op": _OPERATION, **message}
        )
        return answer

    async def _reached(self, task: Arrival) -> bool:
        """Return True if a worker can be called without the scheduler between."""
        try:
            await asyncio.wait_for(self._send(task, _PING), _REACH)
        except (OSError, TimeoutError):
            return False
        return True

    async def _end(self) -> None:
        if ending := [asyncio.ensure_future(self._answer(one, _END)) for one in self._where.values()]:
            await asyncio.wait(ending, timeout=_REACH)
