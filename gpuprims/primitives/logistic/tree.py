"""The logistic gradient by a tree that is the same on every device: its order depends on the samples' shape alone.

A row lies in vectors of 16 bytes, and lane l of ``LANES`` has every ``LANES``-th of them, from vector l on: it adds its
products to zero, in order, and the lanes fold by halves to the score. Rows lie in parts, 4,096 at most. Row r of a part
belongs to slot ``r % SLOTS``, for ``TREE_BLOCK / LANES`` slots. A slot adds its rows in order, and the slots fold by
halves. In the end every ``TREE_BLOCK``-th part is added in order, and these sums fold by halves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from gpuprims.core.geometry import power_of_two
from gpuprims.primitives.fixed_lanes import FixedLanesSpec
from gpuprims.primitives.logistic.spec import LogisticSpec

# Work-items of a group, which are lanes of slots; most lanes of a row; most parts of the rows.
TREE_BLOCK, _MOST_LANES, _MOST_PARTS = 256, 32, 4096


class Tree(NamedTuple):
    """The numbers of a tree: elements of a vector, lanes, vectors of each, rows of a part, and parts."""

    vector: int
    lanes: int
    chunks: int
    rows: int
    parts: int

    @property
    def slots(self) -> int:
        """Rows that are added side by side."""
        return TREE_BLOCK // self.lanes


def tree_of(n: int, features: int, item: int) -> Tree:
    """Return the tree of ``n`` samples with ``features`` features of ``item`` bytes."""
    vector = 16 // item
    lanes = min(power_of_two(-(-features // vector)), _MOST_LANES)
    rows = -(-n // (TREE_BLOCK * _MOST_PARTS)) * TREE_BLOCK
    return Tree(vector, lanes, -(-features // (vector * lanes)), rows, -(-n // rows))


@dataclass(frozen=True, eq=False, kw_only=True)
class FixedLogisticSpec(FixedLanesSpec, LogisticSpec):
    """Macros for the gradient by a fixed tree."""

    tree: Tree

    @property
    def tree_lanes(self) -> int:
        """See :class:`FixedLanesSpec`."""
        return self.tree.lanes

    def macros(self) -> dict[str, int | str]:
        """See :class:`KernelSpec`."""
        own = {"CHUNKS": self.tree.chunks, "TREE_VECTOR": self.tree.vector, "TREE_BLOCK": TREE_BLOCK}
        return super().macros() | own
