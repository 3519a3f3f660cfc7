"""Chunks of arrays that are larger than memory, read ahead by a thread."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from mmap import mmap
from queue import Full, Queue
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.interop import short
from gpuprims.distributed.opening import opened
from gpuprims.errors import ArgumentError, GpuprimsError, ShapeError, StreamError, quoted, said

# Bytes of a chunk if the caller gives no number of rows: a launch and a wait for it then take little of its time.
_BYTES = 64 << 20
# Chunks that are read before they are asked for. Two hide the difference between slow and fast reads.
_AHEAD = 2
# Methods of files and datasets of pyarrow that return batches of rows.
_BATCHES = ("iter_batches", "to_batches")
# How often a waiting reader looks whether it is still wanted, in seconds.
_LOOK = 0.1


class Chunk(NamedTuple):
    """Rows of each array of a source, in memory, with the number of the chunk and of its first row."""

    number: int
    first: int
    arrays: tuple[np.ndarray, ...]


class _Done(NamedTuple):
    """The end of a source, or the error that ended it."""

    error: BaseException | None


class Source:
    """Arrays that are read in chunks of rows, as often as needed.

    A source has a shape, a dtype and slices, as ``numpy.memmap`` and arrays of zarr and h5py do; or batches, as
    ``pyarrow.parquet.ParquetFile`` and datasets of pyarrow; or it is a path of such a file, an iterable of arrays or of
    tuples of them, or a function that returns such an iterable.
    """

    def __init__(self, sources: Sequence[Any], chunk: int | None) -> None:
        if chunk is not None and (type(chunk) is not int or chunk < 1):
            raise ArgumentError(f"stream: chunk= a number of rows from 1 on; got {quoted(chunk)}")
        if not sources:
            raise ArgumentError("stream: at least one source; got none")
        self._name = os.fspath(sources[0]) if isinstance(sources[0], str | os.PathLike) else ""
        sources = tuple(map(opened, sources))
        self._sources, self._chunk, self._begun = sources, chunk, False
        self._sliced = all(_is_sliced(one) for one in sources)
        if self._sliced:
            lengths = {int(one.shape[0]) for one in sources}
            if len(lengths) > 1:
                raise ShapeError(f"stream: sources of one length; got lengths {sorted(lengths)}")
        elif len(sources) > 1:
            raise ArgumentError(
                f"stream: sources with shape, dtype and slices, or one iterable of tuples of arrays; got"
                f" {', '.join(short(one) for one in sources)}"
            )
        elif not (callable(sources[0]) or any(hasattr(sources[0], name) for name in (*_BATCHES, "__iter__"))):
            raise ArgumentError(
                f"stream: an array with slices, such as numpy.memmap, or an iterable of arrays; got {short(sources[0])}"
            )

    @property
    def name(self) -> str:
        """The file of the source, or what it is."""
        return self._name or _name_of(self._sources[0])

    @property
    def rows(self) -> int | None:
        """The number of rows, if the source tells."""
        found: Any = self._sources[0]
        if self._sliced:
            return int(found.shape[0])
        return getattr(getattr(found, "metadata", None), "num_rows", None)  # of Parquet

    def chunks(self, first: int = 0) -> Iterator[Chunk]:
        """Yield the chunks from row ``first`` on in order, while a thread reads the next ones."""
        waiting: Queue[Chunk | _Done] = Queue(_AHEAD)
        stopped = threading.Event()
        thread = threading.Thread(
            target=_read, args=(self._read(first), waiting, stopped), name="gpuprims-read", daemon=True
        )
        thread.start()
        try:
            while not isinstance(found := waiting.get(), _Done):
                yield found
            if found.error is not None:
                raise found.error
        finally:
            stopped.set()
            thread.join()

    def _read(self, first: int) -> Iterator[Chunk]:
        """Yield the chunks, each in memory; an error names the chunk and the file."""
        number, at = (first // self._rows(), first) if self._sliced else (0, 0)
        parts = iter(self._slices(first) if self._sliced else self._items())
        while True:
            try:
                arrays = next(parts, None)
            except GpuprimsError:
                raise
            except Exception as error:
                rows = f" (from row {at:,} on)"
                raise StreamError(number, rows, self.name, f"{type(error).__name__}: {said(error)}") from error
            if arrays is None:
                if first and at <= first:
                    raise ArgumentError(f"stream: rows after {first:,}, to resume; got none in {self.name}")
                return
            left, rows_of_it = max(first - at, 0), arrays[0].shape[0]
            if not left:
                yield Chunk(number, at, arrays)
            elif left < rows_of_it:
                yield Chunk(number, first, tuple(one[left:] for one in arrays))
            number, at = number + 1, at + rows_of_it

    def _slices(self, first: int) -> Iterator[tuple[np.ndarray, ...]]:
        rows, length = self._rows(), int(self._sources[0].shape[0])
        for start in range(first, max(length, 1), rows):  # of no rows, an empty chunk
            yield tuple(_in_memory(one[start : start + rows]) for one in self._sources)

    def _rows(self) -> int:
        if self._chunk is not None:
            return self._chunk
        row = sum(math.prod(map(int, one.shape[1:])) * np.dtype(one.dtype).itemsize for one in self._sources)
        return max(_BYTES // max(int(row), 1), 1)

    def _items(self) -> Iterator[tuple[np.ndarray, ...]]:
        count = 0
        for number, item in enumerate(self._iterable()):
            arrays = _arrays_of(item)
            if (count and len(arrays) != count) or len({one.shape[0] for one in arrays}) > 1:
                shapes = [one.shape for one in arrays]
                raise ShapeError(
                    f"stream: chunk {number}: arrays of one length, as many as before; got shapes {shapes}"
                )
            count = len(arrays)
            rows = self._chunk or max(arrays[0].shape[0], 1)
            for start in range(0, arrays[0].shape[0], rows):
                yield tuple(one[start : start + rows] for one in arrays)

    def _iterable(self) -> Iterable[Any]:
        source: Any = self._sources[0]
        for name in _BATCHES:
            if hasattr(source, name):
                batches: Iterable[Any] = getattr(source, name)(**({"batch_size": self._chunk} if self._chunk else {}))
                return batches
        if callable(source):
            made: Iterable[Any] = source()
            return made
        if iter(source) is source:
            if self._begun:
                hint = "pass a list, or a function that returns an iterator"
                raise ArgumentError(
                    f"stream: a source that can be read again; got an iterator, {short(source)} ({hint})"
                )
            self._begun = True
        found: Iterable[Any] = source
        return found


def _read(chunks: Iterator[Chunk], waiting: Queue[Chunk | _Done], stopped: threading.Event) -> None:
    """Put chunks in a queue until it is no longer wanted."""

    def put(one: Chunk | _Done) -> None:
        while not stopped.is_set():
            try:
                waiting.put(one, timeout=_LOOK)
            except Full:
                continue
            return

    try:
        for one in chunks:
            put(one)
            if stopped.is_set():
                return
        put(_Done(None))
    except BaseException as error:  # the caller's thread raises it
        put(_Done(error))


def _in_memory(rows: Any) -> np.ndarray:
    """Return rows as an array in memory.

    Those of a memmap are copied: it reads the disk where its elements are first used, which would be on the way to a
    device. Those of an array in memory are there.
    """
    base = rows
    while isinstance(base, np.ndarray) and not isinstance(base, np.memmap):
        base = base.base
    return np.array(rows) if type(rows) is not np.ndarray or isinstance(base, mmap | np.memmap) else rows


def _is_sliced(source: Any) -> bool:
    sliced = hasattr(source, "shape") and hasattr(source, "dtype") and hasattr(source, "__getitem__")
    return sliced and len(source.shape) > 0


def _arrays_of(item: Any) -> tuple[np.ndarray, ...]:
    """Return the arrays of an item of an iterable; a batch of pyarrow becomes a matrix of its columns."""
    if hasattr(item, "columns") and hasattr(item, "schema"):
        columns = [np.asarray(column.to_numpy(zero_copy_only=False)) for column in item.columns]
        return (columns[0],) if len(columns) == 1 else (np.column_stack(columns),)
    arrays = tuple(np.asarray(one) for one in (item if isinstance(item, tuple) else (item,)))
    if not arrays or any(one.ndim == 0 for one in arrays):
        raise ShapeError(f"stream: arrays of one axis or more; got {short(item)}")
    return arrays


def _name_of(source: Any) -> str:
    """Return the file that a source reads, if it names one."""
    for find in _FILES:
        try:
            found = find(source)
        except Exception:  # noqa: S112 - the attributes of any library, for a message
            continue
        if found:
            return str(found)
    return short(source)


# Where the file's name is: numpy.memmap, h5py, zarr, pyarrow's and Python's files.
_FILES: tuple[Callable[[Any], Any], ...] = (
    lambda source: source.filename,
    lambda source: f"{source.file.filename}:{source.name}",
    lambda source: f"{source.store}/{source.path}" if hasattr(source, "path") else source.store,
    lambda source: source.reader.name,
    lambda source: source.name,
)
