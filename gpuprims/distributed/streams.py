"""stream: folds, scans, histograms and fits of arrays that fit in no memory, chunk by chunk."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from gpuprims.core.determinism import Level, asked_level, at_level
from gpuprims.core.device import Device, pick_device
from gpuprims.core.keywords import check_flags
from gpuprims.distributed.checkpoints import Checkpoint, Tally
from gpuprims.distributed.counts import refuse_weights
from gpuprims.distributed.reading import Chunk, Source
from gpuprims.distributed.sharded import beside
from gpuprims.distributed.splitting import Split, Value, split
from gpuprims.distributed.uploading import uploaded, where
from gpuprims.errors import ArgumentError, BackendUnavailableError, EmptyReductionError, quoted
from gpuprims.expressions import computable, expression
from gpuprims.operators import Op, altered, as_initial, find_op
from gpuprims.operators.dtypes import Dtypes
from gpuprims.primitives.axes import as_axis, axes_of
from gpuprims.primitives.histogram import histogram as histogram_one
from gpuprims.primitives.reduce import reduce as reduce_one
from gpuprims.primitives.scan import scan as scan_one


class Stream:
    """Arrays that are read chunk by chunk; :func:`gpuprims.stream` makes it.

    Each method reads the source once. A thread reads the next chunks while the device computes one.
    """

    def __init__(
        self, sources: Sequence[Any], chunk: int | None, device: str | Device | None, *, verbose: bool = False
    ) -> None:
        check_flags("stream", verbose=verbose)
        self._verbose = bool(verbose)
        self.source = Source(sources, chunk)
        self.device = pick_device(None, device)

    def __repr__(self) -> str:
        return f"<gpuprims.stream of {self.source.name} on {self.device.spec}>"

    def reduce(
        self,
        *,
        op: str | Op | Callable[..., Any] = "sum",
        map: Any = None,  # noqa: A002 - the fused map, under the primitive's name
        axis: int | tuple[int, ...] | None = None,
        dtype: Any = None,
        ddof: float = 0,
        compensated: bool = False,
        initial: Any = None,
        resume: Checkpoint | None = None,
        determinism: Level | None = None,
    ) -> Any:
        """Fold elements with an operator; the parameters are those of :func:`gpuprims.reduce`.

        ``axis`` contains the first axis. The host joins the values of chunks in their order. ``resume`` is the
        checkpoint of an error of the same call. At the level "order", sums have the same bits for any chunks.
        """
        if determinism is not None:
            how = {"op": op, "map": map, "axis": axis, "dtype": dtype, "ddof": ddof, "compensated": compensated}
            return at_level("stream.reduce", determinism, self.reduce, **how, initial=initial, resume=resume)
        check_flags("stream.reduce", compensated=compensated)
        plain = find_op(op, ddof=ddof, compensated=compensated)
        operator = altered("reduce", plain, where=False, initial=as_initial("reduce", plain, initial))
        tally = Tally(f"reduce of {_told(operator, map, dtype)}, axis={quoted(axis)}", resume, ([], 0))
        folds, axes = None, tuple[int, ...]()
        with tally.kept():
            for chunk in self.chunks("reduce", tally.rows):
                values, count = tally.state
                if folds is None:
                    folds, axes = _split(operator, map, chunk, dtype), self._axes(axis, chunk)
                value = self._fold(folds, chunk.arrays, axes, count)
                size = math.prod(chunk.arrays[0].shape[k] for k in axes)
                tally.add(chunk, [folds.join([*values, value])], count + size)
        values, count = tally.state
        if folds is None or (not count and not operator.of_nothing):
            raise EmptyReductionError(f"stream.reduce with {operator.name}: at least one element to fold; got none")
        results = [one[()] for one in folds.finish(values[0], count)]
        return results[0] if len(results) == 1 else tuple(results)

    def scan(
        self,
        *,
        op: str | Op | Callable[..., Any] = "sum",
        map: Any = None,  # noqa: A002 - the fused map, under the primitive's name
        dtype: Any = None,
        initial: Any = None,
        resume: Checkpoint | None = None,
    ) -> Iterator[Any]:
        """Yield the running fold along the first axis, an array for each chunk; inclusive, as :func:`gpuprims.scan`.

        A chunk goes on from the value of all elements before it. ``resume`` is the checkpoint of an error of the same
        call; the first array is then that of the chunk that could not be read.
        """
        plain = find_op(op)
        operator = altered("scan", plain, where=False, initial=as_initial("scan", plain, initial))
        tally, folds = Tally(f"scan of {_told(operator, map, dtype)}", resume, (None,)), None
        with tally.kept():
            for chunk in self.chunks("scan", tally.rows):
                if folds is None:
                    folds = _split(operator, map, chunk, dtype, running=True)
                (before,), arrays, ndim = tally.state, chunk.arrays, max(one.ndim for one in chunk.arrays)
                there = where(self.device, arrays[0])
                if before is None:
                    how: dict[str, Any] = {"op": op, "map": map, "dtype": dtype, "initial": initial}
                    found = scan_one(*arrays, axis=0, device=there, **how)
                else:
                    start = np.full((1,) * ndim, chunk.first, np.int64)
                    more = [beside(arrays[0], one, self.device) for one in (start, *before)]
                    found = scan_one(*arrays, *more, op=folds.continued, axis=0, device=there)
                value = self._fold(folds, arrays, (0,), chunk.first, keepdims=True)
                tally.add(chunk, value if before is None else folds.join([before, value]))
                yield self._on_host(found)

    def histogram(
        self,
        bins: Any = 10,
        range: tuple[float, float] | None = None,  # noqa: A002 - NumPy's name
        density: bool | None = None,
        *,
        deterministic: bool = True,
        resume: Checkpoint | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Count the elements in each bin, as :func:`gpuprims.histogram`; a second source has their weights.

        A number of bins without ``range=`` reads the source twice. ``resume`` is the checkpoint of an error of the same
        call.
        """
        if isinstance(bins, str):
            raise ArgumentError(f"stream.histogram: bins= a number or edges; got {quoted(bins)}")
        told = quoted(bins) if np.ndim(bins) == 0 else f"{len(bins)} edges from {bins[0]} to {bins[-1]}"
        searched = range is None and np.ndim(bins) == 0
        counting = ("counts", range, None, np.empty(0))
        tally = Tally(
            f"histogram of {told}, range={quoted(range)}", resume, ("range", None, None) if searched else counting
        )
        with tally.kept():
            if tally.state[0] == "range":
                self._find_range(tally)
            for chunk in self.chunks("histogram", tally.rows):
                _, within, total, edges = tally.state
                x, weights, *rest = (*chunk.arrays, None)
                if rest and rest[0] is not None:
                    raise ArgumentError(f"stream.histogram: a source, and one of weights; got {len(chunk.arrays)}")
                how: dict[str, Any] = {"weights": weights, "deterministic": deterministic}
                refuse_weights("stream.histogram", chunk.arrays[1:])
                counts, edges = self._on_host(histogram_one(x, bins, within, device=where(self.device, x), **how))
                tally.add(chunk, "counts", within, counts if total is None else total + counts, edges)
        _, _, total, edges = tally.state
        if total is None:
            raise EmptyReductionError("stream.histogram: at least one chunk; got none")
        return (total / np.diff(edges) / total.sum() if density else total), edges

    def _find_range(self, tally: Tally) -> None:
        """Find the smallest and the largest element of the first array, 0 and 1 of none as NumPy, and begin again."""
        for chunk in self.chunks("range", tally.rows):
            _, low, high = tally.state
            if chunk.arrays[0].size:
                x = chunk.arrays[0]
                least, most = self._on_host(reduce_one(x, op="minmax", device=where(self.device, x)))
                low, high = (least, most) if low is None else (np.minimum(low, least), np.maximum(high, most))
            tally.add(chunk, "range", low, high)
        _, low, high = tally.state
        tally.begin("counts", (0, 1) if low is None else (low, high), None, np.empty(0))

    def chunks(self, label: str, first: int = 0, *, upload: int | None = None) -> Iterator[Chunk]:
        """Yield the chunks from row ``first`` on, with a progress bar if there shall be one.

        Of the arrays of a chunk, ``upload`` or all may be on the device.
        """
        found = self.source.chunks(first)
        if not self.device.driver.shares_host_memory:
            found = uploaded(found, self.device, upload)
        return _shown(found, f"{label} of {self.source.name}", self.source.rows, first) if self._verbose else found

    def _axes(self, axis: Any, chunk: Chunk) -> tuple[int, ...]:
        ndim = max(one.ndim for one in chunk.arrays)
        axes = axes_of(as_axis(axis), ndim)
        if 0 not in axes:
            raise ArgumentError(f"stream.reduce: axis= with the first axis, along which chunks lie; got {quoted(axis)}")
        return axes

    def _fold(
        self, folds: Split, arrays: Sequence[np.ndarray], axes: tuple[int, ...], first: int, *, keepdims: bool = False
    ) -> Value:
        """Fold a chunk to a value, given the index of its first element along the folded axes."""
        given = list(arrays)
        if folds.indexed:
            index = np.full((1,) * max(one.ndim for one in arrays), first, np.int64)
            given.append(beside(arrays[0], index, self.device))
        there = where(self.device, arrays[0])
        found = self._on_host(folds.fold(given, axes, there, keepdims=keepdims))
        return tuple(map(np.asarray, found if isinstance(found, tuple) else (found,)))

    def _on_host(self, found: Any) -> Any:
        """Wait for a result, or several, and return it on the host."""
        if isinstance(found, tuple):
            return tuple(map(self._on_host, found))
        return found if isinstance(found, np.ndarray | np.generic) else self.device.to_host(found)


