"""reduce and scan of sharded arrays: each device folds its shard, and the host joins a few numbers of each."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.keywords import check_flags
from gpuprims.core.shapes import broadcast_shapes
from gpuprims.distributed.alike import alike
from gpuprims.distributed.devices import Devices
from gpuprims.distributed.sharded import ShardedArray, begin_to_host, beside, empty_beside
from gpuprims.distributed.splitting import Split, Value, split
from gpuprims.errors import ArgumentError
from gpuprims.expressions import computable, expression
from gpuprims.operators import altered, as_initial, find_op
from gpuprims.primitives.axes import as_axis, axes_of, one_axis
from gpuprims.primitives.map import map as map_elements
from gpuprims.primitives.masking import masked_call
from gpuprims.primitives.reduce import reduce as reduce_one
from gpuprims.primitives.scan import scan as scan_one


def reduced(
    group: Devices,
    arrays: Sequence[Any],
    op: Any,
    mapped: Any,
    axis: Any,
    keepdims: Any,
    dtype: Any,
    ddof: Any,
    compensated: bool,
    where: Any,
    initial: Any,
) -> Any:
    """Fold elements; see :meth:`DeviceGroup.reduce`."""
    label = "DeviceGroup.reduce"
    check_flags(label, keepdims=keepdims, compensated=compensated)
    operator, given, function = masked_call("reduce", tuple(arrays), op, mapped, where, initial, ddof, compensated)
    x, *others = alike(label, group, given)
    shape = broadcast_shapes("reduce", [x.shape, *(one.shape for one in others)]) if others else x.shape
    axes = axes_of(as_axis(axis), len(shape))
    if 0 not in axes:
        how = {"op": operator, "map": function, "axis": axes, "keepdims": keepdims, "dtype": dtype}
        return sharded(group, label, partial(reduce_one, **how), given)
    begins, shape = _among_all(group, label, x, shape)
    if not math.prod(shape[k] for k in axes) and not operator.of_nothing:
        reduce_one(*(one.shards[0] for one in given), op=operator, map=function, axis=axes)  # raises
    chosen = None if dtype is None else computable(dtype, "reduce", stored=True)
    folds = split(operator, _traced(function, given), tuple(one.dtype for one in given), chosen, "reduce")
    each = math.prod(shape[k] for k in axes[1:])

    def fold(k: int) -> Any:
        device = group.devices[k]
        shards = [one.shards[k] for one in given]
        if folds.indexed:
            shards.append(beside(shards[0], _filled(len(shape), (begins + x.offsets[k]) * each), device))
        return folds.fold(shards, axes, named(device, shards))

    value = folds.join(group.share(label, lambda: folds.join(on_host(group, label, fold))))
    return _as_numpy(folds.finish(value, math.prod(shape[k] for k in axes)), axes if keepdims else ())


def _as_numpy(results: Sequence[np.ndarray], kept: tuple[int, ...]) -> Any:
    """Return results as NumPy's functions do, with axes of length 1 at ``kept``: one bare, and numbers as scalars."""
    plain = [one[()] for one in (np.expand_dims(one, kept) for one in results)]
    return plain[0] if len(plain) == 1 else tuple(plain)


