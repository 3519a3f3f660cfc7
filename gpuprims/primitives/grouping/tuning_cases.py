"""Calls of the grouping functions; :mod:`gpuprims.testing` checks them with the kernels of the primitives that run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from gpuprims.core.operands import as_operands
from gpuprims.core.tuning_case import TuningCase, small_integers
from gpuprims.primitives.grouping.consecutive import unique_consecutive
from gpuprims.primitives.grouping.flat import flat
from gpuprims.primitives.grouping.group_by import group_by
from gpuprims.primitives.grouping.indices import scatter
from gpuprims.primitives.grouping.run_length import run_length_decode, run_length_encode
from gpuprims.primitives.grouping.unique import unique
from gpuprims.primitives.reduce import reduce
from gpuprims.primitives.rows import beside
from gpuprims.primitives.scan import scan


def _case(function: Callable[..., Any], arguments: Callable[[Any], tuple[Any, ...]], expected: Any) -> TuningCase:
    return TuningCase("", small_integers, function, arguments, expected, into=False, takes_variant=False)


def _alone(x: Any) -> tuple[Any, ...]:
    return (x,)


def _keys(n: int) -> np.ndarray:
    return np.random.default_rng(n).integers(0, 1 + n // 3, n)


def _lengths(n: int) -> np.ndarray:
    return np.random.default_rng(n).integers(0, 4, n)


def _order(n: int) -> np.ndarray:
    return np.random.default_rng(n).permutation(n)


def _wide(x: np.ndarray) -> np.ndarray:
    """Return the elements in the dtype of NumPy's sums."""
    return x if x.dtype.kind == "f" else x.astype(np.uint64 if x.dtype.kind == "u" else np.int64)


def _sums(x: np.ndarray) -> np.ndarray:
    distinct, groups = np.unique(_keys(x.size), return_inverse=True)
    sums = np.zeros(distinct.size, _wide(x).dtype)
    np.add.at(sums, groups, _wide(x))
    return sums


def _greatest(x: np.ndarray) -> np.ndarray:
    order = np.argsort(_keys(x.size), kind="stable")
    begins = np.unique(_keys(x.size)[order], return_index=True)[1]
    return np.maximum.reduceat(x[order], begins)


def _running(x: np.ndarray) -> np.ndarray:
    order = np.argsort(_keys(x.size), kind="stable")
    lengths = np.unique(_keys(x.size), return_counts=True)[1]
    parts = np.split(_wide(x)[order], np.cumsum(lengths)[:-1])
    found = np.empty_like(_wide(x))
    found[order] = np.concatenate([np.cumsum(part, dtype=found.dtype) for part in parts])
    return found


def _begins(x: np.ndarray) -> np.ndarray:
    return np.flatnonzero(np.concatenate([[True], x[1:] != x[:-1]]))


def _scatter(x: Any, places: Any, **where: Any) -> Any:
    operands = as_operands("scatter", (x, places), where.get("device"))
    elements, order = (flat(operands, native) for native in operands.natives)
    into = operands.empty(elements.shape, elements.dtype)
    return operands.to_caller(scatter(elements, order, into, operands.device))


def _scattered(x: np.ndarray) -> np.ndarray:
    found = np.empty_like(x)
    found[_order(x.size)] = x
    return found


# Each call with the primitives that it runs.
_CASES: dict[str, tuple[TuningCase, tuple[str, ...]]] = {
    "unique": (_case(unique, _alone, np.unique), ("sort", "compact")),
    "unique's inverse": (
        _case(
            lambda x, **where: unique(x, return_inverse=True, **where)[1],
            _alone,
            lambda x: np.unique(x, return_inverse=True)[1],
        ),
        ("sort", "scan"),
    ),
    "unique_consecutive": (_case(unique_consecutive, _alone, lambda x: x[_begins(x)]), ("map", "compact")),
    "run_length_encode": (
        _case(
            lambda x, **where: run_length_encode(x, **where)[1],
            _alone,
            lambda x: np.diff(np.append(_begins(x), x.size)),
        ),
        ("map", "compact"),
    ),
    "run_length_decode": (
        _case(run_length_decode, lambda x: beside(x, _lengths(x.size)), lambda x: np.repeat(x, _lengths(x.size))),
        ("map", "scan", "take"),
    ),
    "reduce by keys": (
        _case(lambda x, by, **where: reduce(x, by=by, **where), lambda x: beside(x, _keys(x.size)), _sums),
        ("sort", "segments"),
    ),
    "group_by": (
        _case(
            lambda x, keys, **where: group_by(keys, x, op="max", **where)[1],
            lambda x: beside(x, _keys(x.size)),
            _greatest,
        ),
        ("sort", "segments"),
    ),
    "scan by keys": (
        _case(lambda x, by, **where: scan(x, by=by, **where), lambda x: beside(x, _keys(x.size)), _running),
        ("sort", "take", "segscan"),
    ),
    "scatter": (_case(_scatter, lambda x: beside(x, _order(x.size)), _scattered), ("map",)),
}


def cases_of(primitive: str) -> dict[str, TuningCase]:
    """Return the calls that run a primitive, by name."""
    return {name: replace(case, primitive=primitive) for name, (case, users) in _CASES.items() if primitive in users}
