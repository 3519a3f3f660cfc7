"""Row offsets as in CSR: the beginning of each segment, and the end of the last. They are checked on their device."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.driver import Driver
from gpuprims.core.launch_plan import LaunchPlan
from gpuprims.core.layout import Form
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.registry import REGISTRY
from gpuprims.errors import ArgumentError, DtypeError, ShapeError
from gpuprims.expressions import trace
from gpuprims.operators import Op, make_folding
from gpuprims.primitives.fold import plan_fold
from gpuprims.primitives.map import map as map_arrays

_INT64 = np.dtype(np.int64)
_LEAST, _MOST = int(np.iinfo(_INT64).min), int(np.iinfo(_INT64).max)


class Offsets(NamedTuple):
    """Offsets of int64, on the host or on the device, and the lengths of the shortest and the longest segment."""

    array: Any
    shortest: int
    longest: int


def as_offsets(label: str, offsets: Any, operands: Operands, size: int) -> Offsets:
    """Return row offsets, or raise unless they are integers in one dimension that rise from 0 to ``size``."""
    given = as_operands(label, (offsets,), operands.device)
    array = given.natives[0]
    if array.ndim != 1 or not array.size:
        raise ShapeError(f"{label}: segments= of one dimension, an offset for each and the end; got {array.shape}")
    if array.dtype.kind not in "iu":
        raise DtypeError(f"{label}: segments= of integers; got dtype {array.dtype}")
    if given.on_host or operands.in_place or array.size == 1:
        return _on_host(label, given.to_host(array), size)
    there = array if array.dtype == _INT64 else map_arrays(_to_int64, array, device=operands.device)
    shortest, longest, first, last = _look(operands.driver, operands.device, there)
    if first != 0 or last != size or shortest < 0:
        _on_host(label, given.to_host(array), size)  # raises, and names the place
    return Offsets(there, shortest, longest)


def _to_int64(x: Any) -> Any:
    return x.astype(np.int64)


def _on_host(label: str, offsets: np.ndarray, size: int) -> Offsets:
    whole = np.ascontiguousarray(offsets, np.int64)
    if whole[0] != 0 or whole[-1] != size:
        raise ArgumentError(
            f"{label}: segments= from 0 to {size}, the number of elements; got {whole[0]} to {whole[-1]}"
        )
    lengths = np.diff(whole)
    shortest, longest = (int(lengths.min()), int(lengths.max())) if lengths.size else (0, 0)
    if shortest < 0:
        k = int(np.argmax(lengths < 0))
        raise ArgumentError(f"{label}: segments= that never decrease; got {whole[k]} before {whole[k + 1]} at {k}")
    return Offsets(whole, shortest, longest)


# The lengths of the shortest and the longest segment, and the smallest and the largest offset, which are the first and
# the last if no length is negative.
_LOOK = Op(
    lambda p, q: (np.minimum(p[0], q[0]), np.maximum(p[1], q[1]), np.minimum(p[2], q[2]), np.maximum(p[3], q[3])),
    (_MOST, _LEAST, _MOST, _LEAST),
    commutative=True,
    name="a look at offsets",
)
_SEEN = trace(lambda first, second: (second - first, second - first, first, second), 2)


def _look(driver: Driver, device: Device, offsets: Any) -> list[int]:
    """Return the shortest and the longest length, and the first and the last offset, found on the device."""
    seen = driver.empty((4,), _INT64)
    places = [driver.cut(seen, k, ()) for k in range(4)]
    pair = [offsets[:-1], offsets[1:]]
    forms, targets = (tuple(map(driver.form, arrays)) for arrays in (pair, places))
    _plan(forms, targets, device, REGISTRY.generation).compiled()([*pair, *places])
    return [int(value) for value in driver.to_host(seen)]


@keeps_calls()
def _plan(forms: tuple[Form, ...], targets: tuple[Form, ...], device: Device, generation: int) -> LaunchPlan:
    folding = make_folding(_LOOK, _SEEN, (_INT64, _INT64), None)
    return plan_fold(device, forms, targets, folding, forms[0].shape, (0,), commutative=True)
