"""Folds and scans by key, and group_by, against NumPy and pandas."""

from __future__ import annotations

import numpy as np
import pytest
from grouping_cases import SIZES, repeated
from tricky_data import tricky

import gpuprims
from gpuprims.errors import ArgumentError, DeviceMismatchError, DtypeError, ShapeError, UnknownOperatorError

FOLDS = {
    "sum": np.sum, "prod": np.prod, "min": np.min, "max": np.max, "any": np.any, "all": np.all, "mean": np.mean,
    "var": np.var, "std": np.std, "count_nonzero": np.count_nonzero, "norm": np.linalg.norm,
}  # fmt: skip
# Composition of affine maps, which does not commute.
AFFINE = gpuprims.Op(lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1]), identity=(1, 0), name="affine")


def groups_of(keys):
    """Return the indices of the elements of each key, in ascending order of keys."""
    keys = np.ravel(keys)
    return [np.flatnonzero((keys == key) | ((keys != keys) & (key != key))) for key in np.unique(keys)]


@pytest.mark.parametrize("size", SIZES)
def test_sums(place, rng, size):
    keys, x = rng.integers(-50, 50, size), rng.integers(-1000, 1000, size).astype(np.int32)
    distinct, inverse = np.unique(keys, return_inverse=True)
    expected = np.zeros(distinct.size, np.int64)
    np.add.at(expected, inverse, x)
    result = gpuprims.reduce(place.given(x), by=place.given(keys), device=place.device)
    assert result.dtype == expected.dtype
    np.testing.assert_array_equal(place.host(result), expected)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "float32", "float64"])
def test_keys_of_each_dtype(place, rng, dtype):
    keys, x = repeated(rng, 999, dtype), rng.integers(0, 9, 999)
    found, sums = gpuprims.group_by(place.given(keys), place.given(x), device=place.device)
    np.testing.assert_array_equal(place.host(found), np.unique(keys))
    np.testing.assert_array_equal(place.host(sums), [x[at].sum() for at in groups_of(keys)])


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_keys_that_are_hard(device, rng, dtype):
    for name, keys in tricky(rng, 20_001, dtype).items():
        x = rng.integers(-9, 9, keys.size)
        distinct, inverse = np.unique(keys, return_inverse=True)
        sums = np.zeros(distinct.size, np.int64)
        np.add.at(sums, inverse, x)
        for result, expected in zip(gpuprims.group_by(keys, x, device=device), (distinct, sums), strict=True):
            np.testing.assert_array_equal(result, expected, err_msg=name)
        np.testing.assert_array_equal(gpuprims.reduce(x, by=keys, device=device), sums, err_msg=name)
        order = np.argsort(inverse, kind="stable")
        running = np.cumsum(x[order])
        before = np.concatenate([[0], np.cumsum(sums)])[inverse[order]]
        expected = np.empty_like(x)
        expected[order] = running - before
        np.testing.assert_array_equal(gpuprims.scan(x, by=keys, device=device), expected, err_msg=name)


@pytest.mark.parametrize("op", FOLDS)
@pytest.mark.parametrize("dtype", ["int16", "float64", "complex128"])
def test_operators(device, rng, op, dtype):
    if dtype == "complex128" and op not in ("sum", "prod", "mean", "any", "all", "count_nonzero"):
        pytest.skip("operators of complex numbers")
    keys, x = rng.integers(0, 20, 400), rng.integers(-4, 5, 400).astype(dtype)
    result = gpuprims.reduce(x, by=keys, op=op, device=device)
    np.testing.assert_allclose(result, [FOLDS[op](x[at]) for at in groups_of(keys)], rtol=1e-12)


@pytest.mark.parametrize("op", ["argmin", "argmax"])
def test_places_count_along_the_whole_array(place, rng, op):
    keys, x = rng.integers(0, 20, (20, 30)), repeated(rng, 600, "float32").reshape(20, 30)
    result = gpuprims.reduce(place.given(x), by=place.given(keys), op=op, device=place.device)
    expected = [at[getattr(np, op)(x.ravel()[at])] for at in groups_of(keys)]
    assert result.dtype == np.int64
    np.testing.assert_array_equal(place.host(result), expected)


def test_an_operator_that_does_not_commute(place, rng):
    keys, a, b = rng.integers(0, 40, 1000), rng.integers(-1, 3, 1000), rng.integers(-4, 4, 1000)
    given = place.given(keys), place.given(a), place.given(b)
    found, slopes, offsets = gpuprims.group_by(*given, op=AFFINE, device=place.device)
    for key, slope, offset in zip(*map(place.host, (found, slopes, offsets)), strict=True):
        expected = 1, 0
        for p, q in zip(a[keys == key], b[keys == key], strict=True):
            expected = expected[0] * p, expected[1] * p + q
        assert (slope, offset) == expected


def test_an_operator_that_prepares_elements(device):
    squares = gpuprims.Op(lambda a, b: a + b, 0, prepare=lambda element, index: element * element, name="squares")
    keys, x, y = np.int32([2, 1, 2]), np.int64([1, 2, 3]), np.int64([4, 5, 6])
    for result, expected in zip(
        gpuprims.group_by(keys, x, y, op=squares, device=device), ([1, 2], [4, 10], [25, 52]), strict=True
    ):
        np.testing.assert_array_equal(result, expected)


