"""Operands of the reference backend as NumPy arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from gpuprims.core.kernel_spec import KernelSpec
from gpuprims.expressions import TypedExpr


class Places:
    """The operands of a launch, as arrays of shape (kept, reduced), lanes last."""

    def __init__(self, spec: KernelSpec, memories: Sequence[np.ndarray], layout: np.ndarray) -> None:
        self.spec = spec
        self.memories = memories
        self.accesses = (*spec.inputs, *spec.outputs)
        numbers = iter(layout[1:].tolist())
        kept, reduced = len(self.accesses[0].kept), len(self.accesses[0].reduced)
        self._kept = [next(numbers) for _ in range(kept)]
        self._reduced = [next(numbers) for _ in range(reduced)]
        self._offsets = [next(numbers) for _ in self.accesses]
        self._kept_strides = [[next(numbers) for _ in range(kept)] for _ in self.accesses]
        self._reduced_strides = [[next(numbers) for _ in range(reduced)] for _ in self.accesses]
        self._index = None if spec.index is None else [next(numbers) for _ in range(1 + reduced)]

    def see(self, k: int, *, kept: bool = True, reduced: bool = True) -> np.ndarray:
        """Return a view of an operand along the kept axes, the reduced axes, or both."""
        access, memory = self.accesses[k], self.memories[k]
        item = access.dtype.itemsize
        if memory.dtype != access.dtype:  # scratch memory, which is bytes
            memory = memory.view(access.dtype)
        lengths = [*(self._kept if kept else ()), *(self._reduced if reduced else ()), access.lanes]
        own = [*(self._kept_strides[k] if kept else ()), *(self._reduced_strides[k] if reduced else ())]
        strides = [*(stride * item * access.lanes for stride in own), item]
        start = self._offsets[k] * access.lanes * item
        whole = memory.view(f"V{item}")  # NumPy has no such views of some of ml_dtypes' dtypes
        first = as_strided(whole, (2,), (start,))[1:]  # a slice of the memory would fail for 0-d arrays
        return as_strided(first, lengths, strides).view(access.dtype)

    def elements(self, o: int, n: int) -> list[Any]:
        """Apply MAP to all elements, and return an array of shape (o, n) for each component of a value."""
        loaded = self._loaded(o, n)
        index = np.broadcast_to(np.arange(n) if self._index is None else self._indices(*self._index), (o, n))
        return [np.broadcast_to(value, (o, n)) for value in self.spec.map(*loaded, index)]

    def _indices(self, first: int, *strides: int) -> np.ndarray:
        """Return the index of each element along the reduced axes, where these are not in index order."""
        index = np.full((), first)
        for length, stride in zip(self._reduced, strides, strict=True):
            index = index[..., np.newaxis] + np.arange(length) * stride
        return index.reshape(-1)

    def _loaded(self, o: int, n: int) -> list[np.ndarray]:
        loaded: list[np.ndarray] = []
        for k, access in enumerate(self.spec.inputs):
            whole = self.see(k)
            whole = whole.reshape(o, whole.size // max(o * access.lanes, 1), access.lanes)[:, :n]
            loaded += [whole[..., lane] for lane in range(access.lanes)]
        return loaded

    def store(self, values: Sequence[Any], count: Any, **axes: bool) -> None:
        """Apply STORE to all values: finish them and write them in order, or to their places."""
        finish = self.spec.finish
        if finish is None:
            raise TypeError("STORE: a function that finishes values; got none")
        counted = np.asarray(count).astype(finish.nodes[len(values)].dtype)
        if self.spec.place is not None:
            self._put(finish, self.spec.place, [*values, counted], np.asarray(count))
            return
        elements = self._loaded(*np.shape(values[0])) if self.spec.rereads else ()
        results = iter(finish(*values, counted, *elements))
        for k, access in enumerate(self.spec.outputs, len(self.spec.inputs)):
            place = self.see(k, **axes)
            for lane in range(access.lanes):
                place[..., lane] = np.reshape(next(results), place.shape[:-1])

    def _put(self, finish: TypedExpr, place: TypedExpr, values: Sequence[Any], count: np.ndarray) -> None:
        """Finish the values and write each result to its place. The last value is the number of elements."""
        shape = np.shape(values[0])
        given = [np.broadcast_to(argument, shape) for argument in (*values, *self._loaded(*shape))]
        results = finish(*given)
        given[len(values) - 1] = np.broadcast_to(count, shape)  # as integers; a mean divides by a float
        found = place(*given)
        axes = len(self._kept)
        for k, (result, places) in enumerate(zip(results, found, strict=True), len(self.spec.inputs)):
            kept, whole = np.broadcast_to(places, shape) >= 0, self.see(k)[..., 0]
            if whole.ndim == axes:  # the layout drops axes of one element
                whole = whole[..., np.newaxis]
            walks = np.unravel_index(np.broadcast_to(places, shape)[kept], whole.shape[axes:])
            rows = np.unravel_index(np.nonzero(kept)[0], whole.shape[:axes]) if axes else ()
            at: tuple[Any, ...] = (*rows, *walks)
            whole[at] = np.broadcast_to(result, shape)[kept]
