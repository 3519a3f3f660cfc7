"""The arguments of a sort: rows, keys, what goes with them, and where each array begins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.kernel_spec import Dtype
from gpuprims.core.layout import contiguous, starts_of
from gpuprims.primitives.sort.keys import Keys
from gpuprims.primitives.sort.spec import SortSpec, Step
from gpuprims.primitives.sort.variants import SortVariant

T = TypeVar("T")


class Rows(NamedTuple):
    """Rows, each of which is sorted separately."""

    many: int
    length: int

    @property
    def size(self) -> int:
        """Elements of all rows."""
        return self.many * self.length


class Four(NamedTuple, Generic[T]):
    """A field for each array: keys, their values, sorted keys, and the values or indices in their order.

    An array that a call lacks is replaced by another one, which kernels then do not touch.
    """

    keys: T
    values: T
    sorted: T
    kept: T

    @classmethod
    def of(cls, given: Sequence[T], results: Sequence[T]) -> Four[T]:
        """Return the arrays of a call in their places."""
        return cls(given[0], given[-1], results[0], results[-1])


# Sorts the memories of a call.
Passes = Callable[[Four[Any]], None]


class Work(NamedTuple):
    """What to sort, and where each array's first element is in its memory."""

    device: Device
    variant: SortVariant
    rows: Rows
    keys: Keys
    carried: Dtype | None
    wanted: str
    begins: Four[int]

    @property
    def moved_bytes(self) -> int:
        """Bytes of a key, and of what goes with it."""
        return self.keys.nbytes + (self.carried.itemsize if self.carried else 0)

    @property
    def layout(self) -> np.ndarray:
        """What kernels take before their numbers."""
        return starts_of([contiguous(self.keys.word, (1,), 1)]).pack(0)

    def spec(
        self,
        memories: int,
        step: Step = "moves",
        *,
        lanes_in_order: bool = False,
        copies: int = 1,
        parts: tuple[str, ...] = (),
        row: int = 0,
        length: int = 0,
        segmented: bool = False,
    ) -> SortSpec:
        """Return the spec of a launch with this number of arrays."""
        return SortSpec.of(
            self.keys,
            carried=self.carried,
            indices=self.wanted == "indices",
            keeps_keys=self.wanted != "indices",
            step=step,
            lanes_in_order=lanes_in_order,
            wide=self.rows.length >= 2**32,
            memories=memories,
            copies=copies,
            parts=parts,
            row=row,
            length=length,
            segmented=segmented,
        )