def scanned(
    group: Devices, arrays: Sequence[Any], op: Any, mapped: Any, inclusive: Any, axis: Any, dtype: Any, initial: Any
) -> Any:
    """Scan elements; see :meth:`DeviceGroup.scan`.

    Each device but the last folds its shard, and all then scan, each but the first from the value of the shards before.
    Elements are read twice and results written once. No order of work needs much less time: no result of the second
    shard can be written before the first one was read, and a device keeps little of what it reads meanwhile. A scan
    without the value would have to read and write its results again. Source: G. E. Blelloch, "Prefix sums and their
    applications", CMU-CS-90-190, 1990.
    """
    label = "DeviceGroup.scan"
    check_flags(label, inclusive=inclusive)
    given = alike(label, group, arrays)
    shape = broadcast_shapes("scan", [one.shape for one in given])
    along = None if axis is None else one_axis(axis, len(shape))
    operator, function = find_op(op), _traced(mapped, given)
    how = {"op": op, "map": function, "inclusive": inclusive, "axis": along, "dtype": dtype, "initial": initial}
    if along not in (None, 0):
        return sharded(group, label, partial(scan_one, **how), given)
    if not inclusive and not operator.of_nothing and operator.finish:
        scan_one(given[0].shards[0], op=op, inclusive=False)  # raises
    begun = altered("scan", operator, where=False, initial=as_initial("scan", operator, initial))
    chosen = None if dtype is None else computable(dtype, "scan", stored=True)
    folds = split(begun, function, tuple(one.dtype for one in given), chosen, "scan", running=True)
    each = math.prod(shape[1:]) if along is None else 1
    begins, _ = _among_all(group, label, given[0], shape)
    starts = [(begins + start) * each for start in given[0].offsets]
    if along is None and len(shape) > 1:
        for one in given:
            _refuse_other_shape(one, shape)
    work = _Scan(group, label, given, shape, along, folds, starts)
    befores = work.befores()
    alone = partial(scan_one, **how)
    run = partial(work.scan, befores=befores, alone=alone, inclusive=bool(inclusive))
    return gathered(group, group.launch(label, run, _as_it_is))


class _Scan(NamedTuple):
    """A scan of ``given`` along its first axis, or of all elements; the shards begin at the indices ``starts``."""

    group: Devices
    label: str
    given: list[ShardedArray]
    shape: tuple[int, ...]
    along: int | None
    folds: Split
    starts: list[int]

    def befores(self) -> list[Value | None]:
        """Return the value of all elements before each shard of this process; None if there are none."""
        group, folds, alone = self.group, self.folds, self.group.processes is None
        totals = (
            on_host(group, self.label, self._total) if alone else _all_totals(group, self.label, folds, self._total)
        )
        befores: list[Value | None] = [None]
        for value in totals[:-1]:
            befores.append(value if befores[-1] is None else folds.join([befores[-1], value]))
        return befores[-len(group) :]

    def _total(self, k: int) -> Any:
        """Start to fold shard ``k``; no shard follows the last one and needs its value."""
        if k == len(self.group) - 1 and self.group.processes is None:
            return ()
        device, shards, ndim = self.group.devices[k], self._shards(k), len(self.shape)
        if self.folds.indexed:
            shards.append(beside(shards[0], _filled(ndim, self.starts[k]), device))
        axes = tuple(range(ndim)) if self.along is None else (0,)
        return self.folds.fold(shards, axes, named(device, shards))

    def scan(self, k: int, befores: Sequence[Value | None], alone: Callable[..., Any], *, inclusive: bool) -> Any:
        """Start to scan shard ``k`` from the value before it, or by ``alone`` if it is the first."""
        device, shards, before = self.group.devices[k], self._shards(k), befores[k]
        if before is None:
            return alone(*shards, device=named(device, shards))
        if self.along is None and len(self.shape) > 1:
            shards = [shard.reshape(-1) for shard in shards]
        ndim = 1 if self.along is None else len(self.shape)
        more = [_filled(ndim, self.starts[k]), *_shaped(self.folds, before, ndim)]
        there = [beside(shards[0], one, device) for one in more]
        return _continued(self.folds, device, shards, there, before, inclusive=inclusive)

    def _shards(self, k: int) -> list[Any]:
        return [one.shards[k] for one in self.given]


