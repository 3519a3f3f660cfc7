"""Runs: neighbours that are equal."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from gpuprims.core.operands import Operands
from gpuprims.expressions import trace
from gpuprims.primitives.compact import compact
from gpuprims.primitives.grouping.indices import numbers
from gpuprims.primitives.map import map as map_arrays

_BOOL = np.dtype(np.bool_)
_TRUE = trace(lambda element: True, 1)
_LENGTH = trace(lambda first, second: (second - first).astype(np.int64), 2)


class Runs:
    """The runs of an array along one axis, which has elements.

    Parameters
    ----------
    operands : Operands
        The call.
    elements : array
        On the device, or on a host whose memory it shares.
    equal_nan : bool, default True
        True if NaN are equal to each other.
    indices : array, optional
        The numbers of the elements, and of the end.
    """

    def __init__(self, operands: Operands, elements: Any, *, equal_nan: bool = True, indices: Any = None) -> None:
        self.elements = elements
        self.size = int(elements.shape[0])
        self._operands, self._device = operands, operands.device
        self._equal_nan, self._indices = equal_nan, indices

    @cached_property
    def indices(self) -> Any:
        """The numbers of the elements, and of the end."""
        return numbers(self.size + 1, self.elements, self._device) if self._indices is None else self._indices

    @cached_property
    def marks(self) -> Any:
        """True for each element that begins a run, and for the end."""
        cut, device, n = self._operands.cut, self._device, self.size
        marks = self._operands.empty((n + 1,), _BOOL)
        for end in (0, n):
            map_arrays(_TRUE, cut(self.elements, 0, (1,)), out=cut(marks, end, (1,)), device=device)
        if n > 1:
            differ = "a != b"
            if self.elements.dtype.kind == "f" and self._equal_nan:
                differ = "(a != b) & ((a == a) | (b == b))"
            neighbours = cut(self.elements, 0, (n - 1,)), cut(self.elements, 1, (n - 1,))
            map_arrays(differ, *neighbours, out=cut(marks, 1, (n - 1,)), device=device)
        return marks

    @cached_property
    def offsets(self) -> Any:
        """Where each run begins, and the end, as in CSR. A call waits for the number of runs."""
        return compact(self.indices, self.marks, device=self._device)

    @property
    def count(self) -> int:
        """The number of runs."""
        return int(self.offsets.shape[0]) - 1

    @cached_property
    def begins(self) -> Any:
        """Where each run begins."""
        return self._operands.cut(self.offsets, 0, (self.count,))

    @property
    def values(self) -> Any:
        """The first element of each run."""
        marks = self._operands.cut(self.marks, 0, (self.size,))
        return compact(self.elements, marks, device=self._device)

    @property
    def lengths(self) -> Any:
        """The number of elements of each run, as int64."""
        behind = self._operands.cut(self.offsets, 1, (self.count,))
        return map_arrays(_LENGTH, self.begins, behind, device=self._device)
