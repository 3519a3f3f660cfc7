"""The works that order elements: sorts, selections, groups and searches."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import gpuprims

from . import ordered_oracles as right
from .elements import Elements
from .works import Sizes, Work, powers


def _sort(dtype: str, spread: str = "", **how: Any) -> Work:
    name = f"sort {dtype}" + (f", {_NAMES.get(spread, spread)}" if spread else "")
    usual = "uniform" if dtype.startswith("float") or dtype == "uint8" else "every"
    inputs, nbytes = Elements(dtype, spread or usual), 2 * np.dtype(dtype).itemsize
    return Work(name, "sort", nbytes, gpuprims.sort, np.sort, right.sorted_keys, right.keys_of, inputs, **how)


def _argsort(x: Any, **where: Any) -> Any:
    return gpuprims.argsort(x, **where)


def _pairs(keys: Any, numbers: Any, **where: Any) -> Any:
    return gpuprims.sort_by_key(keys, numbers, **where)


def _top_k(k: int, **how: Any) -> Work:
    call, expect = partial(gpuprims.top_k, k=k), partial(right.largest, k)
    return Work(f"top_k {k}", "top_k", 4, call, partial(right.top_k, k), right.top, expect, limit="read", **how)


def _rows() -> Work:
    call, host = partial(gpuprims.top_k, k=32, axis=-1), partial(right.top_k, 32)
    inputs = Elements(shape=8192)
    how: dict[str, Any] = {"inputs": inputs, "sizes": "rows of 8192", "limit": "read"}
    return Work("top_k rows of 8192", "top_k", 4, call, host, right.top, partial(right.largest, 32), **how)


def _unique(name: str, spread: str) -> Work:
    inputs, expect = Elements("int32", spread), right.distinct if spread == "few" else right.keys_of
    check = right.same if spread == "few" else right.sorted_keys
    how: dict[str, Any] = {"inputs": inputs, "sizes": "line", "limit": "read"}
    return Work(f"unique, {name}", "unique", 4, gpuprims.unique, np.unique, check, expect, **how)


def _by(name: str, beside: str) -> Work:
    inputs = Elements(beside=beside)
    how: dict[str, Any] = {"inputs": inputs, "sizes": "by key", "limit": "read"}
    check, host = right.near_sums, right.sums_by_key
    return Work(f"reduce by {name} keys", "by key", 8, right.reduce_by_key, host, check, **how)


_NAMES = {"ramp": "sorted", "geometric": "skewed"}
_SEARCHED = Elements(spread="ascending", beside="elements")
_PAIRS, _OF_100 = Elements("uint32", "every", beside="numbers"), Elements(beside="segments of 100")

ORDERED = (
    _sort("uint32", sizes="sorts"),
    _sort("int32", sizes="line"),
    _sort("float32", sizes="line"),
    _sort("float32", "normal", sizes="line"),
    *(_sort("uint32", spread, sizes="line") for spread in ("narrow", "few", "geometric", "ramp")),
    _sort("uint64", sizes="line"),
    _sort("uint8", sizes="line"),
    Work("argsort float32", "sort", 12, _argsort, right.argsort, right.order, right.given, sizes="line"),
    Work("sort pairs", "sort", 16, _pairs, right.pairs, right.ordered_pairs, right.given, _PAIRS, sizes="line"),
    Work("sort segments of 100", "segmented sort", 8, right.sort_in, right.by_100, inputs=_OF_100, sizes="segments"),
    _top_k(10, sizes="top_k"),
    _top_k(1000, sizes="top_k"),
    _rows(),
    Work("median", "selection", 4, gpuprims.median, np.median, sizes="line", limit="read"),
    _unique("1,000 distinct", "few"),
    _unique("all distinct", "distinct"),
    _by("1,000", "thousand keys"),
    _by("10^6", "million keys"),
    Work("searchsorted", "searchsorted", 16, gpuprims.searchsorted, np.searchsorted, inputs=_SEARCHED, sizes="by key"),
)

ORDERED_SIZES = {
    "sorts": Sizes(powers(22), powers(20, 24), powers(24), powers(20, 24, 28)),
    "line": Sizes((), powers(24), (), powers(28)),
    "top_k": Sizes(powers(22), powers(20, 24), powers(20, 26), powers(20, 28)),
    "rows of 8192": Sizes((), powers(24), powers(24), powers(24)),
    "by key": Sizes((), powers(22), powers(22), powers(24)),
    "segments": Sizes((), powers(22), (), powers(26)),
}
