"""The work of tasks on the chunks of a Dask array; these objects travel to workers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from gpuprims.core.determinism import Level, at_level
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
    level: Level | None = None

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
        """Fold chunks, and the index of their first element if the operator needs it; folded axes have length 1.

        Exact sums, which are joined before they are rounded, have the number of their elements beside them.
        """
        return at_level("reduce", self.level, self._part, *chunks)

    def _part(self, *chunks: Any) -> Value:
        found = self.split.fold(chunks, self.axes, _host_device(self, chunks), keepdims=True)
        hosts = tuple(map(on_host, found if isinstance(found, tuple) else (found,)))
        if not self.split.exact:
            return hosts
        shape = np.broadcast_shapes(*(np.shape(chunk) for chunk in chunks))
        return *hosts, math.prod(shape[k] for k in self.axes)

    def join(self, values: Any, axis: Any, keepdims: Any) -> Value:
        """Join the values of a nested list, as Dask passes them."""
        found = list(_flat(values))
        if not self.split.exact:
            return self.split.join(found)
        return *self.split.join([tuple(words) for *words, _ in found]), sum(count for *_, count in found)

    def finish(self, values: Any, axis: Any, keepdims: bool, like: Any = None) -> Any:
        """Join values, and return the result in the library of ``like``."""
        value = self.join(values, axis, keepdims)
        folded, count = (value[:-1], value[-1]) if self.split.exact else (value, 1)
        (result,) = self.split.finish(folded, count)
        result = result if keepdims else np.squeeze(result, self.axes)
        return in_library(result, like)


def in_library(result: np.ndarray, like: Any) -> Any:
    """Return a result of the host in the library of an array."""
    return result[()] if isinstance(like, np.ndarray) else np.asarray(result, like=like)


@lru_cache(maxsize=256)
def _split_again(fold: Fold) -> Split:
    function = masked_map("reduce", fold.map, len(fold.arrays) - 1) if fold.where else fold.map
    given = fold.operator, function, fold.arrays, fold.dtype, "reduce"
    if fold.level == "order":
        whole: Split = at_level("reduce", fold.level, split, *given)
        if whole.exact:
            return whole
    found: Split = at_level("reduce", fold.level, split, *given, running=True)
    return found


def _host_device(task: Any, chunks: Iterable[Any]) -> str | None:
    """Return ``device=`` for a call on chunks: chunks on a device need none."""
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
    level: Level | None = None
    __name__ = "gpuprims-scan"  # of Dask's keys

    def __call__(self, chunk: Any, axis: int, dtype: Any) -> Any:
        """Scan a chunk."""
        how: dict[str, Any] = {"op": self.op, "map": self.map, "axis": axis, "device": _host_device(self, (chunk,))}
        return at_level("scan", self.level, scan, chunk, **how)

    def total(self, chunk: Any, axis: int, keepdims: bool) -> Any:
        """Fold a chunk."""
        how: dict[str, Any] = {"op": self.op, "map": self.map, "axis": axis, "keepdims": keepdims}
        return at_level("scan", self.level, reduce, chunk, device=_host_device(self, (chunk,)), **how)

    def join(self, before: Any, chunk: Any) -> Any:
        """Fold the value of earlier chunks with the results of one."""
        given = find_op(self.op).fold, before, chunk
        return at_level("scan", self.level, map_elements, *given, device=_host_device(self, (chunk,)))


@dataclass(frozen=True)
class Count:
    """Counts of chunks, which are added."""

    bins: Any  # edges, or None for numbers
    minlength: int = 0
    deterministic: bool = True
    device: str | None = None
    level: Level | None = None

    def part(self, *chunks: Any) -> np.ndarray:
        """Count the elements of a chunk, or sum their weights."""
        where = _host_device(self, chunks)
        x, weights = (*chunks, None)[:2]
        how: dict[str, Any] = {"weights": weights, "deterministic": self.deterministic, "device": where}
        if self.bins is None:
            return on_host(at_level("bincount", self.level, bincount, x, minlength=self.minlength, **how))
        return on_host(at_level("histogram", self.level, histogram, x, np.asarray(self.bins), **how)[0])

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
