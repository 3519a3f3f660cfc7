"""Checkpoint: how far a call of a stream came before a chunk could not be read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from gpuprims.distributed.reading import Chunk
from gpuprims.errors import ArgumentError, StreamError, quoted


@dataclass(frozen=True)
class Checkpoint:
    """The state of a call of a stream when a chunk could not be read.

    It is an attribute of the :class:`~gpuprims.errors.StreamError`. ``resume=`` of the same call goes on from there, in
    this process or, since a checkpoint can be pickled, in another one.

    Attributes
    ----------
    call : str
        The call that it belongs to.
    rows : int
        Rows of the source that are in it.
    state : tuple
        What the call computed of them, on the host.

    Examples
    --------
    >>> import gpuprims, numpy as np
    >>> good = [np.ones(3), np.ones(4)]
    >>> def source():
    ...     yield from good[:1]
    ...     raise OSError("no disk")
    >>> try:
    ...     gpuprims.stream(source, device="reference").reduce()
    ... except gpuprims.errors.StreamError as error:
    ...     checkpoint = error.checkpoint
    >>> checkpoint.rows
    3
    >>> float(gpuprims.stream(good, device="reference").reduce(resume=checkpoint))
    7.0
    """

    call: str
    rows: int
    state: tuple[Any, ...]


class Tally:
    """The state of a call after the chunks so far; it begins empty, or with that of a checkpoint."""

    def __init__(self, call: str, resume: Any, empty: tuple[Any, ...]) -> None:
        if resume is not None and not (isinstance(resume, Checkpoint) and resume.call == call):
            got = resume.call if isinstance(resume, Checkpoint) else quoted(resume)
            raise ArgumentError(f"stream: resume= the checkpoint of the same call, {call}; got {got}")
        self._call = call
        self.rows, self.state = (0, empty) if resume is None else (resume.rows, resume.state)

    def add(self, chunk: Chunk, *state: Any) -> None:
        """Note the state after a chunk."""
        self.rows, self.state = chunk.first + chunk.arrays[0].shape[0], state

    def begin(self, *state: Any) -> None:
        """Begin another pass over the source."""
        self.rows, self.state = 0, state

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Leave a checkpoint in the error of a chunk that cannot be read."""
        try:
            yield
        except StreamError as error:
            error.checkpoint = Checkpoint(self._call, self.rows, self.state)
            raise
