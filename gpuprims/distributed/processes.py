"""Processes that share the work of a group: each has devices and rows of its own, and all get the same results."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from itertools import count
from typing import Any, TypeVar

from gpuprims.distributed.workers import Failed, outcome_of
from gpuprims.errors import ArgumentError, ShardError, quoted, said

T = TypeVar("T")


class Processes:
    """The processes of a group, by a communicator of another library.

    Parameters
    ----------
    rank, size : int
        The number of this process, from 0 on, and of all of them.
    gather : callable
        Gets an object of this process, and returns the list of those of all processes, in order of their ranks. All
        processes call it, in the same order. Objects can be pickled.

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

    def __init__(self, rank: int, size: int, gather: Callable[[Any], list[Any]]) -> None:
        if not (type(rank) is type(size) is int and 0 <= rank < size):
            raise ArgumentError(f"Processes: a rank from 0 to size - 1; got {quoted(rank)} of {quoted(size)}")
        self.rank, self.size, self._gather = rank, size, gather
        self.communicators: dict[tuple[int, ...], list[Any]] = {}  # NCCL's, by the numbers of this process' GPUs

    @classmethod
    def from_mpi(cls, communicator: Any) -> Processes:
        """Return the processes of a communicator of mpi4py, such as ``MPI.COMM_WORLD``."""
        return cls(communicator.Get_rank(), communicator.Get_size(), communicator.allgather)

    @classmethod
    def from_store(cls, store: Any, rank: int, size: int) -> Processes:
        """Return the processes that share a store of ``torch.distributed``, such as a ``TCPStore``."""
        calls = count()

        def key(call: int, of: int) -> str:
            return f"gpuprims-{call}-{of}"

        def gather(own: Any) -> list[Any]:
            call = next(calls)
            if call > 1:  # all have read this one, because all have begun the call after it
                store.delete_key(key(call - 2, rank))
            store.set(key(call, rank), pickle.dumps(own))
            return [pickle.loads(store.get(key(call, k))) for k in range(size)]  # noqa: S301 - of the user's processes

        return cls(rank, size, gather)

    def __repr__(self) -> str:
        return f"<gpuprims process {self.rank} of {self.size}>"

    def share(self, label: str, find: Callable[[], T]) -> list[T]:
        """Return what all processes find, in order; if one of them fails, all raise."""
        own = outcome_of(find)
        told = (f"{type(own.error).__name__}: {said(own.error)}", None) if isinstance(own, Failed) else ("", own)
        everybody = self._gather(told)
        if isinstance(own, Failed):
            raise own.error
        for k, (reason, _) in enumerate(everybody):
            if reason:
                raise ShardError(label, k, self.size, f"process {k}", reason)
        return [found for _, found in everybody]
