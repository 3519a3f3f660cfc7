"""Large host arrays, slab by slab: a device receives one slab, computes the previous one and returns the one before.

The link to a device moves bytes in both directions at once, and kernels take far less time than either, so a call runs
at the speed of the link. Slabs also need less room than the arrays.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.operands import Operands, as_operands, begin_operands, settle
from gpuprims.core.outputs import Out
from gpuprims.primitives.slabs import slab_bytes

Box = tuple[slice, ...]

# Bytes of the arrays and results of a slab: large enough that the calls on it (some 0.1 ms) take less time than its
# transfers (3 ms), small enough that the first upload and the last download, which run alone, are short. Slabs that
# are uploaded while one is computed, and results of slabs on their way back: enough that lanes never wait for the
# thread that starts the kernels. Map and compact of 1 GiB of float32, GB/s of input: slabs of 32 MiB, two ahead and
# two behind 16.4; of 64 MiB 23.0, 29.0; of 128 MiB 23.9; three and three of 128 MiB 25.0, 35.9 (H200, 16 cores,
# 2026-11-23).
_OVERLAPPED = 128 << 20
_AHEAD, _BEHIND = 3, 3


class Slab(NamedTuple):
    """Parts of arrays, and of the results that they give, which may be added when the slab has been computed."""

    arrays: Sequence[np.ndarray]
    targets: list[np.ndarray]
    begins: bool = True  # a chain of slabs: each needs what the previous one gave
    ends: bool = True


# From a slab, its arrays as operands, and a function that returns memory like the targets, to arrays like the targets.
Compute = Callable[[Slab, Operands, Callable[[], Out]], Sequence[Any]]


def most_elements(device: Device, *dtypes: np.dtype[Any]) -> int:
    """Return how many elements of arrays and results of these dtypes a slab has."""
    most = slab_bytes(device)
    if not device.driver.shares_host_memory:
        most = min(most, _OVERLAPPED)
    return max(most // sum(dtype.itemsize for dtype in dtypes), 1)


def boxes(lengths: Box, axes: Sequence[int], most: int) -> Iterator[Box]:
    """Cut a box into boxes of at most ``most`` elements, along ``axes``, the first of them first."""
    sizes = [one.stop - one.start for one in lengths]
    elements = int(np.prod(sizes, dtype=object))
    axis = next((k for k in axes if sizes[k] > 1), None)
    if axis is None or elements <= most:
        yield lengths
        return
    first, end = lengths[axis].start, lengths[axis].stop
    step = max(most * sizes[axis] // elements, 1)
    for at in range(first, end, step):
        yield from boxes((*lengths[:axis], slice(at, min(at + step, end)), *lengths[axis + 1 :]), axes, most)


def whole_box(shape: Sequence[int]) -> Box:
    """Return the box of all elements."""
    return tuple(slice(0, n) for n in shape)


def compute_slabs(label: str, device: Device, slabs: Iterable[Slab], compute: Compute, *, new: bool) -> None:
    """Compute slabs in order, and write the targets of each; ``new`` targets are in memory of this call."""
    if device.driver.shares_host_memory:
        for slab in slabs:
            _compute_in_place(slab, as_operands(label, tuple(slab.arrays), device, stored=True), compute)
        return
    ahead: deque[tuple[Slab, Callable[[], Operands]]] = deque()
    behind: deque[Callable[[], Any]] = deque()
    try:
        for slab in slabs:
            ahead.append((slab, begin_operands(label, device, slab.arrays)))
            if len(ahead) >= _AHEAD:
                _compute_first(ahead, behind, compute, new=new)
        while ahead:
            _compute_first(ahead, behind, compute, new=new)
        while behind:
            behind.popleft()()
    except BaseException:
        settle([*(finish for _, finish in ahead), *behind])
        raise


def _compute_first(
    ahead: deque[tuple[Slab, Callable[[], Operands]]],
    behind: deque[Callable[[], Any]],
    compute: Compute,
    *,
    new: bool,
) -> None:
    """Compute the first slab of those that are uploaded, start its download, and wait for earlier ones."""
    slab, uploaded = ahead.popleft()
    operands = uploaded()
    driver = operands.driver

    def memory() -> Out:
        return Out(tuple([driver.empty(target.shape, target.dtype) for target in slab.targets]), None)

    results = compute(slab, operands, memory)
    for result, target in zip(results, slab.targets, strict=True):
        behind.append(begin_download(driver, result, target, new=new))
    while len(behind) > _BEHIND * len(slab.targets):
        behind.popleft()()


def begin_download(driver: Any, result: Any, target: np.ndarray, *, new: bool) -> Callable[[], Any]:
    """Start to copy an array of a device to one of the host; without :meth:`begin_to_host`, copy it."""
    if hasattr(driver, "begin_to_host"):
        finish: Callable[[], Any] = driver.begin_to_host(result, target, new=new)
        return finish
    if target.size:
        target[...] = driver.to_host(result)
    return lambda: None


def _compute_in_place(slab: Slab, operands: Operands, compute: Compute) -> None:
    """Compute a slab where its arrays and results lie."""
    with operands.settled():
        results = compute(slab, operands, lambda: Out(tuple(slab.targets), None))
        operands.driver.synchronize()
    for result, target in zip(results, slab.targets, strict=True):
        if result is not target:
            target[...] = result
