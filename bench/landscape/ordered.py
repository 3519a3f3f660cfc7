"""Draws of calls that order elements: sorts, selections, groups, searches, and data that are hard on them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from .calls import Operand
from .dice import Dice, Drawn

_DATA = {"uniform": 6, "skewed": 1, "constant": 1, "sorted": 1, "reversed": 1, "organ pipe": 1, "two values": 1}
_DATA |= {"geometric": 1}
_OF_FLOATS = {"NaN": 1, "denormal": 1}
_METHODS = ("linear", "lower", "higher", "nearest", "midpoint", "hazen", "median_unbiased")
# Arrays whose checks sort indices are smaller than the upper bound by this factor, so that these end.
_SMALLER = 16


def _elements(dice: Dice, name: str, shape: tuple[int, ...], dtype: str, layout: str | None = "x") -> Operand:
    """Return an operand with a range of its own, and data that may be hard."""
    kind, most = np.dtype(dtype).kind, 1.0
    if kind in "iu":
        most = float(min(dice.pick({100: 2, 10**6: 1, 2**52: 2}), np.iinfo(dtype).max))
    x = dice.operand(name, dtype, shape, layout=layout)
    low = 0.0 if kind in "ub" else -most
    return replace(x, data=dice.pick(_DATA | (_OF_FLOATS if kind == "f" else {})), low=low, high=most)


def _ascending(dice: Dice, name: str, dtype: str, size: int) -> Operand:
    return replace(_elements(dice, name, (size,), dtype), data="sorted")


def _line(dice: Dice, dtype: str) -> tuple[int, ...]:
    """Return a shape of one axis, for calls whose checks are slow."""
    dice.nbytes = min(dice.nbytes, dice.most // _SMALLER)
    return dice.shape(dtype, most=1)


def _axis(dice: Dice, shape: tuple[int, ...]) -> int | None:
    axis: int | None = dice.pick({None: 2, -1: 4, **({0: 1} if len(shape) > 1 else {})})
    return axis


def _sort(dice: Dice) -> Drawn:
    dtype = dice.dtype(*"fiub")
    if dice.chance(0.2):
        (size,) = shape = _line(dice, dtype)
        mean = dice.log_uniform(2, 10**5)
        offsets = Operand("offsets", "int64", (max(1, size // mean) + 1,), data="offsets")
        return "sort", [_elements(dice, "x", shape, dtype), offsets], {"mean": mean, "skewed": dice.chance(0.4)}
    shape = dice.shape(dtype, most=3)
    keywords = {"axis": _axis(dice, shape), "descending": dice.chance(0.25)}
    return "sort", [_elements(dice, "x", shape, dtype, None)], keywords


def _argsort(dice: Dice) -> Drawn:
    dtype = dice.dtype(*"fiu")
    dice.nbytes = min(dice.nbytes, dice.most // _SMALLER)
    shape = dice.shape(dtype, most=2)
    keywords = {"axis": _axis(dice, shape), "descending": dice.chance(0.25)}
    return "argsort", [_elements(dice, "x", shape, dtype, None)], keywords


def _sort_by_key(dice: Dice) -> Drawn:
    dtype, beside = dice.dtype(*"fiu"), dice.dtype(*"fiuc")
    shape = _line(dice, dtype)
    return "sort_by_key", [_elements(dice, "keys", shape, dtype), dice.operand("values", beside, shape, layout="x")], {}


def _top_k(dice: Dice) -> Drawn:
    dtype, rows = dice.dtype(*"fiu"), dice.chance(0.4)
    shape = dice.shape(dtype, least=1 + rows, most=1 + rows)
    keywords = {"k": dice.log_uniform(1, min(10_000, shape[-1])), "axis": -1 if rows else None}
    return "top_k", [_elements(dice, "x", shape, dtype)], keywords | {"largest": dice.chance(0.7)}


def _quantile(dice: Dice) -> Drawn:
    dtype = dice.pick({"float32": 4, "float64": 2, "int32": 1, "uint8": 1})
    shape = dice.shape(dtype, most=2)
    x, axis = _elements(dice, "x", shape, dtype, None), dice.pick({None: 2, -1: 1})
    if dice.chance(0.5):
        return "median", [x], {"axis": axis}
    q = [round(float(one), 3) for one in dice.rng.random(int(dice.rng.integers(1, 4)))]
    return "quantile", [x], {"axis": axis, "q": tuple(q), "method": dice.pick(dict.fromkeys(_METHODS, 1))}


def _partition(dice: Dice) -> Drawn:
    dtype = dice.dtype(*"fiu")
    shape = dice.shape(dtype, most=1)
    return "partition", [_elements(dice, "x", shape, dtype)], {"kth": int(dice.rng.integers(shape[0]))}


def _unique(dice: Dice) -> Drawn:
    dtype = dice.dtype(*"fiu")
    more = dice.pick({None: 3, "return_counts": 2, "return_inverse": 1, "return_index": 1})
    return "unique", [_elements(dice, "x", _line(dice, dtype), dtype)], {"more": more}


def _run_lengths(dice: Dice) -> Drawn:
    dtype = dice.dtype(*"iu")
    return "run_length_encode", [_elements(dice, "x", dice.shape(dtype, most=1), dtype)], {}


def _by_key(dice: Dice) -> Drawn:
    dtype = dice.pick({"float32": 4, "float64": 1, "int32": 2, "uint8": 1})
    shape = _line(dice, dtype)
    keys = Operand("keys", "int32", shape, data=dice.pick(_DATA), high=dice.log_uniform(2, 10**6))
    x = dice.operand("x", dtype, shape, layout="x")
    return dice.pick({"reduce": 2, "scan": 1}), [x, keys], {"op": dice.pick({"sum": 3, "max": 1})}


def _searchsorted(dice: Dice) -> Drawn:
    dtype = dice.pick({"float32": 4, "float64": 2, "int32": 2, "int64": 2})
    shape = dice.shape(dtype, most=1)
    size = dice.log_uniform(16, dice.most // _SMALLER)
    v = _elements(dice, "v", shape, dtype)
    a = replace(_ascending(dice, "a", dtype, size), low=v.low, high=v.high)
    return "searchsorted", [a, v], {"side": dice.pick({"left": 2, "right": 1})}


def _isin(dice: Dice) -> Drawn:
    dtype = dice.pick({"int32": 3, "int64": 3, "uint8": 1, "float32": 2})
    x = _elements(dice, "x", dice.shape(dtype, most=1), dtype)
    table = Operand("test_elements", dtype, (dice.log_uniform(1, 10**5),), low=x.low, high=x.high)
    return "isin", [x, table], {}


def _merge(dice: Dice) -> Drawn:
    dtype = dice.dtype(*"fiu")
    (size,) = dice.shape(dtype, most=1)
    a = _ascending(dice, "a", dtype, max(1, size // 2))
    return "merge", [a, replace(a, name="b", shape=(dice.log_uniform(1, size),))], {}


def _take(dice: Dice) -> Drawn:
    dtype, rows = dice.dtype(*"fiucb"), dice.chance(0.3)
    shape = dice.shape(dtype, least=1 + rows, most=1 + rows)
    count = max(1, math.prod(shape) // (shape[-1] if rows else 1))
    data = dice.pick({"uniform": 4, "sorted": 2, "reversed": 1, "skewed": 1, "constant": 1})
    dtype_of_indices = dice.pick({"int32": 1, "int64": 2})
    indices = Operand("indices", dtype_of_indices, (count,), data=data, high=float(shape[0]))
    return "take", [dice.operand("x", dtype, shape, layout="x"), indices], {"axis": 0 if rows else None}


DRAWN: Mapping[str, Callable[[Dice], Drawn]] = {
    "sort": _sort, "argsort": _argsort, "sort_by_key": _sort_by_key, "top_k": _top_k, "quantile": _quantile,
    "partition": _partition, "unique": _unique, "run_length_encode": _run_lengths, "by_key": _by_key,
    "searchsorted": _searchsorted, "isin": _isin, "merge": _merge, "take": _take,
}  # fmt: skip
WEIGHTS: dict[str, int] = dict.fromkeys(DRAWN, 5) | {"sort": 12, "argsort": 8, "top_k": 8}
