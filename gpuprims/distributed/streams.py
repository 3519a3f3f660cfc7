"""stream: folds, scans, histograms and fits of arrays that fit in no memory, chunk by chunk."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from gpuprims.core.device import Device, pick_device
from gpuprims.core.keywords import check_flags
from gpuprims.distributed.reading import Chunk, Source
from gpuprims.distributed.splitting import Split, Value, split
from gpuprims.errors import ArgumentError, EmptyReductionError, quoted
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

    def __init__(self, sources: Sequence[Any], chunk: int | None, device: str | Device | None) -> None:
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
    ) -> Any:
        """Fold elements with an operator; the parameters are those of :func:`gpuprims.reduce`.

        ``axis`` contains the first axis. The host joins the values of chunks in their order.
        """
        check_flags("stream.reduce", compensated=compensated)
        plain = find_op(op, ddof=ddof, compensated=compensated)
        operator = altered("reduce", plain, where=False, initial=as_initial("reduce", plain, initial))
        values, count, folds = list[Value](), 0, None
        axes: tuple[int, ...] = ()
        for chunk in self.source.chunks():
            if folds is None:
                folds, axes = _split(operator, map, chunk, dtype), self._axes(axis, chunk)
            size = math.prod(chunk.arrays[0].shape[k] for k in axes)
            values = [folds.join([*values, self._fold(folds, chunk.arrays, axes, count)])]
            count += size
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
    ) -> Iterator[Any]:
        """Yield the running fold along the first axis, an array for each chunk; inclusive, as :func:`gpuprims.scan`.

        A chunk goes on from the value of all elements before it.
        """
        plain = find_op(op)
        operator = altered("scan", plain, where=False, initial=as_initial("scan", plain, initial))
        folds, before, first = None, None, 0
        for chunk in self.source.chunks():
            if folds is None:
                folds = _split(operator, map, chunk, dtype, running=True)
            arrays, ndim = chunk.arrays, max(one.ndim for one in chunk.arrays)
            if before is None:
                how: dict[str, Any] = {"op": op, "map": map, "dtype": dtype, "initial": initial}
                yield scan_one(*arrays, axis=0, device=self.device, **how)
            else:
                start = np.full((1,) * ndim, first, np.int64)
                yield scan_one(*arrays, start, *before, op=folds.continued, axis=0, device=self.device)
            value = self._fold(folds, arrays, (0,), first, keepdims=True)
            before = value if before is None else folds.join([before, value])
            first += arrays[0].shape[0]

    def histogram(
        self,
        bins: Any = 10,
        range: tuple[float, float] | None = None,  # noqa: A002 - NumPy's name
        density: bool | None = None,
        *,
        deterministic: bool = True,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Count the elements in each bin, as :func:`gpuprims.histogram`; a second source has their weights.

        A number of bins without ``range=`` reads the source twice.
        """
        if isinstance(bins, str):
            raise ArgumentError(f"stream.histogram: bins= a number or edges; got {quoted(bins)}")
        if range is None and np.ndim(bins) == 0:
            range = self._range()  # noqa: A001 - NumPy's name
        total: Any = None
        edges = np.empty(0)
        for chunk in self.source.chunks():
            x, weights, *rest = (*chunk.arrays, None)
            if rest and rest[0] is not None:
                raise ArgumentError(f"stream.histogram: a source, and one of weights; got {len(chunk.arrays)}")
            how: dict[str, Any] = {"weights": weights, "deterministic": deterministic, "device": self.device}
            counts, edges = histogram_one(x, bins, range, **how)
            total = counts if total is None else total + counts
        if total is None:
            raise EmptyReductionError("stream.histogram: at least one chunk; got none")
        return (total / np.diff(edges) / total.sum() if density else total), edges

    def _range(self) -> tuple[Any, Any]:
        """Return the smallest and the largest element of the first array; 0 and 1 of none, as NumPy."""
        found = [
            reduce_one(chunk.arrays[0], op="minmax", device=self.device)
            for chunk in self.source.chunks()
            if chunk.arrays[0].size
        ]
        return (np.min([low for low, _ in found]), np.max([high for _, high in found])) if found else (0, 1)

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
            given.append(np.full((1,) * max(one.ndim for one in arrays), first, np.int64))
        found = reduce_one(*given, op=folds.part, axis=axes, keepdims=keepdims, device=self.device)
        return tuple(map(np.asarray, found if isinstance(found, tuple) else (found,)))


def _split(operator: Op, mapped: Any, chunk: Chunk, dtype: Any, *, running: bool = False) -> Split:
    """Return the fold of chunks like this one."""
    dtypes: Dtypes = tuple(one.dtype for one in chunk.arrays)
    function = None if mapped is None else expression(mapped, len(dtypes))
    chosen = None if dtype is None else computable(dtype, "reduce")
    return split(operator, function, dtypes, chosen, "scan" if running else "reduce", running=running)


def stream(*sources: Any, chunk: int | None = None, device: str | Device | None = None) -> Stream:
    """Read arrays chunk by chunk, to fold, scan or count what fits in no memory.

    Parameters
    ----------
    *sources : array_like, iterable or callable
        Arrays with slices, such as :class:`numpy.memmap` and arrays of zarr and h5py, of one length; or one iterable of
        arrays, or of tuples of them, such as a list, a function that returns an iterator, or a
        ``pyarrow.parquet.ParquetFile``. Several arrays are the arguments of a ``map=``, an array and its weights, or
        samples, labels and sample weights.
    chunk : int, optional
        Rows of a chunk. By default those of 64 MiB, or of an iterable's items.
    device : str or Device, optional
        Where to compute.

    Returns
    -------
    Stream
        With the methods ``reduce``, ``scan`` and ``histogram``; :class:`gpuprims.distributed.LogReg` takes it, too.

    Raises
    ------
    ArgumentError, ShapeError
        Something that cannot be read in chunks, or sources of several lengths.
    StreamError
        Raised by the methods: a chunk cannot be read. The message names the chunk and the file.

    Notes
    -----
    A thread reads two chunks ahead. So a pass takes the longer time of reading and of computing, and memory for four
    chunks.

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
    return Stream(sources, chunk, device)
