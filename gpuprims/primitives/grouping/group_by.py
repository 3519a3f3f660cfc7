"""group_by: distinct keys, and a fold of the values of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from gpuprims.core.device import Device
from gpuprims.core.keywords import keywords_of, named_keywords, refuse_keywords
from gpuprims.core.outputs import as_out
from gpuprims.core.warm_calls import WarmCalls
from gpuprims.errors import ArgumentError, ArrayError, quoted
from gpuprims.operators import OPERATORS, Op, find_op
from gpuprims.primitives.beginnings import to_out
from gpuprims.primitives.found import must_find
from gpuprims.primitives.grouping.by_key import folded, groups_for
from gpuprims.primitives.grouping.few_keys import computed_few, folding_few, is_plain, locates, repeated
from gpuprims.primitives.grouping.groups import Groups
from gpuprims.primitives.reduce import reduce

_WARM = WarmCalls()


@named_keywords
def group_by(
    keys: Any,
    *values: Any,
    op: str | Op | Callable[..., Any] = "sum",
    out: Any = None,
    device: str | Device | None = None,
    **unknown: Any,
) -> tuple[Any, ...]:
    """Fold the values of each key with an operator.

    Parameters
    ----------
    keys : array_like
        The key of each element, in any order.
    *values : array_like
        Arrays with the shape of the keys. Each is folded by itself, unless the operator has several components: then
        they are its components.
    op : str, Op or callable, default "sum"
        An operator of :func:`gpuprims.reduce`, or NumPy's function for one. argmin and argmax give indices into the
        values, flattened in C order.
    out : tuple of arrays, optional
        Where to write the keys and the results: arrays on the device of the keys that are at least as long as these.
        By default new arrays.
    device : str or Device, optional
        Where to compute, for host arrays.

    Returns
    -------
    tuple of arrays
        The distinct keys in ascending order, and an array of results for each array of values, or for each result of
        the operator. With ``out``, they are views of the first elements of its arrays.

    Raises
    ------
    ArgumentError, UnknownOperatorError, ShapeError, DtypeError, DeviceMismatchError
        Invalid arguments; an ``out`` that is too short, found when the number of keys is known.

    Notes
    -----
    A stable sort groups the values by key, so the operator need not commute, and results have the same bits in each
    run. All NaN are one key, which comes last, and -0.0 is the same key as 0.0. A call waits for the number of keys.

    Examples
    --------
    >>> import gpuprims, numpy as np
    >>> keys, price, weight = np.int32([7, 2, 7]), np.float32([1.5, 2, 3]), np.float32([10, 20, 30])
    >>> gpuprims.group_by(keys, price, weight, device="reference")
    (array([2, 7], dtype=int32), array([2. , 4.5], dtype=float32), array([20., 40.], dtype=float32))
    >>> gpuprims.group_by(keys, price, op="max", device="reference")
    (array([2, 7], dtype=int32), array([2., 3.], dtype=float32))
    """
    key, few = None, not unknown and out is None and is_plain(op)
    if few:
        key, given, run = _WARM.find_into(op, (keys, *values), None, device)
        if run is not None:
            known: tuple[Any, ...] = run(given)
            return known
    if unknown:
        refuse_keywords("group_by", keywords_of(group_by), unknown)
    if not values:
        raise ArgumentError("group_by: values beside the keys; got none (to count: unique(keys, return_counts=True))")
    if text := next((one for one in values if isinstance(one, str)), None):
        hint = f' (write op="{text}")' if text in OPERATORS else ""
        raise ArrayError(f"group_by: keys and values by position, op= by keyword; got the text {quoted(text)}{hint}")
    operator = find_op(op)
    if operator.elements > 1 and len(values) != operator.elements:
        rule = f"group_by with {operator.name}: {operator.elements} arrays of values, its components"
        raise ArgumentError(f"{rule}; got {len(values)}")
    groups = groups_for("group_by", values, keys, operator, device, keyed=True)
    found = _of_few(op, operator, key, groups) if few and operator.elements == 1 else NotImplemented
    return _by_kernels(groups, op, operator, out) if found is NotImplemented else found


def _of_few(name: Any, op: Op, key: Any, groups: Groups) -> Any:
    """Group elements, few of them without kernels, and keep the function for later calls; else NotImplemented."""
    *values, keys = groups.operands.natives
    device, turned = groups.device, groups.operands.instead(keys, *values)

    def kernels(given: Sequence[Any]) -> Any:
        return _by_kernels(groups_for("group_by", tuple(given[1:]), given[0], op, device, keyed=True), op, op, None)

    fold, located = partial(reduce, op=name), locates(op)
    compute = folding_few(op, groups.operands, values, keys, fold, keyed=True)
    if compute is None:
        return repeated(_WARM, key, groups, lambda groups: _folds(groups, fold, located), keyed=True)
    return computed_few(_WARM, key, turned, compute, kernels)


def _by_kernels(groups: Groups, op: str | Op | Callable[..., Any], operator: Op, out: Any) -> tuple[Any, ...]:
    """Return the keys and the folds of the groups."""
    written = as_out(groups.operands, out)
    results = _folds(groups, partial(reduce, op=op), locates(operator), together=operator.elements > 1)
    if (found := must_find("group_by", operator, groups.operands)) is not None:
        for result in results[1:]:
            found(groups.operands.to_host(result))
    return to_out(groups.operands, results, written, (0,) * len(results))


def _folds(groups: Groups, fold: Callable[..., Any], located: bool, *, together: bool = False) -> tuple[Any, ...]:
    """Return the keys, and the folds of the values of each, ``together`` or one array after the other."""
    results = [groups.keys]
    for arrays in [groups.values] if together else [[one] for one in groups.values]:
        result = folded(groups, arrays, fold, located)
        results.extend(result if isinstance(result, tuple) else (result,))
    return tuple(results)
