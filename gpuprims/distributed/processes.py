"""Processes that share the work of a group: each has devices and rows of its own, and all get the same results."""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, TypeVar

from gpuprims.distributed.workers import Failed, outcome_of
from gpuprims.errors import ArgumentError, ShardError, quoted, said

T = TypeVar("T")
# The calls whose keys a store keeps. All processes have read those of earlier ones, because all have begun a later one.
_CALLS_KEPT = 2


class Processes:
    """The processes of a group, by a communicator of another library.

    Parameters
    ----------
    rank, size : int
        The number of this process, from 0 on, and of all of them.
    gather : callable
        Gets an object of this process, and returns the list of those of all processes, in order of their ranks. All
        processes call it, in the same order. Objects can be pickled.
    swap : callable, optional
        Gets a list of objects, one for each process, and returns the list of those that the processes have for this
        one. By default, ``gather`` brings all of them to all processes.

    Notes
    -----
    Every process makes the same calls on its group. If one of them fails, all raise.

    Examples
    --------
    >>> import gpuprims
    >>> alone = gpuprims.distributed.Processes(0, 1, lambda own: [own])
    >>> group = gpuprims.DeviceGroup(["reference"], processes=alone)
    >>> int(group.reduce(group.scatter([1, 2, 3])))
    6
    """

    def __init__(
        self,
        rank: int,
        size: int,
        gather: Callable[[Any], list[Any]],
        swap: Callable[[list[Any]], list[Any]] | None = None,
    ) -> None:
        if not (type(rank) is type(size) is int and 0 <= rank < size):
            raise ArgumentError(f"Processes: a rank from 0 to size - 1; got {quoted(rank)} of {quoted(size)}")
        self.rank, self.size, self._gather = rank, size, gather
        self._swap = self._swap_by_gather if swap is None else swap
        self.communicators: dict[tuple[int, ...], list[Any]] = {}  # NCCL's, by the numbers of this process' GPUs

    @classmethod
    def from_mpi(cls, communicator: Any) -> Processes:
        """Return the processes of a communicator of mpi4py, such as ``MPI.COMM_WORLD``."""
        return cls(communicator.Get_rank(), communicator.Get_size(), communicator.allgather, communicator.alltoall)

    @classmethod
    def from_store(cls, store: Any, rank: int, size: int) -> Processes:
        """Return the processes that share a store of ``torch.distributed``, such as a ``TCPStore``."""
        calls, kept = count(), deque[list[str]]()

        def send(named: dict[str, Any]) -> None:
            kept.append(list(named))
            if len(kept) > _CALLS_KEPT:
                for key in kept.popleft():
                    store.delete_key(key)
            for key, own in named.items():
                store.set(key, pickle.dumps(own))

        def read(key: str) -> Any:
            return pickle.loads(store.get(key))  # noqa: S301 - of the user's processes

        def gather(own: Any) -> list[Any]:
            call = next(calls)
            send({f"gpuprims-{call}-{rank}": own})
            return [read(f"gpuprims-{call}-{k}") for k in range(size)]

        def swap(own: list[Any]) -> list[Any]:
            call = next(calls)
            send({f"gpuprims-{call}-{rank}-{k}": one for k, one in enumerate(own)})
            return [read(f"gpuprims-{call}-{k}-{rank}") for k in range(size)]

        return cls(rank, size, gather, swap)

    def __repr__(self) -> str:
        return f"<gpuprims process {self.rank} of {self.size}>"

    def share(self, label: str, find: Callable[[], T]) -> list[T]:
        """Return the results of all processes, in order; if one of them fails, all raise."""
        own = outcome_of(find)
        return self._told(label, own, self._gather(_told_of(own)))

    def swap(self, label: str, find: Callable[[], Sequence[T]]) -> list[T]:
        """Give each process its own of the objects found, and return those for this one; if one fails, all raise."""
        own = outcome_of(find)
        parts = [own] * self.size if isinstance(own, Failed) else own
        return self._told(label, own, self._swap([_told_of(part) for part in parts]))

    def _swap_by_gather(self, parts: list[Any]) -> list[Any]:
        return [sent[self.rank] for sent in self._gather(parts)]

    def _told(self, label: str, own: Any, everybody: Sequence[tuple[str, Any]]) -> list[Any]:
        """Return the objects that all processes sent, or raise the error of one."""
        if isinstance(own, Failed):
            raise own.error
        for k, (reason, _) in enumerate(everybody):
            if reason:
                raise ShardError(label, k, self.size, f"process {k}", reason)
        return [found for _, found in everybody]


def _told_of(own: Any) -> tuple[str, Any]:
    """Return the message to other processes: a reason if this one failed, and an object."""
    return (f"{type(own.error).__name__}: {said(own.error)}", None) if isinstance(own, Failed) else ("", own)