def test_keywords_of_reduce(device, rng):
    keys = rng.integers(0, 9, 500)
    x, y = rng.standard_normal((2, 500)).astype(np.float32)
    groups = groups_of(keys)
    dots = gpuprims.reduce(x, y, by=keys, map="x*y", dtype="float64", device=device)
    assert dots.dtype == np.float64
    np.testing.assert_allclose(dots, [np.dot(x[at], y[at]) for at in groups], rtol=1e-4, atol=1e-4)
    spread = gpuprims.reduce(x, by=keys, op="std", ddof=1, device=device)
    np.testing.assert_allclose(spread, [x[at].std(ddof=1) for at in groups], rtol=1e-4)
    exact = gpuprims.reduce(x, by=keys, compensated=True, device=device)
    np.testing.assert_allclose(exact, [x[at].sum(dtype=np.float64) for at in groups], rtol=1e-6, atol=1e-6)


def test_bits_are_the_same_in_each_run(device, rng):
    keys, x = rng.integers(0, 100, 50_000), rng.standard_normal(50_000).astype(np.float32)
    first = [gpuprims.reduce(x, by=keys, device=device), gpuprims.scan(x, by=keys, device=device)]
    again = [gpuprims.reduce(x, by=keys, device=device), gpuprims.scan(x, by=keys, device=device)]
    for one, other in zip(first, again, strict=True):
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("inclusive", [True, False])
def test_scans(place, rng, size, inclusive):
    keys, x = repeated(rng, size, "float32", 9), rng.integers(-1000, 1000, size).astype(np.int32)
    expected = np.zeros(size, np.int64)
    for at in groups_of(keys):
        expected[at] = np.cumsum(x[at]) - (0 if inclusive else x[at])
    result = gpuprims.scan(place.given(x), by=place.given(keys), inclusive=inclusive, device=place.device)
    assert result.dtype == np.int64
    np.testing.assert_array_equal(place.host(result), expected)


def test_scans_of_other_operators(place, rng):
    keys, x = rng.integers(0, 9, (30, 20)), rng.integers(0, 1000, (30, 20)).astype(np.float32)
    given = place.given(x), place.given(keys)
    highest = place.host(gpuprims.scan(given[0], by=given[1], op="max", device=place.device))
    places = place.host(gpuprims.scan(given[0], by=given[1], op="argmax", device=place.device))
    assert highest.shape == places.shape == x.shape
    for at in groups_of(keys):
        np.testing.assert_array_equal(highest.ravel()[at], np.maximum.accumulate(x.ravel()[at]))
    np.testing.assert_array_equal(x.ravel()[places], highest)


def test_group_by_as_pandas(device, rng):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"key": rng.integers(0, 300, 5000), "x": rng.random(5000), "y": rng.integers(0, 9, 5000)})
    arrays = [frame[name].to_numpy() for name in frame]
    for op in ("sum", "mean", "min", "max", "prod"):
        grouped = getattr(frame.groupby("key"), op)()
        keys, x, y = gpuprims.group_by(*arrays, op=op, device=device)
        np.testing.assert_array_equal(keys, grouped.index)
        np.testing.assert_allclose(x, grouped["x"], rtol=1e-12)
        np.testing.assert_allclose(y, grouped["y"], rtol=1e-12)
    running = gpuprims.scan(arrays[1], by=arrays[0], device=device)
    np.testing.assert_allclose(running, frame.groupby("key")["x"].cumsum(), rtol=1e-12)


def test_refusals():
    keys, x = np.int32([1, 2, 1]), np.float32([1, 2, 3])
    at = {"device": "reference"}
    with pytest.raises(ShapeError, match=r"reduce: keys of the shape of the values, \(3,\); got \(2,\)"):
        gpuprims.reduce(x, by=keys[:2], **at)
    with pytest.raises(ShapeError, match="group_by: keys of the shape"):
        gpuprims.group_by(keys, x, x[:2], **at)
    with pytest.raises(DtypeError, match="scan: real elements; got complex64"):
        gpuprims.scan(x, by=x.astype(np.complex64), **at)
    for keyword in ({"axis": 0}, {"segments": [0, 3]}):
        (name,) = keyword
        for function in (gpuprims.reduce, gpuprims.scan):
            with pytest.raises(ArgumentError, match=f"no {name}= with by="):
                function(x, by=keys, **keyword, **at)
    with pytest.raises(ArgumentError, match="no keepdims= with by="):
        gpuprims.reduce(x, by=keys, keepdims=True, **at)
    with pytest.raises(ArgumentError, match="values beside the keys; got none"):
        gpuprims.group_by(keys, **at)
    with pytest.raises(ArgumentError, match="2 arrays of values, its components; got 1"):
        gpuprims.group_by(keys, x, op=AFFINE, **at)
    with pytest.raises(UnknownOperatorError, match="did you mean 'sum'"):
        gpuprims.group_by(keys, x, op="total", **at)
    with pytest.raises(ArgumentError, match="at least one array; got none"):
        gpuprims.reduce(by=keys, **at)
    weighted = gpuprims.Op(lambda a, b: a + b, 0, prepare=lambda element, index: element * index, name="weighted")
    with pytest.raises(ArgumentError, match="whose prepare takes no index, with keys"):
        gpuprims.group_by(keys, x, op=weighted, **at)


def test_keys_lie_where_the_values_do(device):
    if device.backend == "reference":
        pytest.skip("its arrays are host arrays")
    with pytest.raises(DeviceMismatchError, match="arrays on one device"):
        gpuprims.reduce(device.driver.asarray(np.float32([1, 2])), by=[1, 1])
