"""Calls that order elements by NumPy and CuPy, and by torch, as functions of a sequence of arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from .calls import Call
from .errors import NoFunctionError

# A library's function of a call's arrays.
Way = Callable[[Sequence[Any]], Any]


def array_way(call: Call, xp: Any) -> Way:
    """Return a call by NumPy or CuPy."""
    axis, ordered = call["axis"], {"kind": "stable"}
    match call.primitive:
        case "sort" if len(call.operands) == 1:
            return lambda arrays: _turned(xp.sort(arrays[0], axis=axis), axis, descending=call["descending"])
        case "argsort" if not call["descending"]:
            return lambda arrays: xp.argsort(arrays[0], axis=axis, **ordered)
        case "sort_by_key":
            return lambda arrays: _taken(arrays, xp.argsort(arrays[0], **ordered))
        case "top_k":
            return partial(_array_top_k, call, xp)
        case "quantile" if call.function == "median":
            return lambda arrays: xp.median(arrays[0], axis=axis)
        case "quantile":
            q = xp.asarray(call["q"])
            return lambda arrays: xp.quantile(arrays[0], q, axis=axis, method=call["method"])
        case "partition":
            return lambda arrays: xp.partition(arrays[0], call["kth"])
        case "unique":
            more = {call["more"]: True} if call["more"] else {}
            return lambda arrays: xp.unique(arrays[0], **more)
        case "run_length_encode":
            return partial(_array_runs, xp)
        case "by_key" if call.function == "reduce" and call["op"] == "sum" and call.operands[0].dtype[0] == "f":
            return lambda arrays: xp.bincount(xp.unique(arrays[1], return_inverse=True)[1], arrays[0])
        case "searchsorted":
            return lambda arrays: xp.searchsorted(*arrays, side=call["side"])
        case "isin":
            return lambda arrays: xp.isin(*arrays)
        case "merge":
            return lambda arrays: xp.sort(xp.concatenate(arrays), **ordered)
        case "take":
            return lambda arrays: xp.take(*arrays, axis=axis)
    raise NoFunctionError(f"no function for {call.function} of these")


def _turned(x: Any, axis: int | None, *, descending: bool) -> Any:
    if not descending:
        return x
    return x[::-1] if axis in (None, 0) else x[..., ::-1]


def _taken(arrays: Sequence[Any], order: Any) -> tuple[Any, ...]:
    return tuple(array[order] for array in arrays)


def _array_top_k(call: Call, xp: Any, arrays: Sequence[Any]) -> Any:
    """Return the values by a partition, without their places, whose ties differ."""
    (x,), k = arrays, call["k"]
    x = x.reshape(-1) if call["axis"] is None else x
    if call["largest"]:
        return (xp.sort(xp.partition(x, x.shape[-1] - k, axis=-1)[..., x.shape[-1] - k :], axis=-1)[..., ::-1],)
    return (xp.sort(xp.partition(x, k - 1, axis=-1)[..., :k], axis=-1),)


def _array_runs(xp: Any, arrays: Sequence[Any]) -> Any:
    (x,) = arrays
    begins = xp.concatenate([xp.zeros(1, xp.int64), xp.flatnonzero(x[1:] != x[:-1]) + 1, xp.asarray([x.size])])
    return x[begins[:-1]], xp.diff(begins)


def torch_way(call: Call, torch: Any) -> Way:
    """Return a call by torch."""
    axis, down = call["axis"], {"descending": bool(call["descending"])}

    def along(x: Any) -> tuple[Any, int]:
        return (x.reshape(-1), 0) if axis is None else (x, axis)

    match call.primitive:
        case "sort" if len(call.operands) == 1:
            return lambda arrays: torch.sort(*along(arrays[0]), **down).values
        case "argsort":
            return lambda arrays: torch.sort(along(arrays[0])[0], dim=along(arrays[0])[1], stable=True, **down).indices
        case "sort_by_key":
            return lambda arrays: _taken(arrays, torch.sort(arrays[0], stable=True).indices)
        case "top_k":
            how = {"k": call["k"], "largest": call["largest"]}
            return lambda arrays: (torch.topk(along(arrays[0])[0], dim=-1, **how).values,)
        case "unique" if call["more"] in (None, "return_inverse", "return_counts"):
            more = {call["more"]: True} if call["more"] else {}
            return lambda arrays: torch.unique(arrays[0], **more)
        case "run_length_encode":
            return lambda arrays: torch.unique_consecutive(arrays[0], return_counts=True)
        case "by_key" if call.function == "reduce":
            return partial(_torch_by_key, call, torch)
        case "searchsorted":
            return lambda arrays: torch.searchsorted(*arrays, side=call["side"])
        case "isin":
            return lambda arrays: torch.isin(*arrays)
        case "take":
            return lambda arrays: arrays[0][arrays[1]]
    raise NoFunctionError(f"no function for {call.function} of these")


def _torch_by_key(call: Call, torch: Any, arrays: Sequence[Any]) -> Any:
    x, keys = arrays
    distinct, places = torch.unique(keys, return_inverse=True)
    wide = torch.int64 if call["op"] == "sum" and not x.dtype.is_floating_point else x.dtype
    found = torch.zeros(distinct.shape[0], dtype=wide, device=x.device)
    how = {"sum": "sum", "max": "amax"}[call["op"]]
    return found.scatter_reduce_(0, places, x.to(wide), how, include_self=False)
