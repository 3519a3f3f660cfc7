"""reduce and scan of sharded arrays against NumPy, with operators that do not commute and shards of few elements."""

from __future__ import annotations

import numpy as np
import pytest
from device_groups import group_of

import gpuprims
from conftest import SPECS
from gpuprims.errors import ArgumentError, EmptyReductionError

NAMES = [
    *("sum", "prod", "mean", "min", "max", "var", "std", "norm", "any", "all", "count_nonzero", "argmin", "argmax"),
    *("ptp", "nansum", "nanmean", "nanmin", "nanvar", "nanargmax"),
]
# Composition of affine maps, which does not commute.
AFFINE = gpuprims.Op(lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1]), identity=(1, 0), name="affine")


def numbers(rng: np.random.Generator, shape: tuple[int, ...], name: str) -> np.ndarray:
    x = rng.integers(1, 9, shape).astype(np.float64) if name == "prod" else rng.standard_normal(shape)
    if name == "prod":
        x = 1 + x / 1e4
    if name.startswith("nan"):
        x[rng.random(shape) < 0.2] = np.nan
    return x


def expected(name: str, x: np.ndarray, **how):
    function = {"norm": lambda x, axis=None: np.sqrt((x * x).sum(axis)), "count_nonzero": np.count_nonzero}
    return (function.get(name) or getattr(np, name))(x, **how)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1), (0, 2)])
def test_reduce_is_numpys(name, axis, rng) -> None:
    group = group_of("reference")
    x = numbers(rng, (100, 7, 3), name)
    if axis is not None and "arg" in name and isinstance(axis, tuple):
        pytest.skip("NumPy's takes one axis")
    found = group.reduce(group.scatter(x), op=name, axis=axis)
    found = found.gather() if isinstance(found, gpuprims.ShardedArray) else found
    np.testing.assert_allclose(found, expected(name, x, axis=axis), rtol=1e-12)


@pytest.mark.parametrize("name", ["sum", "mean", "argmax", "var", "nanmax"])
def test_reduce_on_devices(group, name, rng) -> None:
    x = numbers(rng, (40_001,), name).astype(np.float32)
    found = group.reduce(group.scatter(x), op=name)
    np.testing.assert_allclose(found, expected(name, x.astype(np.float64)), rtol=1e-5, atol=1e-5)
    assert found.dtype == expected(name, x).dtype


def test_integers_are_summed_exactly_and_widen(group, rng) -> None:
    x = rng.integers(-(2**31), 2**31, 30_011, np.int32)
    found = group.reduce(group.scatter(x))
    assert found == x.sum(dtype=np.int64)
    assert found.dtype == np.int64


def test_arguments_of_reduce(group, rng) -> None:
    x, y = rng.standard_normal((2, 5_003)).astype(np.float32)
    a, b = group.scatter(x), group.scatter(y)
    mask = group.scatter(x > 0)
    np.testing.assert_allclose(group.reduce(a, b, map="x*y"), np.dot(x.astype(np.float64), y), rtol=1e-4)
    np.testing.assert_allclose(group.reduce(a, op="mean", where=mask), x[x > 0].mean(dtype=np.float64), rtol=1e-5)
    np.testing.assert_allclose(group.reduce(a, op="std", ddof=1), x.astype(np.float64).std(ddof=1), rtol=1e-5)
    assert group.reduce(a, op="max", where=mask, initial=-1.0) == x.max()
    assert group.reduce(a, op="max", initial=1e9) == np.float32(1e9)
    assert group.reduce(a, dtype=np.float64).dtype == np.float64
    low, high = group.reduce(a, op="minmax")
    assert (low, high) == (x.min(), x.max())


def test_keepdims_and_results_that_stay_on_the_devices(group, rng) -> None:
    x = rng.standard_normal((301, 17)).astype(np.float32)
    sharded = group.scatter(x)
    assert group.reduce(sharded, keepdims=True).shape == (1, 1)
    assert group.reduce(sharded, axis=0, keepdims=True).shape == (1, 17)
    rows = group.reduce(sharded, op="argmax", axis=1)
    assert isinstance(rows, gpuprims.ShardedArray)
    np.testing.assert_array_equal(rows.gather(), x.argmax(axis=1))
    assert group.reduce(sharded, axis=-1, keepdims=True).shape == (301, 1)


def test_compensated_sums_lose_nothing_at_the_cuts(group) -> None:
    x = np.float32([1e8, 1, 1, 1, 1, -1e8])
    assert group.reduce(group.scatter(x), compensated=True) == 4


