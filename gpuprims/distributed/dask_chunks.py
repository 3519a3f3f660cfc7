"""What a task computes of the chunks of a Dask array; the objects travel to workers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from gpuprims.core.device import device_of
from gpuprims.distributed.splitting import Split, Value, split
from gpuprims.expressions import Expr
from gpuprims.operators import Initial, Op, altered, find_op, masked_map
from gpuprims.operators.dtypes import Dtype, Dtypes
from gpuprims.primitives.histogram import bincount, histogram
from gpuprims.primitives.map import map as map_elements
from gpuprims.primitives.reduce import reduce
from gpuprims.primitives.scan import scan


def on_host(found: Any) -> np.ndarray:
    """Wait for a result, and return it on the host."""
    home = device_of(found)
    return np.asarray(found) if home is None else home.to_host(found)


@dataclass(frozen=True)
class Fold:
    """A fold of chunks: how each folds to the components of a value, and how values join to a result.

    It holds the caller's operator by name where it has one, so workers find the same one, with its compiled kernels.
    """

    op: str | Op
    map: str | Expr | None
    arrays: Dtypes
    axes: tuple[int, ...]
    dtype: Dtype | None = None
    ddof: float = 0
    compensated: bool = False
    where: bool = False
    initial: Initial | None = None
    device: str | None = None

    @property
    def operator(self) -> Op:
        """The operator, with what the keywords change about it."""
        plain = find_op(self.op, ddof=self.ddof, compensated=self.compensated)
        return altered("reduce", plain, where=self.where, initial=self.initial)

    @property
    def split(self) -> Split:
        """The fold in parts; values contain the number of their elements if results need it."""
        return _split_again(self)

    def part(self, *chunks: Any) -> Value:
        """Fold chunks, and the index of their first element if the operator needs it; folded axes have length 1."""
        found = reduce(*chunks, op=self.split.part, axis=self.axes, keepdims=True, device=_host_device(self, chunks))
        return tuple(map(on_host, found if isinstance(found, tuple) else (found,)))

    def join(self, values: Any, axis: Any, keepdims: Any) -> Value:
        """Join the values of a nested list, as Dask passes them."""
        return self.split.join(list(_flat(values)))

    def finish(self, values: Any, axis: Any, keepdims: bool, like: Any = None) -> Any:
        """Join values, and return the result in the library of ``like``."""
        (result,) = self.split.finish(self.join(values, axis, keepdims), 1)
        result = result if keepdims else np.squeeze(result, self.axes)
        return in_library(result, like)


def in_library(result: np.ndarray, like: Any) -> Any:
    """Return a result of the host in the library of an array."""
    return result[()] if isinstance(like, np.ndarray) else np.asarray(result, like=like)


@lru_cache(maxsize=256)
def _split_again(fold: Fold) -> Split:
    function = masked_map("reduce", fold.map, len(fold.arrays) - 1) if fold.where else fold.map
    return split(fold.operator, function, fold.arrays, fold.dtype, "reduce", running=True)


def _host_device(task: Any, chunks: Iterable[Any]) -> str | None:
    """Return ``device=`` for a call on chunks: those of a device say where they lie."""
    return None if any(device_of(chunk) is not None for chunk in chunks) else task.device


def _flat(values: Any) -> Iterator[Value]:
    """Yield the values of nested lists in C order."""
    if isinstance(values, list):
        for one in values:
            yield from _flat(one)
    else:
        yield values


@dataclass(frozen=True)
class Scan:
    """A scan of chunks by Dask's form of Blelloch's algorithm."""

    op: Any  # a name, or an Op
    map: str | Expr | None
    device: str | None = None
    __name__ = "gpuprims-scan"  # of Dask's keys

    def __call__(self, chunk: Any, axis: int, dtype: Any) -> Any:
        """Scan a chunk."""
        return scan(chunk, op=self.op, map=self.map, axis=axis, device=_host_device(self, (chunk,)))

    def total(self, chunk: Any, axis: int, keepdims: bool) -> Any:
        """Fold a chunk."""
        how: dict[str, Any] = {"op": self.op, "map": self.map, "axis": axis, "keepdims": keepdims}
        return reduce(chunk, device=_host_device(self, (chunk,)), **how)

    def join(self, before: Any, chunk: Any) -> Any:
        """Fold the value of earlier chunks with the results of one."""
        return map_elements(find_op(self.op).fold, before, chunk, device=_host_device(self, (chunk,)))


@dataclass(frozen=True)
class Count:
    """Counts of chunks, which are added."""

    bins: Any  # edges, or None for numbers
    minlength: int = 0
    deterministic: bool = True
    device: str | None = None

    def part(self, *chunks: Any) -> np.ndarray:
        """Count the elements of a chunk, or sum their weights."""
        where = _host_device(self, chunks)
        x, weights = (*chunks, None)[:2]
        if self.bins is None:
            return on_host(bincount(x, weights, self.minlength, deterministic=self.deterministic, device=where))
        how = {"weights": weights, "deterministic": self.deterministic, "device": where}
        return on_host(histogram(x, np.asarray(self.bins), **how)[0])

    def join(self, values: Any, axis: Any, keepdims: Any) -> np.ndarray:
        """Add the counts of a nested list; some may have fewer numbers."""
        counts = list(_flat(values))
        total = np.zeros(max(map(len, counts)), np.result_type(*counts))
        for one in counts:
            total[: len(one)] += one
        return total

    def finish(self, values: Any, axis: Any, keepdims: Any, like: Any = None) -> Any:
        """Add counts, and return them in the library of ``like``."""
        return in_library(self.join(values, axis, keepdims), like)
