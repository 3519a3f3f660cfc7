"""Host arrays that a device has no room for, computed slab by slab.

Several threads upload a slab through pinned memory (:mod:`gpuprims.core.staging`) while the device computes the slab
before. Computing takes far less time than the upload, so a call runs at the speed of the bus.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.layout import contiguous
from gpuprims.core.operands import as_operands
from gpuprims.core.variant import Variant
from gpuprims.operators import Folding, Stages
from gpuprims.primitives.fold import plan_fold

# Large enough that a kernel's launch and a download of a few bytes take nothing beside the upload.
_LARGEST_SLAB = 1 << 30


def slab_bytes(device: Device) -> int:
    """Return how many bytes of arrays a slab has: few enough that two find room at once, results included."""
    return max(min(device.driver.room // 8, _LARGEST_SLAB), 1)


def _cuts(arrays: Sequence[np.ndarray], axis: int, most: int) -> Iterator[tuple[int, slice]]:
    """Yield where slabs of at most so many bytes, or of one index, start along an axis, and the slice that each is."""
    length = arrays[0].shape[axis]
    step = max(most * length // max(sum(array.nbytes for array in arrays), 1), 1)
    for start in range(0, length, step):
        yield start, slice(start, min(start + step, length))


def _along(axis: int, part: slice) -> tuple[slice, ...]:
    return (*(slice(None) for _ in range(axis)), part)


def map_in_slabs(
    arrays: Sequence[np.ndarray],
    results: Sequence[np.ndarray],
    shape: tuple[int, ...],
    most: int,
    run: Callable[[Sequence[np.ndarray], Sequence[np.ndarray]], None],
) -> None:
    """Call ``run`` on slabs of arrays and results, whose first axes are ``shape``, until all of it is written."""
    axis = next((k for k, length in enumerate(shape) if length > 1), None)
    if axis is None or sum(array.nbytes for array in (*arrays, *results)) <= most:
        run(arrays, results)
        return
    for start, part in _cuts([*arrays, *results], axis, most):
        here = _along(axis, part)
        length = part.stop - start
        inner = (*shape[:axis], length, *shape[axis + 1 :])
        map_in_slabs([a[here] for a in arrays], [r[here] for r in results], inner, most, run)


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

        Axes are cut from the outside in, so that the folded axes inside a cut one are whole and indices run on.
        """
        shape = arrays[0].shape
        axis = next((k for k, length in enumerate(shape) if length > 1), None)
        if axis is None or sum(array.nbytes for array in arrays) <= self.most:
            index = np.broadcast_to(np.int64(first), (1,) * len(shape))
            return self._fold(self.stages.part, [*arrays, index], self.axes, variant=self.variant)
        each = math.prod(shape[k] for k in self.axes if k > axis) if axis in self.axes else 0
        slabs = [
            self._values([array[_along(axis, part)] for array in arrays], first + start * each)
            for start, part in _cuts(arrays, axis, self.most)
        ]
        values = [np.concatenate(components, axis) for components in zip(*slabs, strict=True)]
        return self._finish(self.stages.join, values, (axis,)) if axis in self.axes else values

    def _finish(
        self, folding: Folding, values: Sequence[np.ndarray], axes: tuple[int, ...], *, counted: int | None = None
    ) -> list[np.ndarray]:
        """Run a stage on values, which are many where outputs are: cut along the axes that it keeps."""
        axis = next((k for k, length in enumerate(values[0].shape) if length > 1 and k not in axes), None)
        if axis is None or sum(component.nbytes for component in values) <= self.most:
            return self._fold(folding, values, axes, counted=counted)
        slabs = [
            self._finish(folding, [component[_along(axis, part)] for component in values], axes, counted=counted)
            for _, part in _cuts(values, axis, self.most)
        ]
        return [np.concatenate(components, axis) for components in zip(*slabs, strict=True)]

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
        operands = as_operands("reduce", tuple(arrays), self.device)
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