def test_an_operator_that_does_not_commute_joins_shards_in_order(group, rng) -> None:
    a, b = rng.integers(-3, 4, (2, 3_001))
    found = group.reduce(group.scatter(a | 1), group.scatter(b), op=AFFINE)
    p, q = 1, 0
    for one, other in zip((a | 1).tolist(), b.tolist(), strict=True):
        p, q = p * one, q * one + other
    wrap = 2**64
    assert [int(v) % wrap for v in found] == [p % wrap, q % wrap]


@pytest.mark.parametrize("rows", [0, 1, 2, 5])
def test_shards_may_have_no_rows(rows) -> None:
    group, x = group_of("reference"), np.arange(rows, dtype=np.float32)
    sharded = group.scatter(x)
    assert group.reduce(sharded) == x.sum()
    np.testing.assert_array_equal(group.scan(sharded).gather(), np.cumsum(x))
    np.testing.assert_array_equal(group.compact(sharded, "x > 1").gather(), x[x > 1])
    if rows:
        assert group.reduce(sharded, op="max") == x.max()
        assert group.reduce(sharded, op="argmin") == 0
    else:
        with pytest.raises(EmptyReductionError):
            group.reduce(sharded, op="max")


def test_results_are_the_same_in_every_run(group, rng) -> None:
    sharded = group.scatter(rng.standard_normal(100_003).astype(np.float32))
    first, scanned = group.reduce(sharded), group.scan(sharded).gather()
    for _ in range(5):
        assert group.reduce(sharded) == first
        np.testing.assert_array_equal(group.scan(sharded).gather(), scanned)


@pytest.mark.parametrize("inclusive", [True, False])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_scan_of_integers_is_exact(group, axis, inclusive, rng) -> None:
    x = rng.integers(-100, 100, (2_003, 5))
    found = group.scan(group.scatter(x), axis=axis, inclusive=inclusive).gather()
    wanted = np.cumsum(x, axis=axis)
    if not inclusive:
        wanted = wanted - (x.reshape(-1) if axis is None else x)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("name", ["max", "prod", "mean", "argmax", "nansum"])
def test_scans_of_other_operators(name, rng) -> None:
    group, x = group_of("reference"), numbers(rng, (1_000,), name)
    found = group.scan(group.scatter(x), op=name).gather()
    np.testing.assert_allclose(found, gpuprims.scan(x, op=name, device="reference"), rtol=1e-12)


def test_scan_goes_on_from_one_shard_to_the_next_in_order(group, rng) -> None:
    a, b = rng.integers(-3, 4, (2, 4_000))
    found = group.scan(group.scatter(a | 1), group.scatter(b), op=AFFINE)
    wanted = gpuprims.scan(a | 1, b, op=AFFINE, device="reference")
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one.gather(), other)


def test_scan_begins_with_initial(group, rng) -> None:
    x = rng.integers(0, 100, 999)
    for inclusive in (True, False):
        found = group.scan(group.scatter(x), initial=1000, inclusive=inclusive).gather()
        np.testing.assert_array_equal(found, gpuprims.scan(x, initial=1000, inclusive=inclusive, device="reference"))


def test_scan_refuses_what_it_cannot_do(rng) -> None:
    group = group_of("reference")
    x = group.scatter(rng.random((6, 2)))
    with pytest.raises(ArgumentError, match="no elements have no result"):
        group.scan(x, op="argmax", inclusive=False)
    with pytest.raises(ArgumentError, match="arrays of one shape if axis= is not given"):
        group.scan(x, group.scatter(rng.random((6, 1))), map="a*b")
    with pytest.raises(gpuprims.errors.AxisError):
        group.scan(x, axis=2)


def test_shards_in_the_devices_own_arrays(rng) -> None:
    """On CPUs too, where scattered arrays are NumPy's."""
    group = group_of(SPECS[0])
    x = rng.integers(-9, 9, (400, 3))
    parts = [device.asarray(part) for device, part in zip(group.devices, np.array_split(x, len(group)), strict=True)]
    sharded = group.from_shards(parts)
    assert group.reduce(sharded, op="argmax") == x.argmax()
    for axis in (None, 0):
        np.testing.assert_array_equal(group.scan(sharded, axis=axis).gather(), np.cumsum(x, axis))
        found = group.scan(sharded, axis=axis, inclusive=False).gather()
        np.testing.assert_array_equal(found, np.cumsum(x, axis) - (x.reshape(-1) if axis is None else x))
