"""Folds and scans of small NumPy arrays by key, in C or by NumPy, with the same bits as the kernels.

A stable sort brings the elements of each key together. Then they are folded as segments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.by_numpy import ByNumPy, Compute
from gpuprims.core.call_keys import Key
from gpuprims.core.device import Device
from gpuprims.core.launch_plan import LaunchPlan
from gpuprims.core.layout import Form, contiguous
from gpuprims.core.operands import Operands
from gpuprims.core.outputs import each_result
from gpuprims.core.registry import REGISTRY
from gpuprims.core.warm_calls import Run, WarmCalls, reads_as_given
from gpuprims.operators import OPERATORS, Op
from gpuprims.primitives.grouping.by_numpy import computed_and_kept
from gpuprims.primitives.grouping.few_groups import grouping, takes_few_keys
from gpuprims.primitives.grouping.groups import Groups, LaterGroups
from gpuprims.primitives.segments.offsets import MADE
from gpuprims.primitives.segments.plan import SegmentsRequest, plan_by_offsets
from gpuprims.primitives.segscan.plan import SegmentedScanRequest, plan_segscan

# Folds or scans a one-dimensional array in segments; takes the keywords ``segments`` and ``device``.
Fold = Callable[..., Any]
_INT64 = np.dtype(np.int64)
_LOCATING = ("argmin", "argmax", "nanargmin", "nanargmax")


def computed_few(warm: WarmCalls, key: Key | None, operands: Operands, compute: Compute | None, kernels: Run) -> Any:
    """Compute a call, and keep the function; NotImplemented without ``compute``, or if kernels have other bits."""
    found = NotImplemented if compute is None else computed_and_kept(operands, compute, kernels, warm, key)
    return found if found is NotImplemented else each_result(operands.to_caller, found)


def repeated(
    warm: WarmCalls, key: Key | None, groups: Groups, finish: Callable[[Groups], Any], *, keyed: bool = False
) -> Any:
    """Compute a call on a device's arrays from their groups by ``finish``, and keep that for later calls.

    Return NotImplemented if values decide which steps a call takes. With ``keyed``, the keys come before the values.
    """
    if not groups.repeat or not reads_as_given(key, groups.operands):
        return NotImplemented
    later = LaterGroups.like(groups)

    def run(arrays: Sequence[Any]) -> Any:
        return finish(later.of(arrays[1:], arrays[0]) if keyed else later.of(arrays[:-1], arrays[-1]))

    *values, keys = groups.operands.natives
    found = run((keys, *values) if keyed else (*values, keys))
    warm.keep_run(key, run)
    return each_result(groups.operands.to_caller, found)


def is_plain(op: Any) -> bool:
    """Return True for the name of an operator that has a result for any group, even of NaN."""
    return type(op) is str and op not in ("nanargmin", "nanargmax")


def locates(op: Op) -> bool:
    """Return True for argmin, argmax, nanargmin and nanargmax."""
    return op in [OPERATORS[name] for name in _LOCATING]


def folding_few(op: Op, operands: Operands, values: Sequence[Any], keys: Any, fold: Fold, *, keyed: bool) -> Any:
    """Return a function that takes values and keys, and returns the fold for each key.

    With ``keyed``, it takes the keys first, and returns the distinct keys before the folds. It is None for too many
    elements, and for keys that NumPy does not sort. Where neither NumPy nor C has the same bits as the kernels, it
    calls ``fold``.
    """

    def plan(forms: tuple[Form, ...], device: Device, size: int) -> LaunchPlan:
        request = SegmentsRequest(op, None, None, size)
        return plan_by_offsets(request, forms, None, 1, device, None, REGISTRY.generation)

    finish = _folded_with_keys if keyed else _folded
    return _computing(finish, plan, op, operands, values, keys, fold)


def scanning_few(
    op: Op, inclusive: bool, operands: Operands, values: Sequence[Any], keys: Any, scan: Fold
) -> Compute | None:
    """Return a function that takes values and keys, and returns the scans; see :func:`folding_few`."""

    def plan(forms: tuple[Form, ...], device: Device, size: int) -> LaunchPlan:
        request = SegmentedScanRequest(op, None, inclusive, None, size)
        return plan_segscan(request, forms, None, 1, device, None, REGISTRY.generation)

    return _computing(_scanned, plan, op, operands, values, keys, scan)


def _computing(
    finish: Callable[..., Any],
    plan_of: Callable[[tuple[Form, ...], Device, int], LaunchPlan],
    op: Op,
    operands: Operands,
    values: Sequence[np.ndarray],
    keys: np.ndarray,
    fold: Fold,
) -> Compute | None:
    """Return ``finish`` with its first argument, which finds groups and folds them; None if kernels compute."""
    size, device = keys.size, operands.device
    if not takes_few_keys(operands, size) or (groups := grouping(device, keys.dtype, size)) is None:
        return None

    def folded(elements: np.ndarray, offsets: np.ndarray) -> Any:
        MADE.add(offsets)
        return fold(elements, segments=offsets, device=device)

    folds: list[Compute] = []
    for one in values:
        forms = contiguous(one.dtype, (size,), 1), contiguous(_INT64, (size + 1,), 1)
        plan = plan_of(forms, device, size)
        chosen, by = device.explain(plan.primitive, plan.traits).chosen, plan.by_numpy
        follows = by is not None and chosen is not None and _follows(by, chosen.tile, chosen.name, size)
        folds.append(by.compute if by is not None and follows else folded)
    return partial(finish, _Groups(groups, folds, locates(op)))


def _follows(by: ByNumPy, tile: int, name: str, size: int) -> bool:
    """Return True if all kernels have the same bits, or one tile of the kernel takes all elements and offsets."""
    return by.variant is None or (by.variant == name and 2 * size <= tile)


class _Groups(NamedTuple):
    """A function that groups keys, and one for each array that folds its values in groups."""

    find: Compute
    folds: Sequence[Compute]
    located: bool  # folds return places among the sorted elements, to be mapped to indices

    def folded(self, keys: np.ndarray, values: Sequence[np.ndarray]) -> Any:
        """Return the sorted order, the offsets of groups and all results; NotImplemented if kernels have to fold."""
        if (groups := self.find(keys.ravel())) is NotImplemented:
            return NotImplemented
        order, offsets = groups
        results = list[Any]()
        for fold, one in zip(self.folds, values, strict=True):
            found = fold(one.take(order), offsets)
            if found is NotImplemented:
                return found
            several = found if type(found) is tuple else (found,)
            results += [order.take(places) for places in several] if self.located else several
        return order, offsets, results


def _folded(groups: _Groups, values: np.ndarray, keys: np.ndarray) -> Any:
    if (found := groups.folded(keys, [values])) is NotImplemented:
        return NotImplemented
    return _alone_or_tuple(found[2])


def _folded_with_keys(groups: _Groups, keys: np.ndarray, *values: np.ndarray) -> Any:
    if (found := groups.folded(keys, values)) is NotImplemented:
        return NotImplemented
    order, offsets, results = found
    return keys.take(order.take(offsets[:-1])), *results


def _scanned(groups: _Groups, values: np.ndarray, keys: np.ndarray) -> Any:
    if (found := groups.folded(keys, [values])) is NotImplemented:
        return NotImplemented
    order, _, results = found
    return _alone_or_tuple([_to_places(one, order, keys.shape) for one in results])


def _alone_or_tuple(results: list[Any]) -> Any:
    return results[0] if len(results) == 1 else tuple(results)


def _to_places(found: np.ndarray, order: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return the elements scattered to the places in ``order``."""
    back = np.empty_like(found)
    back[order] = found
    return back.reshape(shape)
