"""What the launches of a selection need to know of a call."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.driver import Kernel
from gpuprims.core.layout import Layout
from gpuprims.core.variant import Variant
from gpuprims.expressions import trace, typed
from gpuprims.primitives.selection.spec import SelectionSpec

_INT64 = np.dtype(np.int64)
_ELEMENT = trace(lambda x, rank, j: x, 3)


class Rows(NamedTuple):
    """Rows of ``n`` elements; ``together`` ranks of each row are close to each other."""

    outputs: int
    n: int
    together: int


class Work(NamedTuple):
    """A selection from rows; with ``nan_wins``, a row with a NaN gives NaN."""

    device: Device
    variant: Variant
    layout: Layout
    rows: Rows
    nan_wins: bool

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of elements."""
        return self.layout.forms[0].dtype

    @property
    def many(self) -> bool:
        """True if rows have too many elements for 32-bit counts."""
        return self.rows.n >= 2**32

    def groups(self, tasks: int) -> int:
        """Return how many groups share some tasks."""
        return self.variant.groups(tasks, self.device.capabilities)

    def kernel(self, kind: type[SelectionSpec], **more: Any) -> Kernel:
        """Return the kernel with a spec of some kind, which may need ``more`` than others."""
        accesses, dtypes = self.layout.accesses, (self.dtype,)
        function = typed(_ELEMENT, (self.dtype, _INT64, _INT64), dtypes)
        how = {"many": self.many, "nan_wins": self.nan_wins and self.dtype.kind == "f", **more}
        return self.device.kernel(self.variant, kind(accesses[:2], accesses[2:], dtypes, function, **how))
