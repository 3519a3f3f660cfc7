"""Folds and scans by key: the keyword ``by=`` of reduce and scan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from gpuprims.core.determinism import asks_for_device
from gpuprims.core.device import Device
from gpuprims.core.outputs import each_result
from gpuprims.core.warm_calls import WarmCalls
from gpuprims.errors import ArgumentError, quoted
from gpuprims.expressions import trace
from gpuprims.operators import OPERATORS, Op, as_map, make_folding
from gpuprims.primitives.beginnings import copied_to_out
from gpuprims.primitives.found import must_find
from gpuprims.primitives.grouping.few_keys import computed_few, folding_few, is_plain, locates, repeated, scanning_few
from gpuprims.primitives.grouping.groups import Groups
from gpuprims.primitives.grouping.indices import scatter
from gpuprims.primitives.levels import adds_words
from gpuprims.primitives.map import map as map_arrays
from gpuprims.primitives.masking import masked_call
from gpuprims.primitives.take import take
from gpuprims.primitives.texts import refuse_text

# Folds or scans one-dimensional arrays in segments; takes the keywords ``segments`` and ``device``.
Fold = Callable[..., Any]
# The index of an element before the sort, given that index and the one after the sort; -1 stays -1.
_FOUND = trace(lambda index, place: np.where(place < 0, -1, index.astype(np.int64)), 2)
_REDUCES, _SCANS = WarmCalls(), WarmCalls()


def reduce_by(
    fold: Fold,
    arrays: tuple[Any, ...],
    keys: Any,
    op: Any,
    mapped: Any,
    dtype: Any,
    out: Any,
    device: str | Device | None,
    variant: Any,
    *,
    where: Any,
    initial: Any,
    ddof: float,
    compensated: bool,
    **refused: Any,
) -> Any:
    """Compute ``reduce(by=)``; the ``refused`` keywords have no meaning with keys."""
    call, plain = (*arrays, keys), dtype is None and variant is None
    key = None
    few = plain and len(arrays) == 1 and mapped is out is where is initial is None and ddof == 0 and not compensated
    few = few and is_plain(op) and all(value is None for value in refused.values())
    if few:
        key, call, run = _REDUCES.find_into(op, call, None, device)
        if run is not None:
            return run(call)
    check_by_key("reduce", arrays, **refused)
    operator, read, mapped = masked_call("reduce", arrays, op, mapped, where, initial, ddof, compensated)
    how = {"op": operator, "map": mapped, "dtype": dtype, "variant": variant}
    own = partial(reduce_by_key, read, keys, partial(fold, **how), operator, mapped, device, plain=plain)
    if few and (found := _reduce_few(partial(fold, op=op), operator, key, call, device)) is not NotImplemented:
        return found
    return copied_to_out("reduce", (*read, keys), device, out, own, varies=lambda axes: 0)


def _reduce_few(fold: Fold, op: Op, key: Any, arrays: tuple[Any, ...], device: str | Device | None) -> Any:
    """Fold elements by key, few of them without kernels, and keep the function for later calls; else NotImplemented."""
    x, by = arrays
    groups = groups_for("reduce", (x,), by, op, device)
    operands, located = groups.operands, locates(op)
    (values, keys), own = operands.natives, operands.device

    def kernels(given: Sequence[Any]) -> Any:
        return reduce_by_key(tuple(given[:1]), given[1], fold, op, None, own, plain=True)

    compute = folding_few(op, operands, [values], keys, fold, keyed=False)
    if compute is None:
        return repeated(_REDUCES, key, groups, lambda groups: folded(groups, groups.values, fold, located))
    return computed_few(_REDUCES, key, operands, compute, kernels)


def scan_by(
    fold: Fold,
    arrays: tuple[Any, ...],
    keys: Any,
    op: Any,
    mapped: Any,
    inclusive: Any,
    dtype: Any,
    out: Any,
    device: str | Device | None,
    variant: Any,
    *,
    where: Any,
    initial: Any,
    **refused: Any,
) -> Any:
    """Compute ``scan(by=)``; the ``refused`` keywords have no meaning with keys."""
    call, key = (*arrays, keys), None
    few = len(arrays) == 1 and mapped is dtype is out is variant is where is initial is None
    few = few and is_plain(op) and type(inclusive) is bool and all(value is None for value in refused.values())
    if few:
        key, call, run = _SCANS.find_into((op, inclusive), call, None, device)
        if run is not None:
            return run(call)
    check_by_key("scan", arrays, **refused)
    operator, read, mapped = masked_call("scan", arrays, op, mapped, where, initial)
    how = {"op": operator, "map": mapped, "inclusive": inclusive, "dtype": dtype, "variant": variant}
    own = partial(scan_by_key, read, keys, partial(fold, **how), operator, mapped, device)
    if few:
        plain = partial(fold, op=op, inclusive=inclusive)
        if (found := _scan_few(plain, operator, inclusive, key, call, device)) is not NotImplemented:
            return found
    return copied_to_out("scan", (*read, keys), device, out, own)


def _scan_few(
    fold: Fold, op: Op, inclusive: bool, key: Any, arrays: tuple[Any, ...], device: str | Device | None
) -> Any:
    """Scan elements by key, few of them without kernels, and keep the function for later calls; else NotImplemented."""
    x, by = arrays
    groups = groups_for("scan", (x,), by, op, device, ordered=True)
    operands, located = groups.operands, locates(op)
    (values, keys), own = operands.natives, operands.device

    def kernels(given: Sequence[Any]) -> Any:
        return scan_by_key(tuple(given[:1]), given[1], fold, op, None, own)

    compute = scanning_few(op, inclusive, operands, [values], keys, fold)
    if compute is None:
        return repeated(_SCANS, key, groups, lambda groups: _scanned(groups, fold, located))
    return computed_few(_SCANS, key, operands, compute, kernels)


def reduce_by_key(
    arrays: tuple[Any, ...],
    keys: Any,
    fold: Fold,
    op: Op,
    mapped: Any,
    device: str | Device | None,
    *,
    plain: bool = False,
) -> Any:
    """Fold the elements of each key; results are in ascending order of keys.

    A ``plain`` fold names no dtype and no variant, so it need not run as a segmented fold.
    """
    groups = groups_for("reduce", arrays, keys, op, device, mapped=mapped)
    if plain and (sums := _sums_by_bins(groups, op, mapped)) is not None:
        return groups.operands.to_caller(sums)
    results = each_result(groups.operands.to_caller, folded(groups, groups.values, fold, locates(op)))
    found = must_find("reduce", op, groups.operands)
    return results if found is None else found(results)


def _sums_by_bins(groups: Groups, op: Op, mapped: Any) -> Any:
    """Return the sum of each key, from a histogram with a bin for each; None if it needs a sort."""
    by_bins = import_module("gpuprims.primitives.grouping.direct")  # imported late: it imports reduce
    if not asks_for_device():
        return by_bins.direct_sums(groups, op, mapped)
    # A histogram and a segmented fold add in different orders. They have the same bits at "order", but not at "device".
    return by_bins.exact_sums(groups, op, mapped) if adds_words() else None


def scan_by_key(
    arrays: tuple[Any, ...], keys: Any, fold: Fold, op: Op, mapped: Any, device: str | Device | None
) -> Any:
    """Scan the elements of each key; results are in the order of the elements."""
    groups = groups_for("scan", arrays, keys, op, device, mapped=mapped, ordered=True)
    return each_result(groups.operands.to_caller, _scanned(groups, fold, locates(op)))


def _scanned(groups: Groups, fold: Fold, located: bool) -> Any:
    """Scan groups, and return the results in the order of the elements."""
    operands = groups.operands

    def back(result: Any) -> Any:
        into = operands.empty((groups.size,), result.dtype)
        if groups.size:
            scatter(result, groups.order, into, groups.device)
        return into if len(groups.shape) == 1 else operands.cut(into, 0, groups.shape)

    return each_result(back, folded(groups, groups.values, fold, located))


def check_by_key(label: str, arrays: tuple[Any, ...], **others: Any) -> None:
    """Raise for a string among the arrays, for no arrays, and for keywords that have no meaning with keys."""
    if not arrays:
        raise ArgumentError(f"{label}: at least one array; got none")
    if str in [type(array) for array in arrays]:
        refuse_text(label, arrays)
    for name, value in others.items():
        if value is not None:
            raise ArgumentError(f"{label}: no {name}= with by=; got {quoted(value)}")


def groups_for(
    label: str,
    arrays: tuple[Any, ...],
    keys: Any,
    op: Op,
    device: str | Device | None,
    *,
    mapped: Any = None,
    ordered: bool = False,
    keyed: bool = False,
) -> Groups:
    """Return the groups for a fold with an operator; raise if the operator needs the index of an element."""
    groups = Groups(label, arrays, keys, device, ordered=ordered or locates(op), keyed=keyed)
    taken = len(arrays) if mapped is not None else op.elements
    dtypes = tuple(native.dtype for native in groups.operands.natives[:taken])
    if op.prepare is not None and op is not OPERATORS.get(op.name):
        folding = make_folding(op, as_map(label, mapped, len(dtypes)), dtypes, None, label)
        if folding.map.takes(len(dtypes)):
            raise ArgumentError(
                f"{label} with {op.name}: an operator whose prepare takes no index, with keys; got one that does"
                " (pass the indices as an array, one of the operator's components)"
            )
    return groups


def folded(groups: Groups, values: list[Any], fold: Fold, located: bool) -> Any:
    """Fold or scan groups; results that are ``located``, indices, refer to the order before the sort."""
    results = fold(*values, segments=groups.offsets, device=groups.device)
    if located and groups.size:
        index = take(groups.order, results, mode="clip", device=groups.device)
        return map_arrays(_FOUND, index, results, device=groups.device)
    return results
