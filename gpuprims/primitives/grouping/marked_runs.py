"""Runs in large arrays: a map marks the first element of each run, and compact selects by these marks."""

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


class MarkedRuns:
    """The runs of a one-dimensional array of at least two elements.

    Parameters
    ----------
    operands : Operands
        The call.
    elements : array
        The array, on the device or on a host whose memory the device shares.
    equal_nan : bool
        True if NaN equals NaN.
    """

    def __init__(self, operands: Operands, elements: Any, *, equal_nan: bool) -> None:
        self.elements = elements
        self.size = int(elements.shape[0])
        self._operands, self._device = operands, operands.device
        self._equal_nan = equal_nan

    @cached_property
    def marks(self) -> Any:
        """A mask of the elements that begin a run, with a True at the end."""
        cut, device, n = self._operands.cut, self._device, self.size
        marks = self._operands.empty((n + 1,), _BOOL)
        for end in (0, n):
            map_arrays(_TRUE, cut(self.elements, 0, (1,)), out=cut(marks, end, (1,)), device=device)
        differ = "a != b"
        if self.elements.dtype.kind in "fc" and self._equal_nan:
            differ = "(a != b) & ((a == a) | (b == b))"
        neighbours = cut(self.elements, 0, (n - 1,)), cut(self.elements, 1, (n - 1,))
        map_arrays(differ, *neighbours, out=cut(marks, 1, (n - 1,)), device=device)
        return marks

    @property
    def offsets(self) -> Any:
        """The offsets of runs, as in CSR."""
        return compact(numbers(self.size + 1, self.elements, self._device), self.marks, device=self._device)

    @property
    def values(self) -> Any:
        """The first element of each run."""
        marks = self._operands.cut(self.marks, 0, (self.size,))
        return compact(self.elements, marks, device=self._device)
