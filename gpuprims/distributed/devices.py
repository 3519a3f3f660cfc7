"""The devices of a group, and a call that runs on each of them at the same time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, TypeVar

from gpuprims.core.device import Device
from gpuprims.distributed.processes import Processes
from gpuprims.distributed.workers import Failed, Workers, outcome_of
from gpuprims.errors import (
    ArgumentError,
    ArrayError,
    DtypeError,
    ExpressionError,
    NoVariantError,
    ShardError,
    quoted,
    said,
)

T = TypeVar("T")
# Errors about calls, which every device finds alike.
MISTAKES = (ArgumentError, ArrayError, DtypeError, ExpressionError, NoVariantError)


class Devices:
    """Devices in order, with a thread for each, and perhaps those of other processes."""

    def __init__(self, devices: Iterable[str | Device], processes: Processes | None = None) -> None:
        if processes is not None and not isinstance(processes, Processes):
            hint = "write gpuprims.distributed.Processes.from_mpi(communicator)"
            raise ArgumentError(f"DeviceGroup: processes= a Processes; got {quoted(processes)} ({hint})")
        try:
            given = [devices] if isinstance(devices, str | Device) else list(devices)
        except TypeError as error:
            raise ArgumentError(f"DeviceGroup: devices, or their names; got {quoted(devices)}") from error
        if not given:
            raise ArgumentError(f"DeviceGroup: one device or more; got {quoted(devices)}")
        self.devices, self.processes = tuple(map(Device, given)), processes
        self._wait = any(device.driver.shares_host_memory for device in self.devices)
        self._workers: Workers[Any] = Workers(len(self.devices))

    def __len__(self) -> int:
        return len(self.devices)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({[device.spec for device in self.devices]})"

    def __reduce__(self) -> tuple[type[Devices], tuple[list[str]]]:
        """Pickle and copy by specs, because threads cannot be."""
        self.alone("pickle")
        return type(self), ([device.spec for device in self.devices],)

    def each(self, label: str, work: Callable[[int], T]) -> list[T]:
        """Run ``work`` for the number of each device at the same time, and return the results in order.

        If some fail, the others end before this raises: a mistake in the arguments as it is, anything else as a
        :class:`ShardError` that names the first device that failed.
        """
        return self._checked(label, self._workers.run([partial(work, k) for k in range(len(self.devices))]))

    def launch(
        self,
        label: str,
        start: Callable[[int], Any],
        finish: Callable[[int, Any], T],
        then: Callable[[int, Any], Any] | None = None,
    ) -> list[T]:
        """Run ``start`` for the number of each device, then ``finish`` for the number and what ``start`` returned.

        Where calls on devices return before their end, as on GPUs, the caller's thread starts the work of all devices
        before it finishes that of the first: handing work to threads takes ten times as long as starting it. ``then``
        comes between, for what may begin after all devices have work.
        """
        steps = [finish] if then is None else [then, finish]
        if self._wait:
            return self.each(label, lambda k: _in_turn(k, start(k), steps))
        found: list[Any] = []
        for k, device in enumerate(self.devices):
            with _current(device):
                found.append(outcome_of(partial(start, k)))
        for step in steps:
            found = [
                one if isinstance(one, Failed) else outcome_of(partial(step, k, one)) for k, one in enumerate(found)
            ]
        return self._checked(label, found)

    def share(self, label: str, find: Callable[[], T]) -> list[T]:
        """Return the result that each process finds with its devices, in the order of the processes."""
        return [find()] if self.processes is None else self.processes.share(label, find)

    def placed(self, label: str, rows: int) -> tuple[int, int]:
        """Return where this process' rows begin among those of all processes, and how many all have."""
        counts = self.share(label, lambda: rows)
        return sum(counts[: self.rank]), sum(counts)

    @property
    def rank(self) -> int:
        """The number of this process."""
        return 0 if self.processes is None else self.processes.rank

    def alone(self, label: str) -> None:
        """Raise for a call that is of one process."""
        if self.processes is not None and self.processes.size > 1:
            raise ArgumentError(f"{label}: a group of one process; got one of {self.processes.size}")

    def _checked(self, label: str, outcomes: list[Any]) -> list[Any]:
        """Return the results of all devices, or raise the error of one."""
        failures = [(k, outcome.error) for k, outcome in enumerate(outcomes) if isinstance(outcome, Failed)]
        if not failures:
            return outcomes
        for _, error in failures:
            if not isinstance(error, Exception):  # such as KeyboardInterrupt
                raise error
        k, error = failures[0]
        device = self.devices[k]
        if isinstance(error, MISTAKES):
            error.add_note(f"in {label}, on shard {k} of {len(self)}, {device!r}")
            raise error
        raise ShardError(label, k, len(self), repr(device), f"{type(error).__name__}: {said(error)}") from error


def _current(device: Device) -> AbstractContextManager[Any]:
    """Make a device the current one, if its driver knows one: a start makes several calls on it."""
    current = getattr(device.driver, "current", None)
    return nullcontext() if current is None else current()


def _in_turn(k: int, found: Any, steps: Sequence[Callable[[int, Any], Any]]) -> Any:
    for step in steps:
        found = step(k, found)
    return found
