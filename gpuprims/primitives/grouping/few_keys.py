"""Folds and scans by keys of few elements of NumPy arrays: in order by C or NumPy, with the bits of the kernels.

A stable sort brings the elements of a key together, in their order; then they are folded as segments are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.by_numpy import ByNumPy, Compute
from gpuprims.core.device import Device
from gpuprims.core.launch_plan import LaunchPlan
from gpuprims.core.layout import Form, contiguous
from gpuprims.core.operands import Operands
from gpuprims.core.outputs import each_result
from gpuprims.core.registry import REGISTRY
from gpuprims.core.warm_calls import Key, Run, WarmCalls
from gpuprims.operators import OPERATORS, Op
from gpuprims.primitives.grouping.by_numpy import computed_and_kept
from gpuprims.primitives.grouping.few_groups import grouping, takes_few_keys
from gpuprims.primitives.segments.offsets import MADE
from gpuprims.primitives.segments.plan import SegmentsRequest, plan_by_offsets
from gpuprims.primitives.segscan.plan import SegmentedScanRequest, plan_segscan

# Folds or scans an array of one axis in segments; takes the keywords ``segments`` and ``device``.
Fold = Callable[..., Any]
_INT64 = np.dtype(np.int64)
_LOCATING = ("argmin", "argmax", "nanargmin", "nanargmax")


def computed_few(warm: WarmCalls, key: Key | None, operands: Operands, compute: Compute | None, kernels: Run) -> Any:
    """Return the results of a call, and keep how; NotImplemented without ``compute``, or if kernels have other bits."""
    found = NotImplemented if compute is None else computed_and_kept(operands, compute, kernels, warm, key)
    return found if found is NotImplemented else each_result(operands.to_caller, found)


def is_plain(op: Any) -> bool:
    """Return True for the name of an operator that finds something in each group of elements."""
    return type(op) is str and op not in ("nanargmin", "nanargmax")


def locates(op: Op) -> bool:
    """Return True for argmin, argmax and those that leave NaN out."""
    return op in [OPERATORS[name] for name in _LOCATING]


def folding_few(op: Op, operands: Operands, values: Sequence[Any], keys: Any, fold: Fold, *, keyed: bool) -> Any:
    """Return the function from values and keys, or with ``keyed`` from keys and values, to results for each key.

    It is None if there are more elements, or keys that NumPy does not sort. With ``keyed``, distinct keys come first.
    NumPy or C folds where it has the kernels' bits, else ``fold``.
    """

    def plan(forms: tuple[Form, ...], device: Device, size: int) -> LaunchPlan:
        request = SegmentsRequest(op, None, None, size)
        return plan_by_offsets(request, forms, None, 1, device, None, REGISTRY.generation)

    finish = _folded_with_keys if keyed else _folded
    return _computing(finish, plan, op, operands, values, keys, fold)


def scanning_few(
    op: Op, inclusive: bool, operands: Operands, values: Sequence[Any], keys: Any, scan: Fold
) -> Compute | None:
    """Return the function from values and keys to the results of a scan; see :func:`folding_few`."""

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
    """Return the function from arrays to results by ``finish``, which takes how groups are found and folded."""
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
    """Return True if bits do not depend on a kernel, or one part of the kernel takes elements and as many offsets."""
    return by.variant is None or (by.variant == name and 2 * size <= tile)


class _Groups(NamedTuple):
    """How keys are grouped, and how arrays of values are folded in groups."""

    find: Compute
    folds: Sequence[Compute]
    located: bool  # folds find places in groups, and elements' indices are wanted

    def folded(self, keys: np.ndarray, values: Sequence[np.ndarray]) -> Any:
        """Return the order of the elements, the offsets of groups and all results; NotImplemented if kernels fold."""
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
    """Return each element at the place that the order says."""
    back = np.empty_like(found)
    back[order] = found
    return back.reshape(shape)
