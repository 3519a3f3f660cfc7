"""A fold by the fixed tree of :mod:`gpuprims.primitives.fixed_trees`, as its launches see it."""

from __future__ import annotations

from typing import NamedTuple

from gpuprims.core.device import Device
from gpuprims.core.kernel_spec import value_bytes, value_words
from gpuprims.core.layout import Form, Layout
from gpuprims.operators import Folding
from gpuprims.primitives.fixed_trees import lanes_of
from gpuprims.primitives.fold_variants import FoldVariant


class FixedFold(NamedTuple):
    """A fold by a variant: ``outputs`` results of ``size`` elements each, ``finished`` as in :class:`FoldWork`.

    ``layout`` has the elements of an output in index order.
    """

    device: Device
    chosen: FoldVariant
    folding: Folding
    layout: Layout
    outputs: int
    size: int
    finished: int
    commutative: bool

    @property
    def lanes(self) -> int:
        """Lanes of the tree."""
        return lanes_of(value_bytes(self.folding.values))

    @property
    def words(self) -> int:
        """32-bit words of a value."""
        return value_words(self.folding.values)

    @property
    def read(self) -> tuple[Form, ...]:
        """The forms of the arrays that are read."""
        return self.layout.forms[: len(self.layout.forms) - len(self.folding.outputs)]
