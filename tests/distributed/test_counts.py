"""map, histogram, bincount and compact of sharded arrays against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from device_groups import group_of

import gpuprims
from gpuprims.distributed import counting
from gpuprims.errors import ArgumentError, ArrayError


@pytest.mark.parametrize("how", [{"bins": 7}, {"bins": 10, "range": (-1, 1)}, {"bins": [-2, -1, 0.5, 3]}])
def test_histogram_is_numpys(group, how, rng) -> None:
    x = rng.standard_normal(20_011).astype(np.float32)
    counts, edges = group.histogram(group.scatter(x), **how)
    wanted, at = np.histogram(x, **how)
    np.testing.assert_array_equal(counts, wanted)
    np.testing.assert_array_equal(edges, at)
    assert (counts.dtype, edges.dtype) == (wanted.dtype, at.dtype)


def test_histogram_of_weights_and_density(group, rng) -> None:
    x, weights = rng.standard_normal((2, 10_007)).astype(np.float32)
    a, b = group.scatter(x), group.scatter(weights)
    found, _ = group.histogram(a, 20, (-3, 3), weights=b)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, np.histogram(x, 20, (-3, 3), weights=weights.astype(float))[0], atol=1e-4)
    np.testing.assert_array_equal(found, group.histogram(a, 20, (-3, 3), weights=b)[0])
    density, edges = group.histogram(a, 20, density=True)
    np.testing.assert_allclose(density, np.histogram(x, edges, density=True)[0], rtol=1e-12)


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_histogram_of_few_elements(rows) -> None:
    group, x = group_of("reference"), np.arange(rows, dtype=np.int64)
    for found, wanted in zip(group.histogram(group.scatter(x), 4), np.histogram(x, 4), strict=True):
        np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(group.bincount(group.scatter(x)), np.bincount(x))


def test_histogram_needs_edges_that_do_not_depend_on_a_rule() -> None:
    group = group_of("reference")
    with pytest.raises(ArgumentError, match=r"a number or edges; got 'auto'"):
        group.histogram(group.scatter(np.arange(9.0)), "auto")
    with pytest.raises(ArgumentError):
        group.histogram(group.scatter(np.array([1.0, np.nan, 2.0])), 3)


def test_bincount_is_numpys(group, rng) -> None:
    x = np.sort(rng.integers(0, 300, 10_001, np.int32))  # so shards have different largest numbers
    weights = rng.random(len(x))
    sharded = group.scatter(x)
    np.testing.assert_array_equal(group.bincount(sharded), np.bincount(x))
    np.testing.assert_array_equal(group.bincount(sharded, minlength=500), np.bincount(x, minlength=500))
    np.testing.assert_allclose(
        group.bincount(sharded, weights=group.scatter(weights)), np.bincount(x, weights), rtol=1e-12
    )


def test_compact_keeps_elements_in_order(group, rng) -> None:
    x = rng.standard_normal(30_001).astype(np.float32)
    sharded = group.scatter(x)
    kept = group.compact(sharded, "x > 1")
    np.testing.assert_array_equal(kept.gather(), x[x > 1])
    by_mask = group.compact(sharded, group.map("x > 1", sharded))
    np.testing.assert_array_equal(by_mask.gather(), x[x > 1])
    np.testing.assert_array_equal(group.compact(sharded, lambda v: v < -9).gather(), x[x < -9])
    np.testing.assert_allclose(group.reduce(kept), x[x > 1].sum(dtype=np.float64), rtol=1e-5)  # its shards differ


def test_map_takes_arrays_and_numbers(group, rng) -> None:
    x, y = rng.standard_normal((2, 8_001)).astype(np.float32)
    a, b = group.scatter(x), group.scatter(y)
    np.testing.assert_array_equal(group.map("a*x + y", x=a, y=b, a=2.0).gather(), np.float32(2) * x + y)
    np.testing.assert_array_equal(group.map(lambda u, v: u - v, a, np.float32(3)).gather(), x - np.float32(3))
    whole, rest = group.map(lambda u: (np.floor(u), u - np.floor(u)), a)
    np.testing.assert_array_equal(whole.gather(), np.floor(x))
    np.testing.assert_array_equal(rest.gather(), x - np.floor(x))


def test_map_refuses_what_would_be_wrong_on_a_shard(rng) -> None:
    group = group_of("reference")
    x = group.scatter(rng.random(9))
    for keywords in ({"index": "i"}, {"out": np.empty(9)}, {"device": "reference"}):
        with pytest.raises(ArgumentError, match="no keywords beside names of arrays"):
            group.map("x + 1", x, **keywords)
    with pytest.raises((ArgumentError, ArrayError)):
        group.map("x + y", x, rng.random(9))
    with pytest.raises(ArgumentError, match="at least one array"):
        group.map("x + 1", 3.0)


def test_shards_of_two_axes_and_other_dtypes(rng) -> None:
    group, x = group_of("reference"), rng.integers(0, 200, (301, 4), np.uint8)
    sharded = group.scatter(x)
    np.testing.assert_array_equal(group.histogram(sharded, 16)[0], np.histogram(x, 16)[0])
    np.testing.assert_array_equal(
        group.compact(sharded, sharded_mask := group.map("x > 100", sharded)).gather(), x[x > 100]
    )
    assert sharded_mask.dtype == np.bool_
    assert isinstance(sharded_mask, gpuprims.ShardedArray)


@pytest.mark.parametrize("how", [{"bins": 7, "range": (-1, 2)}, {"bins": np.array([-2, -1, 0.5, 3])}])
def test_later_calls_of_a_kind_have_plans(how, rng, monkeypatch) -> None:
    group, made = group_of("reference"), []
    monkeypatch.setattr(counting, "plan", lambda *given, **named: made.append(given) or gpuprims.plan(*given, **named))
    x = rng.standard_normal(300)
    sharded, weights = group.scatter(x), group.scatter(x * x)
    for call in range(3):
        counts, edges = group.histogram(sharded, **how)
        wanted, right = np.histogram(x, **how)
        np.testing.assert_array_equal(counts, wanted)
        np.testing.assert_array_equal(edges, right)
        edges[:] = 0  # the caller's own
        assert len(made) == (3 if call else 0)
    for _ in range(2):
        found = group.histogram(sharded, weights=weights, **how)[0]
        np.testing.assert_allclose(found, np.histogram(x, weights=x * x, **how)[0])
        np.testing.assert_array_equal(group.histogram(group.scatter(-x), **how)[0], np.histogram(-x, **how)[0])
        with gpuprims.use_determinism("device"):
            np.testing.assert_array_equal(group.histogram(sharded, **how)[0], wanted)
    for number in range(40):
        group.histogram(sharded, 5, (0, 1 + number))
    assert len(counting._KNOWN[group]) == counting._MOST
