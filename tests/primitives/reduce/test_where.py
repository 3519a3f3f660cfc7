"""reduce with where= and initial=, and scan with initial=: every variant of every device against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_cases import DTYPES, LAYOUTS, Kernel, assert_equal, on_device, on_host
from reduce_cases import NUMPY, several_tiles
from scan_cases import COLUMNS

import gpuprims
from gpuprims import Op
from gpuprims.errors import ArgumentError, DtypeError, ShapeError

pytestmark = pytest.mark.filterwarnings("ignore:(Degrees of freedom|Mean of empty|invalid value):RuntimeWarning")
INITIAL = {"min": 3, "max": -3, "nanmin": 3, "nanmax": -3}


def small(rng: np.random.Generator, dtype: Any, shape: Any) -> np.ndarray:
    """Return numbers whose sums and products are exact."""
    return np.asarray(
        rng.choice([-1, 1, 1, 1], shape) if np.dtype(dtype).kind != "u" else rng.integers(1, 2, shape)
    ).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", ["sum", "prod", "min", "max", "any", "all", "mean"])
def test_a_mask_leaves_elements_out(reduce_kernel: Kernel, rng: np.random.Generator, op: str, dtype: str) -> None:
    x = small(rng, dtype, (3, 40, 70))
    masks = rng.random(x.shape) < 0.4, rng.random(70) < 0.5, rng.random((40, 1)) < 0.5, np.False_
    how = {"initial": 1} if op in INITIAL else {}
    for mask in masks:
        for axis in (None, 1, -1, (0, 2)):
            expected = np.asarray(NUMPY[op](x, axis=axis, where=mask, **how))
            reduce_kernel.need(dtype, expected.dtype)
            got = reduce_kernel.reduce(x, op=op, axis=axis, where=mask, **how)
            assert got.dtype == expected.dtype
            np.testing.assert_allclose(got, expected, rtol=4 * np.finfo(np.float32).eps if op == "mean" else 0)


@pytest.mark.parametrize("op", ["var", "std", "nansum", "nanmean", "nanmax", "count_nonzero"])
def test_the_others_take_masks_too(reduce_kernel: Kernel, rng: np.random.Generator, op: str) -> None:
    x = rng.standard_normal((4, 900)).astype(np.float32)
    if op.startswith("nan"):
        x[rng.random(x.shape) < 0.3] = np.nan
    mask = rng.random(x.shape) < 0.5
    how: dict[str, Any] = {"initial": -3} if op == "nanmax" else {}
    if op == "count_nonzero":
        expected = np.sum(mask, axis=1)
    else:
        expected = getattr(np, op)(x.astype(np.float64), axis=1, where=mask, **how).astype(np.float32)
    got = reduce_kernel.reduce(x, op=op, axis=1, where=mask, **how)
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)
    if op in ("var", "std"):
        whole = rng.integers(0, 99, x.shape).astype(np.int8)  # folded exactly
        reduce_kernel.need(np.float64)
        expected = getattr(np, op)(whole, axis=1, where=mask, ddof=1)
        np.testing.assert_allclose(reduce_kernel.reduce(whole, op=op, axis=1, where=mask, ddof=1), expected, rtol=1e-14)


def test_every_boundary(reduce_kernel: Kernel, rng: np.random.Generator) -> None:
    for size in (*reduce_kernel.boundary_sizes, several_tiles(reduce_kernel)):
        x, mask = rng.integers(-9, 9, size).astype(np.float32), rng.random(size) < 0.5
        assert_equal(reduce_kernel.reduce(x, where=mask), np.sum(x, where=mask))
        assert_equal(reduce_kernel.reduce(x, op="max", where=mask, initial=-5), np.max(x, where=mask, initial=-5))


@pytest.mark.parametrize("layout", list(LAYOUTS))
def test_any_layout(reduce_kernel: Kernel, rng: np.random.Generator, layout: str) -> None:
    reduce_kernel.need(np.float64)
    x = LAYOUTS[layout](rng)
    mask = (rng.random(x.shape[::-1]) < 0.5).T
    np.testing.assert_allclose(reduce_kernel.reduce(x, axis=1, where=mask), np.sum(x, axis=1, where=mask), rtol=1e-12)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", ["sum", "prod", "min", "max", "any", "bitwise_or"])
def test_folds_begin_with_a_value(reduce_kernel: Kernel, rng: np.random.Generator, op: str, dtype: str) -> None:
    if op == "bitwise_or" and np.dtype(dtype).kind == "f":
        pytest.skip("floats have no bits")
    one = np.bitwise_or.reduce if op == "bitwise_or" else np.logical_or.reduce if op == "any" else NUMPY[op]
    for shape, axis in (((3, 70), 1), ((70, 3), 0), ((several_tiles(reduce_kernel),), None), ((0, 3), 0), ((1, 5), 0)):
        x = small(rng, dtype, shape)
        for initial in (0, 1) if np.dtype(dtype).kind == "b" else (3, 0, dtype and np.dtype(dtype).type(2)):
            initial = bool(initial) if op == "any" else initial
            expected = np.asarray(one(x, axis=axis, initial=initial))
            reduce_kernel.need(dtype, expected.dtype)
            assert_equal(reduce_kernel.reduce(x, op=op, axis=axis, initial=initial), expected)


def test_many_initial_values_share_one_kernel(device: gpuprims.Device) -> None:
    x = np.float32([1, 2])
    for initial in (0.0, -0.0, 0.5, -3, np.inf, np.float64(1e3)):
        for _ in range(2):
            got = gpuprims.reduce(x, op="max", initial=initial, device=device)
            assert_equal(got, np.float32(max(2, initial)))
    assert np.isnan(gpuprims.reduce(x, op="max", initial=np.nan, device=device))


def test_arrays_of_the_device_plans_segments_and_keys(device: gpuprims.Device, rng: np.random.Generator) -> None:
    x, mask = rng.integers(-9, 9, 600).astype(np.float32), rng.random(600) < 0.5
    own, beside = on_device(device, x), on_device(device, mask)
    expected = np.max(x, where=mask, initial=-20)
    for _ in range(2):
        assert on_host(device, gpuprims.reduce(own, where=beside)) == x[mask].sum()
        assert on_host(device, gpuprims.reduce(own, op="max", where=beside, initial=-20)) == expected
    plan = gpuprims.plan("reduce", x, where=mask, op="max", initial=-20, device=device)
    assert plan(x[::-1].copy(), mask) == np.max(x[::-1], where=mask, initial=-20)
    offsets = [0, 100, 100, 600]
    got = gpuprims.reduce(x, where=mask, initial=5, segments=offsets, device=device)
    assert_equal(got, np.array([x[:100][mask[:100]].sum() + 5, 5, x[100:][mask[100:]].sum() + 5], np.float32))
    got = gpuprims.reduce(x, x, map="x + y", op="mean", where=mask, segments=[0, 100, 600], device=device)
    means = [2 * x[:100].mean(where=mask[:100]), 2 * x[100:].mean(where=mask[100:])]
    np.testing.assert_allclose(got, np.array(means, np.float32), rtol=1e-6)
    keys = rng.integers(0, 3, 600)
    for given in (None, lambda a: a + 1):
        got = gpuprims.reduce(x, map=given, where=mask, initial=5, by=keys, device=device)
        more = x if given is None else x + 1
        assert_equal(got, np.array([more[mask & (keys == k)].sum() + 5 for k in range(3)], np.float32))
    counts = gpuprims.reduce(x, op="mean", where=mask, by=keys, device=device)
    np.testing.assert_allclose(counts, [x[mask & (keys == k)].mean() for k in range(3)], rtol=1e-6)


def test_operators_of_ones_own(device: gpuprims.Device, rng: np.random.Generator) -> None:
    a, b = rng.integers(1, 3, (2, 50))
    affine = Op(lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1]), (1, 0), name="affine")
    mask = rng.random(50) < 0.2
    expected = gpuprims.reduce(np.append(3, a[mask]), np.append(4, b[mask]), op=affine, device="reference")
    assert gpuprims.reduce(a, b, op=affine, where=mask, initial=(3, 4), device=device) == expected
    first = Op(lambda a, b: np.where(a != 0, a, b), 0)
    assert gpuprims.reduce(a, op=first, initial=7, device=device) == 7


@pytest.mark.parametrize("op", ["sum", "max", "prod"])
@pytest.mark.parametrize("shape", ["flat", "columns"])
def test_scans_begin_with_a_value(scan_kernel: Kernel, rng: np.random.Generator, op: str, shape: str) -> None:
    x = rng.choice([-1.0, 1.0], scan_kernel.several_scanned if shape == "flat" else COLUMNS).astype(np.float32)
    ufunc = {"sum": np.add, "max": np.maximum, "prod": np.multiply}[op]
    for initial in (3, 0.5):
        expected = ufunc(np.float32(initial), ufunc.accumulate(x, axis=0))
        assert_equal(scan_kernel.scan(x, op=op, axis=0, initial=initial), expected)
        first = np.full_like(x[:1], initial)
        before = np.concatenate([first, expected[:-1]])
        assert_equal(scan_kernel.scan(x, op=op, axis=0, initial=initial, inclusive=False), before)


def test_segments_and_keys_of_a_scan_begin_with_a_value(device: gpuprims.Device) -> None:
    x = np.float32([1, 2, 3, 4, 5])
    for inclusive, expected in ((True, [11, 13, 13, 17, 22]), (False, [10, 11, 10, 13, 17])):
        how: dict[str, Any] = {"inclusive": inclusive, "initial": 10, "device": device}
        assert_equal(gpuprims.scan(x, segments=[0, 2, 2, 5], **how), np.array(expected, np.float32))
        assert_equal(gpuprims.scan(x, by=[3, 3, 8, 8, 8], **how), np.array(expected, np.float32))
    assert_equal(gpuprims.plan("scan", x, initial=10, device=device)(x), np.cumsum(x) + 10)


X = np.arange(6.0).reshape(2, 3)
REFUSED: dict[str, tuple[Any, type[Exception], str]] = {
    "a mask of integers": ({"where": [1, 0, 1]}, DtypeError, r"where= of bools; got int64 \(write where=mask != 0\)"),
    "a larger mask": ({"where": np.ones((4, 2, 3), bool)}, ShapeError, r"broadcasts to the arrays' shape \(2, 3\)"),
    "a mask of another shape": ({"where": np.ones(4, bool)}, ShapeError, "broadcast together"),
    "an extreme of nothing": ({"op": "min", "where": X > 1}, ArgumentError, "initial= beside where=, because"),
    "a place of nothing": ({"op": "argmax", "where": X > 1}, ArgumentError, r"compact\(x, mask\) keeps"),
    "an initial place": ({"op": "argmax", "initial": 1}, ArgumentError, "argmax: no initial=, because a result is"),
    "an initial mean": ({"op": "mean", "initial": 1}, ArgumentError, "mean: no initial=, because a result is"),
    "an initial array": ({"initial": [1, 2]}, ArgumentError, r"initial= a number; got \[1, 2\]"),
    "an initial text": ({"initial": "0"}, ArgumentError, "initial= a number; got '0'"),
    "one of two": ({"op": "minmax", "initial": 1}, ArgumentError, "initial= a tuple of 2 numbers; got 1"),
    "a part of an integer": ({"map": "int32(x)", "initial": 0.5}, DtypeError, "that int64 can hold; got 0.5"),
}


@pytest.mark.parametrize(("how", "error", "message"), REFUSED.values(), ids=REFUSED)
def test_what_has_no_meaning_is_refused(how: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        gpuprims.reduce(X, device="reference", **how)


def test_masks_count_no_arrays_of_the_call() -> None:
    with pytest.raises(ArgumentError, match=r"reduce with sum: 1 array\(s\), or a map with as many results; got 2"):
        gpuprims.reduce(X, X, where=X > 1, device="reference")