def _among_all(group: Devices, label: str, x: ShardedArray, shape: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
    """Return the first row of this process among those of all, and the shape of a call on all rows."""
    first, rows = group.placed(label, len(x))
    return first, (rows, *shape[1:]) if group.processes is not None else shape


def _all_totals(group: Devices, label: str, folds: Split, total: Callable[[int], Any]) -> list[Value]:
    """Return the value of all processes before this one, if there are any, and those of its shards."""
    own: list[Value] = []

    def find() -> Value:
        own.extend(on_host(group, label, total))
        return folds.join(own)

    before = group.share(label, find)[: group.rank]
    return [folds.join(before), *own] if before else own


def on_host(group: Devices, label: str, start: Callable[[int], Any]) -> list[tuple[np.ndarray, ...]]:
    """Start work on all devices, then copies of its few results to the host, and wait for all of them."""
    return group.launch(label, start, lambda k, begun: begun(), lambda k, found: begin_to_host(group.devices[k], found))


def _as_it_is(k: int, found: Any) -> Any:
    """Return results that stay on the device, perhaps still in work."""
    return found


def _refuse_other_shape(x: ShardedArray, shape: tuple[int, ...]) -> None:
    """Refuse an array that a scan of all elements would have to repeat."""
    if x.shape != shape:
        raise ArgumentError(
            f"DeviceGroup.scan: arrays of one shape if axis= is not given; got {x.shape} beside {shape}"
        )


def _continued(
    folds: Split, device: Device, shards: list[Any], more: list[Any], before: Value, *, inclusive: bool
) -> Any:
    """Scan a shard along its first axis, from the value of all elements before it.

    An exclusive scan is the inclusive one of all elements but the last, one place later.
    """
    run = partial(scan_one, op=folds.continued, axis=0, device=named(device, shards))
    if inclusive:
        return run(*shards, *more)
    shape = np.broadcast_shapes(*(tuple(shard.shape) for shard in shards))
    results = [empty_beside(shards[0], shape, dtype, device) for dtype in folds.whole.outputs]
    if not shape[0]:
        return results[0] if len(results) == 1 else tuple(results)
    for result, value in zip(results, folds.finish(before, 1), strict=True):
        first = np.ascontiguousarray(np.broadcast_to(value, (1, *shape[1:])))
        map_elements("v", beside(shards[0], first, device), out=result[:1], device=device)
    if shape[0] > 1:
        parts = [shard[:-1] if shard.shape[0] > 1 else shard for shard in shards]
        targets = tuple(result[1:] for result in results)
        run(*parts, *more, out=targets[0] if len(targets) == 1 else targets)
    return results[0] if len(results) == 1 else tuple(results)


def _shaped(folds: Split, before: Value, ndim: int) -> list[np.ndarray]:
    """Return the components of a value as arrays of ``ndim`` axes."""
    values = [np.ascontiguousarray(one, dtype) for one, dtype in zip(before, folds.whole.values, strict=True)]
    return [value.reshape((1,) * (ndim - value.ndim) + value.shape) for value in values]


def _filled(ndim: int, number: int) -> np.ndarray:
    """Return an array of one index."""
    return np.full((1,) * ndim, number, np.int64)


def named(device: Device, shards: Sequence[Any]) -> Device | None:
    """Return ``device=`` for a call on shards: arrays on a device need none."""
    return device if isinstance(shards[0], np.ndarray) else None


def _traced(function: Any, arrays: Sequence[Any]) -> Any:
    return None if function is None else expression(function, len(arrays))


def sharded(group: Devices, label: str, call: Any, arrays: Sequence[Any], *, waits: bool = False) -> Any:
    """Run a call on each shard by itself, and return its results as sharded arrays.

    A call that ``waits`` for its device is made by a thread for each.
    """

    def run(k: int) -> Any:
        shards = [one.shards[k] if isinstance(one, ShardedArray) else one for one in arrays]
        return call(*shards, device=group.devices[k])

    return gathered(group, group.each(label, run) if waits else group.launch(label, run, _as_it_is))


def gathered(group: Devices, results: Sequence[Any]) -> Any:
    """Return the results of each device as one sharded array, or a tuple of them."""
    if isinstance(results[0], tuple):
        return tuple(ShardedArray(group, shards) for shards in zip(*results, strict=True))
    return ShardedArray(group, results)
