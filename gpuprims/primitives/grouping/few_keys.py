"""Folds and scans by keys of few elements of NumPy arrays: in order by C or NumPy, with the bits of the kernels.

A stable sort brings the elements of a key together, in their order; then they are folded as segments are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from gpuprims.core.by_numpy import ByNumPy, Compute, noticed
from gpuprims.core.device import Device
from gpuprims.core.launch_plan import LaunchPlan
from gpuprims.core.layout import Form, contiguous
from gpuprims.core.operands import Operands
from gpuprims.core.registry import REGISTRY
from gpuprims.core.warm_calls import Key, Run, WarmCalls, computing
from gpuprims.operators import Op
from gpuprims.primitives.grouping.few_groups import grouping, takes_few_keys
from gpuprims.primitives.segments.offsets import MADE
from gpuprims.primitives.segments.plan import SegmentsRequest, plan_by_offsets
from gpuprims.primitives.segscan.plan import SegmentedScanRequest, plan_segscan

# Folds or scans an array of one axis in segments; takes the keywords ``segments`` and ``device``.
Fold = Callable[..., Any]
_INT64 = np.dtype(np.int64)


class FewKeys:
    """The calls of one function on few elements; ``kernels`` take those that NumPy declines."""

    def __init__(self, label: str) -> None:
        self._label, self._warm = label, WarmCalls()

    def find(
        self, keywords: Any, arrays: tuple[Any, ...], device: Any
    ) -> tuple[Key | None, tuple[Any, ...], Run | None]:
        """Return the key of a call, its arrays, and what runs it if there was one like it."""
        return self._warm.find_into(keywords, arrays, None, device)

    def first(self, key: Key | None, operands: Operands, compute: Compute | None, kernels: Run) -> Any:
        """Return the result of the first call of a key, and keep how; NotImplemented if kernels compute it."""
        if compute is None:
            return NotImplemented
        compute = noticed(operands.driver, self._label, compute)
        if operands.as_given:
            self._warm.keep_run(key, computing(operands.device, compute, kernels))
        return compute(*operands.natives)


def folds_of_few(
    op: Op, operands: Operands, values: Sequence[np.ndarray], keys: np.ndarray, fold: Fold
) -> list[Compute] | None:
    """Return how each array of values is folded in segments, after a sort; None for more elements.

    NumPy or C folds where it has the kernels' bits, else ``fold``.
    """

    def plan(forms: tuple[Form, ...], device: Device, size: int) -> LaunchPlan:
        request = SegmentsRequest(op, None, None, size)
        return plan_by_offsets(request, forms, None, 1, device, None, REGISTRY.generation)

    return _in_segments(plan, operands, values, keys, fold)


def scans_of_few(
    op: Op, inclusive: bool, operands: Operands, values: Sequence[np.ndarray], keys: np.ndarray, fold: Fold
) -> list[Compute] | None:
    """Return how each array of values is scanned in segments; see :func:`folds_of_few`."""

    def plan(forms: tuple[Form, ...], device: Device, size: int) -> LaunchPlan:
        request = SegmentedScanRequest(op, None, inclusive, None, size)
        return plan_segscan(request, forms, None, 1, device, None, REGISTRY.generation)

    return _in_segments(plan, operands, values, keys, fold)


def _in_segments(
    plan_of: Callable[[tuple[Form, ...], Device, int], LaunchPlan],
    operands: Operands,
    values: Sequence[np.ndarray],
    keys: np.ndarray,
    fold: Fold,
) -> list[Compute] | None:
    size, device = keys.size, operands.device
    if not takes_few_keys(operands, size):
        return None

    def folded(elements: np.ndarray, offsets: np.ndarray) -> Any:
        MADE.add(offsets)
        return fold(elements, segments=offsets, device=device)

    found: list[Compute] = []
    for one in values:
        forms = contiguous(one.dtype, (size,), 1), contiguous(_INT64, (size + 1,), 1)
        plan = plan_of(forms, device, size)
        chosen, by = device.explain(plan.primitive, plan.traits).chosen, plan.by_numpy
        follows = by is not None and chosen is not None and _follows(by, chosen.tile, chosen.name, size)
        found.append(by.compute if by is not None and follows else folded)
    return found


def _follows(by: ByNumPy, tile: int, name: str, size: int) -> bool:
    """Return True if bits do not depend on a kernel, or one part of the kernel takes elements and as many offsets."""
    return by.variant is None or (by.variant == name and 2 * size <= tile)


def folding_few(
    device: Device, keys: np.ndarray, folds: Sequence[Compute], *, keyed: bool, located: bool
) -> Compute | None:
    """Return the function from values and keys, or with ``keyed`` from keys and values, to results for each key.

    With ``keyed``, distinct keys come first. Results that are ``located`` are places, of which the indices are wanted.
    """
    groups = grouping(device, keys.dtype, keys.size)
    if groups is None:
        return None
    return partial(_folded_with_keys if keyed else _folded, groups, folds, located)


def scanning_few(device: Device, keys: np.ndarray, scans: Sequence[Compute], *, located: bool) -> Compute | None:
    """Return the function from values and keys to the results of a scan."""
    groups = grouping(device, keys.dtype, keys.size)
    return None if groups is None else partial(_scanned, groups, scans[0], located)


def _folded(groups_of: Compute, folds: Sequence[Compute], located: bool, values: np.ndarray, keys: np.ndarray) -> Any:
    if (groups := groups_of(keys.ravel())) is NotImplemented:
        return NotImplemented
    order, offsets = groups
    found = folds[0](values.take(order), offsets)
    return order.take(found) if located else found


def _folded_with_keys(
    groups_of: Compute, folds: Sequence[Compute], located: bool, keys: np.ndarray, *values: np.ndarray
) -> Any:
    if (groups := groups_of(keys.ravel())) is NotImplemented:
        return NotImplemented
    order, offsets = groups
    results = [keys.take(order.take(offsets[:-1]))]
    for fold, one in zip(folds, values, strict=True):
        found = fold(one.take(order), offsets)
        if found is NotImplemented:
            return found
        if type(found) is tuple:
            results.extend(found)
        else:
            results.append(order.take(found) if located else found)
    return tuple(results)


def _scanned(groups_of: Compute, scan: Compute, located: bool, values: np.ndarray, keys: np.ndarray) -> Any:
    if (groups := groups_of(keys.ravel())) is NotImplemented:
        return NotImplemented
    order, offsets = groups
    found = scan(values.take(order), offsets)
    if found is NotImplemented:
        return found
    back = [_to_places(order.take(one) if located else one, order, keys.shape) for one in _each(found)]
    return tuple(back) if type(found) is tuple else back[0]


def _each(results: Any) -> tuple[Any, ...]:
    return results if type(results) is tuple else (results,)


def _to_places(found: np.ndarray, order: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return each element at the place that the order says."""
    back = np.empty_like(found)
    back[order] = found
    return back.reshape(shape)
