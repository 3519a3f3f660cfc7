"""Folds of host arrays that a device has no room for, slab by slab.

Several threads upload a slab through pinned memory (:mod:`gpuprims.core.staging`). Computing it takes far less time, so
a call runs at the speed of the link. Calls whose results are large, too, are in :mod:`gpuprims.primitives.pipeline`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.layout import contiguous
from gpuprims.core.operands import as_operands
from gpuprims.core.variant import Variant
from gpuprims.operators import Folding, Stages
from gpuprims.primitives.fold import plan_fold

# Large enough that a launch, and copying a few bytes back, take no time compared with the upload.
_LARGEST_SLAB = 1 << 30


def slab_bytes(device: Device) -> int:
    """Return the bytes of arrays in a slab: few enough that two find room at once, results included."""
    return max(min(device.driver.room // 8, _LARGEST_SLAB), 1)


def _cut(
    arrays: Sequence[np.ndarray], most: int, axes: Iterable[int]
) -> tuple[int, list[tuple[int, list[np.ndarray]]]] | None:
    """Cut arrays along the first of ``axes`` that is longer than 1; None if they fit in ``most`` bytes.

    Returns the axis, and for each slab the index at which it starts and its parts of the arrays.
    """
    axis = next((k for k in axes if arrays[0].shape[k] > 1), None)
    total = sum(array.nbytes for array in arrays)
    if axis is None or total <= most:
        return None
    length, before = arrays[0].shape[axis], (slice(None),) * axis
    step = max(most * length // total, 1)
    return axis, [(at, [array[*before, at : at + step] for array in arrays]) for at in range(0, length, step)]


def joined_from_slabs(
    arrays: Sequence[np.ndarray],
    most: int,
    axes: Sequence[int],
    run: Callable[[Sequence[np.ndarray]], np.ndarray],
    join: Callable[[int, list[np.ndarray]], np.ndarray],
) -> np.ndarray:
    """Return the result of ``run`` for arrays, computed in slabs that are cut along ``axes``, the first axis first.

    ``join`` makes one result of those of slabs along an axis, in their order.
    """
    cut = _cut(arrays, most, axes)
    if cut is None:
        return run(arrays)
    axis, slabs = cut
    return join(axis, [joined_from_slabs(parts, most, axes, run, join) for _, parts in slabs])


class FoldSlabs(NamedTuple):
    """A fold of host arrays, in slabs of at most ``most`` bytes; results keep the folded axes, of length 1."""

    device: Device
    stages: Stages
    axes: tuple[int, ...]
    variant: str | Variant | None
    commutative: bool
    most: int

    def run(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Fold arrays of one shape."""
        count = math.prod(arrays[0].shape[axis] for axis in self.axes)
        return self._finish(self.stages.last, self._values(arrays, 0), (), counted=count)

    def _values(self, arrays: Sequence[np.ndarray], first: int) -> list[np.ndarray]:
        """Return the components that a region folds to, given the index of its first element along the folded axes.

        The outermost axes are cut first, so each slab has whole inner axes, and its indices are consecutive.
        """
        shape = arrays[0].shape
        cut = _cut(arrays, self.most, range(len(shape)))
        if cut is None:
            index = np.broadcast_to(np.int64(first), (1,) * len(shape))
            return self._fold(self.stages.part, [*arrays, index], self.axes, variant=self.variant)
        axis, slabs = cut
        each = math.prod(shape[k] for k in self.axes if k > axis) if axis in self.axes else 0
        values = _joined([self._values(parts, first + at * each) for at, parts in slabs], axis)
        return self._finish(self.stages.join, values, (axis,)) if axis in self.axes else values

    def _finish(
        self, folding: Folding, values: Sequence[np.ndarray], axes: tuple[int, ...], *, counted: int | None = None
    ) -> list[np.ndarray]:
        """Run a stage on values, in slabs along the axes that it keeps."""
        cut = _cut(values, self.most, [k for k in range(values[0].ndim) if k not in axes])
        if cut is None:
            return self._fold(folding, values, axes, counted=counted)
        axis, slabs = cut
        return _joined([self._finish(folding, parts, axes, counted=counted) for _, parts in slabs], axis)

    def _fold(
        self,
        folding: Folding,
        arrays: Sequence[np.ndarray],
        axes: tuple[int, ...],
        *,
        counted: int | None = None,
        variant: str | Variant | None = None,
    ) -> list[np.ndarray]:
        """Run one stage on the device."""
        operands = as_operands("reduce", tuple(arrays), self.device, stored=True)
        shape = np.broadcast_shapes(*(array.shape for array in arrays))
        kept = tuple(1 if k in axes else length for k, length in enumerate(shape))
        targets = [contiguous(dtype, kept, operands.alignment) for dtype in folding.outputs]
        what = self.device, operands.forms, targets, folding, shape, axes, variant
        plan = plan_fold(*what, commutative=self.commutative, counted=counted)
        outputs = [operands.empty(kept, dtype) for dtype in folding.outputs]
        plan.start(operands, outputs)
        if operands.in_place:
            operands.driver.synchronize()
        return [operands.to_host(output) for output in outputs]


def _joined(slabs: list[list[np.ndarray]], axis: int) -> list[np.ndarray]:
    return [np.concatenate(components, axis) for components in zip(*slabs, strict=True)]