def _split(operator: Op, mapped: Any, chunk: Chunk, dtype: Any, *, running: bool = False) -> Split:
    """Return the fold of chunks like this one."""
    dtypes: Dtypes = tuple(one.dtype for one in chunk.arrays)
    function = None if mapped is None else expression(mapped, len(dtypes))
    chosen = None if dtype is None else computable(dtype, "reduce")
    return split(operator, function, dtypes, chosen, "scan" if running else "reduce", running=running)


def _told(operator: Op, mapped: Any, dtype: Any) -> str:
    """Return a description that is equal for equal calls."""
    function = getattr(mapped, "__qualname__", mapped)
    level = asked_level()
    at = "" if level is None else f", at {level!r}"
    return f"{operator.name}, map={quoted(function)}, dtype={quoted(dtype)}{at}"


def _shown(chunks: Iterator[Chunk], label: str, rows: int | None, first: int) -> Iterator[Chunk]:
    """Yield chunks, and show how many rows of a source are done."""
    try:
        from tqdm import tqdm
    except ImportError as error:
        raise BackendUnavailableError("tqdm", "verbose=True needs tqdm", "pip install tqdm") from error
    with tqdm(total=rows, initial=first, desc=label, unit=" rows", unit_scale=True) as bar:
        for chunk in chunks:
            yield chunk
            bar.update(chunk.arrays[0].shape[0])


