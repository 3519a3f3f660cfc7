"""op= by NumPy's functions and Python's: in reduce, scan, segments, by= and group_by."""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from kernel_cases import assert_equal

import gpuprims
from gpuprims.operators import OPERATORS, find_op

X = np.random.default_rng(0).integers(-9, 9, (6, 50))
REDUCED: dict[str, tuple[Callable[..., Any], ...]] = {
    "sum": (np.add, np.sum, builtins.sum, operator.add),
    "prod": (np.multiply, np.prod, math.prod, operator.mul),
    "min": (np.minimum, np.min, np.amin, builtins.min),
    "max": (np.maximum, np.max, np.amax, builtins.max),
    "any": (np.logical_or, np.any, builtins.any),
    "all": (np.logical_and, np.all, builtins.all),
    "bitwise_and": (np.bitwise_and, operator.and_),
    "bitwise_or": (np.bitwise_or, operator.or_),
    "bitwise_xor": (np.bitwise_xor, operator.xor),
    "mean": (np.mean,),
    "var": (np.var,),
    "std": (np.std,),
    "norm": (np.linalg.norm,),
    "count_nonzero": (np.count_nonzero,),
    "argmin": (np.argmin,),
    "argmax": (np.argmax,),
}


@pytest.mark.parametrize("name", REDUCED)
def test_a_function_is_its_operator(name: str) -> None:
    for function in REDUCED[name]:
        assert find_op(function) is OPERATORS[name]
        given = gpuprims.reduce(X, op=function, axis=1, device="reference")
        named = gpuprims.reduce(X, op=OPERATORS[name], axis=1, device="reference")
        assert_equal(given, named)
    whole = REDUCED[name][0]
    expected = whole.reduce(X, axis=1) if isinstance(whole, np.ufunc) else whole(X, axis=1)
    np.testing.assert_allclose(named, expected)


@pytest.mark.parametrize("function", [np.add, np.maximum, np.bitwise_xor])
def test_scans_segments_and_keys_take_functions(device: gpuprims.Device, function: np.ufunc) -> None:
    x, offsets = X[0], [0, 7, 30, 50]
    keys = x % 3
    parts = [x[a:b] for a, b in pairwise(offsets)]
    assert_equal(gpuprims.scan(x, op=function, device=device), function.accumulate(x))
    got = gpuprims.reduce(x, op=function, segments=offsets, device=device)
    assert_equal(got, np.array([function.reduce(part) for part in parts]))
    by_key = np.array([function.reduce(x[keys == key]) for key in np.unique(keys)])
    assert_equal(gpuprims.reduce(x, by=keys, op=function, device=device), by_key)
    assert_equal(gpuprims.group_by(keys, x, op=function, device=device)[1], by_key)
    running = np.concatenate([function.accumulate(part) for part in parts])
    assert_equal(gpuprims.scan(x, op=function, segments=offsets, device=device), running)


def test_an_argmax_by_key_counts_along_the_whole_array() -> None:
    got = gpuprims.reduce(np.array([3, 9, 4, 9]), by=[1, 0, 1, 0], op=np.argmax, device="reference")
    assert_equal(got, np.array([1, 2]))


def test_ddof_and_compensated_go_with_functions() -> None:
    x = X[0].astype(np.float32)
    assert find_op(np.var, ddof=1) is find_op("var", ddof=1)
    assert find_op(np.sum, compensated=True) is find_op("sum", compensated=True)
    np.testing.assert_allclose(gpuprims.reduce(x, op=np.std, ddof=1, device="reference"), np.std(x, ddof=1), rtol=1e-6)


def test_plans_take_functions() -> None:
    assert gpuprims.plan("reduce", X, op=np.add, device="reference").item(X) == X.sum()