def stream(
    *sources: Any, chunk: int | None = None, device: str | Device | None = None, verbose: bool = False
) -> Stream:
    """Read arrays chunk by chunk, to fold, scan or count data that does not fit in memory.

    Parameters
    ----------
    *sources : array_like, path, iterable or callable
        Arrays with slices, such as :class:`numpy.memmap` and arrays of zarr and h5py, of one length; or one iterable of
        arrays, or of tuples of them, such as a list, a function that returns an iterator, or a
        ``pyarrow.parquet.ParquetFile``. Paths of such files end in .npy, .zarr, .parquet, .h5 or .hdf5; an HDF5 file
        with several datasets needs the name of one, "data.h5:X". Several arrays are the arguments of a ``map=``, an
        array and its weights, or samples, labels and sample weights.
    chunk : int, optional
        Rows of a chunk. By default as many as fill 64 MiB, or those of each item of an iterable.
    device : str or Device, optional
        Where to compute.
    verbose : bool, default False
        Show a progress bar of each pass over the source.

    Returns
    -------
    Stream
        With the methods ``reduce``, ``scan`` and ``histogram``; :class:`gpuprims.distributed.LogReg` takes it, too.

    Raises
    ------
    ArgumentError, ShapeError
        Something that cannot be read in chunks, or sources of several lengths.
    StreamError
        Raised by the methods: a chunk cannot be read. The message names the chunk and the file, and ``checkpoint`` is a
        :class:`gpuprims.distributed.Checkpoint`, from which the same call goes on.
    BackendUnavailableError
        The library of a path's kind of file is not installed.

    Notes
    -----
    A thread reads two chunks ahead. So a pass takes as long as the slower of reading and computing, and needs memory
    for four chunks.

    Examples
    --------
    >>> import gpuprims, numpy as np
    >>> x = np.arange(10, dtype=np.float32)
    >>> float(gpuprims.stream(x, chunk=4, device="reference").reduce(op="mean"))
    4.5
    >>> [part.tolist() for part in gpuprims.stream(x, chunk=4, device="reference").scan(op="max")]
    [[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0], [8.0, 9.0]]
    >>> float(gpuprims.stream([x, x], device="reference").reduce())
    90.0
    """
    return Stream(sources, chunk, device, verbose=verbose)
