"""reduce at the levels "device" and "order": bits of each device against the reference's, and against exact sums."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sum_errors
from kernel_cases import AFFINE, as_it_stands, bits, need

import gpuprims
from gpuprims.primitives.fixed_trees import RUN, lanes_of

BLOCK = lanes_of(4) * RUN
# On both sides of a lane's four, of the lanes, of a row of fours, of a block, and of parts of several blocks.
SIZES = (0, 1, 3, 5, 1023, 1025, 3075, 4095, 4097, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 1030, 200_007)


def assert_same_bits(device: gpuprims.Device, *arrays: np.ndarray, **how: Any) -> Any:
    """Compare a call with the reference, and return its result."""
    got = gpuprims.reduce(*arrays, device=device, determinism="device", **how)
    how.pop("variant", None)
    expected = gpuprims.reduce(*arrays, device="reference", determinism="device", **how)
    for one, other in zip(*(x if isinstance(x, tuple) else (x,) for x in (got, expected)), strict=True):
        assert bits(one) == bits(other)
    return got


@pytest.fixture
def variant(device: gpuprims.Device, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str | None:
    """The default kernel, or one for GPUs, which CPUs' compilers take as it stands."""
    if request.param is not None:
        if device.backend == "reference":
            pytest.skip("the reference has no kernel for GPUs")
        as_it_stands(monkeypatch)
    return request.param  # type: ignore[no-any-return]  # a name or None


@pytest.mark.parametrize("variant", [None, "fixed"], indirect=True)
def test_sums_have_the_same_bits_on_every_device(
    device: gpuprims.Device, rng: np.random.Generator, variant: str | None
) -> None:
    for size in SIZES:
        x = rng.standard_normal(size).astype(np.float32)
        got = assert_same_bits(device, x, variant=variant)
        np.testing.assert_allclose(got, np.sum(x, dtype=np.float64), rtol=1e-5, atol=1e-3)


@pytest.mark.parametrize("variant", [None, "fixed"], indirect=True)
def test_operands_stay_in_order(device: gpuprims.Device, rng: np.random.Generator, variant: str | None) -> None:
    """Contracted, the products of an affine map would have other bits."""
    for size in (1, 3, 17, BLOCK + 21, 3 * BLOCK + 1030):
        slopes, offsets = rng.uniform(0.99, 1.01, (2, size)).astype(np.float32)
        got = assert_same_bits(device, slopes, offsets, op=AFFINE, variant=variant)
        np.testing.assert_allclose(got[0], np.prod(slopes, dtype=np.float64), rtol=1e-4)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("op", ["var", "mean", "std", "prod", "norm", "nansum", "nanvar", "max", "ptp"])
def test_named_operators(device: gpuprims.Device, rng: np.random.Generator, op: str, dtype: str) -> None:
    if dtype == "float64" and not device.capabilities.fp64:
        pytest.skip("needs float64")
    for size in (1, 2, 1500, 2 * BLOCK + 5):
        assert_same_bits(device, rng.uniform(0.999, 1.001, size).astype(dtype), op=op)


@pytest.mark.parametrize("axis", [(0, 2), 1, 0])
def test_axes_and_layouts(device: gpuprims.Device, rng: np.random.Generator, axis: Any) -> None:
    """Elements are taken in the order of their indices, wherever they lie."""
    x = rng.standard_normal((1030, 3, 41)).astype(np.float32)
    turned = np.ascontiguousarray(x.transpose(1, 2, 0)).transpose(2, 0, 1)
    assert turned.strides != x.strides
    assert bits(assert_same_bits(device, x, axis=axis)) == bits(assert_same_bits(device, turned, axis=axis))


@pytest.mark.parametrize(
    "op", ["sum", *(pytest.param(op, marks=pytest.mark.whole) for op in (AFFINE, "var", "argmax", "prod", "nanmean"))]
)
def test_outputs_side_by_side(device: gpuprims.Device, rng: np.random.Generator, op: Any) -> None:
    """One, some and all lanes of a block, neighbouring blocks, and one strip of outputs or several."""
    few, many = ((1, 9), (2, 70), (5, 65), (513, 300), (1023, 8)), ((1025, 9), (2047, 33), (4097, 33), (50_001, 7))
    for shape in (*few, *many, (BLOCK + 7, 8)):
        x = (1 + rng.standard_normal(shape) / 100).astype(np.float32)
        for one in (x,) if op == "sum" else (x, x[::-1, ::-1]):  # each layout takes a kernel
            assert_same_bits(device, *[one] * (2 if op is AFFINE else 1), op=op, axis=0)


@pytest.mark.parametrize("dtype", ["float16", "complex64"])
def test_narrow_floats_and_complex_numbers(device: gpuprims.Device, rng: np.random.Generator, dtype: str) -> None:
    x = rng.standard_normal((2, BLOCK + 5)).astype(np.float32)
    y = (x[0] + 1j * x[1]).astype(dtype) if dtype == "complex64" else x[0].astype(dtype)
    assert_same_bits(device, y)
    if dtype == "float16":
        assert_same_bits(device, y, op="mean")
        exact = (
            gpuprims.reduce(y, device=device, determinism="order") if device.capabilities.fp64 else y.sum(dtype="f8")
        )
        assert exact == np.float16(np.float32(math.fsum(y.astype(np.float64))))


def test_nan_and_zeros_have_one_form() -> None:
    quiet, other = np.array([0x7FC00000, 0xFFC00123], np.uint32).view(np.float32)
    for x in ([other, 1], [np.inf, -np.inf], [other, quiet]):
        assert bits(gpuprims.reduce(np.float32(x), device="reference", determinism="device")) == bits(quiet)
    for zeros in ([0.0, -0.0], [-0.0, 0.0], [-0.0]):
        for op in ("max", "min"):
            got = gpuprims.reduce(np.float32(zeros), op=op, device="reference", determinism="device")
            assert bits(got) == bits(np.float32(0))


def apart(rng: np.random.Generator, size: Any, span: int) -> np.ndarray:
    """Return numbers whose exponents differ by so many."""
    return np.asarray(rng.standard_normal(size) * 2.0 ** -rng.integers(0, span, size))


def extremes(rng: np.random.Generator, dtype: Any) -> list[np.ndarray]:
    """Return arrays whose sums are hard: far exponents, cancellation, subnormals, overflow, infinities and NaN."""
    limits = np.finfo(dtype)
    wide = (rng.standard_normal(5000) * 2.0 ** rng.integers(limits.minexp - 30, limits.maxexp - 14, 5000)).astype(dtype)
    least, most = limits.smallest_subnormal, limits.max
    return [
        *(rng.standard_normal(size).astype(dtype) for size in (0, 1, 17, 2047, 2049, 100_003)),
        *(apart(rng, 9000, span).astype(dtype) for span in (25, 58, 80)),
        np.concatenate([apart(rng, 2048, span) for span in (2, 40, 2, 70, 30)]).astype(dtype),
        np.concatenate([one * sign for one in apart(rng, (2, 900), 85).astype(dtype) for sign in (1, -1)]),  # cancels
        wide,
        np.concatenate([wide, -wide[::-1], np.array([least], dtype)]),
        (rng.integers(-900, 900, 300) * least).astype(dtype),
        np.full(40, most, dtype),
        np.array([most, most, -most, 1], dtype),
        1 + np.arange(9000, dtype=dtype) * limits.eps,
        *(np.array(one, dtype) for one in ([np.inf, 1, np.inf], [np.inf, 1, -np.inf], [np.nan, 1], [-0.0, -0.0])),
    ]


def nearest(x: np.ndarray) -> Any:
    """Return the float nearest to the exact sum, the even one of two."""
    if not np.isfinite(x).all():
        return x.sum()
    exact = sum(map(Fraction, x.astype(np.float64).tolist()), Fraction(0))
    try:
        near = x.dtype.type(float(exact))
    except OverflowError:
        near = x.dtype.type(math.inf if exact > 0 else -math.inf)
    if x.dtype == np.float64 or not np.isfinite(near):
        return near
    beside = [near, np.nextafter(near, np.float32(np.inf)), np.nextafter(near, np.float32(-np.inf))]
    return min(
        filter(np.isfinite, beside), key=lambda one: (abs(Fraction(float(one)) - exact), int(one.view(np.uint32)) & 1)
    )


@pytest.mark.filterwarnings("ignore:overflow|invalid value:RuntimeWarning")
@pytest.mark.parametrize("variant", [None, "exact"], indirect=True)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_in_any_order_are_exact(
    device: gpuprims.Device, rng: np.random.Generator, dtype: Any, variant: str | None
) -> None:
    if not device.capabilities.fp64:
        pytest.skip("exact sums need float64")
    if variant and device.capabilities.kind == "cpu":
        pytest.skip("is for GPUs")
    for x in extremes(rng, dtype):
        expected = nearest(x)
        for one in (x, rng.permutation(x)):
            np.testing.assert_array_equal(
                gpuprims.reduce(one, device=device, determinism="order", variant=variant), expected
            )
            np.testing.assert_array_equal(gpuprims.reduce(one, device="reference", determinism="order"), expected)


def test_spreads_do_not_depend_on_the_order(device: gpuprims.Device, rng: np.random.Generator) -> None:
    if not device.capabilities.fp64:
        pytest.skip("exact sums need float64")
    x = (1000 + rng.standard_normal((40, 70))).astype(np.float32)
    for how in ({"op": "var"}, {"op": "std", "axis": 0, "ddof": 1, "map": "x * 2"}):
        got = gpuprims.reduce(x, device=device, determinism="order", **how)
        assert bits(got) == bits(gpuprims.reduce(x[::-1].copy(), device="reference", determinism="order", **how))
        near = np.var(x, dtype=np.float64) if len(how) == 1 else np.std(x * 2, axis=0, ddof=1, dtype=np.float64)
        np.testing.assert_allclose(got, near, rtol=1e-5)
        assert np.asarray(got).dtype == np.float32


# Exact sums take kernels of their own for each map, so the default run computes these on the reference.
REFERENCE_FIRST = ["reference", pytest.param(None, marks=pytest.mark.whole)]


def _chosen(spec: str | None, device: gpuprims.Device) -> gpuprims.Device:
    chosen = device if spec is None else gpuprims.Device(spec)
    if not chosen.capabilities.fp64:
        pytest.skip("exact sums need float64")
    return chosen


@pytest.mark.parametrize("spec", REFERENCE_FIRST)
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_sums_of_complex_numbers_are_exact(
    device: gpuprims.Device, rng: np.random.Generator, dtype: Any, spec: str | None
) -> None:
    device = _chosen(spec, device)
    parts = rng.standard_normal((2, 900)) * 2.0 ** rng.integers(-60, 60, (2, 900))
    x = (parts[0] + 1j * parts[1]).astype(dtype)
    x[450:899] = -x[:449]  # cancels
    expected = complex(*(float(nearest(np.ascontiguousarray(part))) for part in (x.real, x.imag)))
    how: dict[str, Any] = {"device": device, "determinism": "order"}
    for one in (x, rng.permutation(x)):
        assert gpuprims.reduce(one, **how) == expected
    assert gpuprims.reduce(x, segments=[0, 0, 900], **how).tolist() == [0, expected]
    assert gpuprims.scan(x, **how)[-1] == expected
    x[:2] = complex(np.inf, 1), complex(3, -np.inf)
    assert gpuprims.reduce(x, **how) == complex(np.inf, -np.inf)


@pytest.mark.filterwarnings(
    "ignore:Degrees of freedom:RuntimeWarning", "ignore:Mean of empty:RuntimeWarning", "ignore:invalid"
)
@pytest.mark.parametrize("spec", REFERENCE_FIRST)
@pytest.mark.parametrize("op", ["nanvar", "nanstd", "var"])
def test_spreads_leave_out_nan_and_what_a_mask_leaves_out(
    device: gpuprims.Device, rng: np.random.Generator, op: str, spec: str | None
) -> None:
    device = _chosen(spec, device)
    x = (1000 + rng.standard_normal((40, 70))).astype(np.float32)
    mask = rng.random(x.shape) < 0.6
    mask[0], mask[1, 1:], mask[2:4, 5] = False, False, True
    x[2, 5], x[3] = np.inf, -np.inf  # whose distance from the mean is NaN
    if op != "var":
        x[~mask] = np.nan
    how: dict[str, Any] = {"op": op, "axis": 1, "ddof": 1, "where": mask if op == "var" else None}
    got = gpuprims.reduce(x, device=device, determinism="order", **how)
    if op == "var":
        how["where"] = mask[:, ::-1].copy()
    turned = gpuprims.reduce(x[:, ::-1].copy(), device="reference", determinism="order", **how)
    assert bits(got) == bits(turned)
    wide = x.astype(np.float64)
    near = np.var(wide, axis=1, ddof=1, where=mask) if op == "var" else getattr(np, op)(wide, axis=1, ddof=1)
    np.testing.assert_allclose(got, near, rtol=1e-5)
    assert np.isnan(got[:4]).all()


def test_exact_sums_are_never_worse_than_the_defaults(device: gpuprims.Device, rng: np.random.Generator) -> None:
    if not device.capabilities.fp64:
        pytest.skip("exact sums need float64")
    for x in sum_errors.data(rng, 20_000).values():
        found = sum_errors.errors(x, device)
        assert found["order"] <= min(0.5, *found.values())


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("dtype", [np.float32, pytest.param(np.float64, marks=pytest.mark.whole)])
def test_exact_sums_of_outputs_side_by_side(device: gpuprims.Device, rng: np.random.Generator, dtype: Any) -> None:
    """Near and far elements in blocks of one output and of its neighbours, infinities and NaN, and several parts."""
    if not device.capabilities.fp64:
        pytest.skip("exact sums need float64")
    far = np.stack([apart(rng, 3001, span) for span in (1, 15, 25, 50, 60, 90, 1, 1, 1, 40)], axis=1).astype(dtype)
    far[512:1024, 3:6] = -far[:512, 3:6]  # cancel in a block
    far[1024:, 3:6] *= dtype(2.0**-80)
    far[:3, 6], far[7, 7], far[:, 8] = np.inf, np.nan, -0.0
    least = (rng.integers(-9, 9, (5, 6)) * np.finfo(dtype).smallest_subnormal).astype(dtype)
    most = np.full((70, 7), np.finfo(dtype).max)
    for x in (far, least, most, rng.standard_normal((40_000, 6)).astype(dtype), far[:1, :7]):
        got = gpuprims.reduce(x, axis=0, device=device, determinism="order")
        assert bits(got) == bits(gpuprims.reduce(x, axis=0, device="reference", determinism="order"))


def test_exact_sums_along_axes_of_maps_and_of_masks(device: gpuprims.Device, rng: np.random.Generator) -> None:
    if not device.capabilities.fp64:
        pytest.skip("exact sums need float64")
    x, y = rng.standard_normal((2, 40, 3, 50)).astype(np.float32)
    mask = rng.random(x.shape) < 0.5
    for op, axis in (("mean", (0, 2)), ("norm", 1)):
        how = {"map": "x * y", "op": op, "axis": axis, "determinism": "order"}
        got = gpuprims.reduce(x, y, device=device, **how)
        turned = [one[::-1] if op == "mean" else one[:, ::-1] for one in (x, y)]
        assert bits(got) == bits(gpuprims.reduce(*turned, device="reference", **how))
    masked = gpuprims.reduce(x, where=mask, device=device, determinism="order")
    assert masked == np.float32(math.fsum(x[mask].astype(np.float64)))


@pytest.mark.parametrize("op", ["sum", "min", "var"])
def test_outputs_of_few_elements(device: gpuprims.Device, rng: np.random.Generator, op: str) -> None:
    """Kernels for CPUs fold 64 elements and fewer of 16 outputs at once."""
    for shape in ((1, 1), (40, 2), (17, 3), (100, 63), (33, 64), (15, 65), (3, 5, 7)):
        x = rng.standard_normal(shape).astype(np.float32)
        assert_same_bits(device, x, op=op, axis=-1)
        assert_same_bits(device, x[..., ::-1], op=op, axis=-1)
    assert_same_bits(device, np.zeros((20, 0), np.float32), axis=-1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exact_sums_of_few_elements(device: gpuprims.Device, rng: np.random.Generator, dtype: Any) -> None:
    """Short rows add up in the window of all elements, or by kernels of exact sums; of wide windows by words."""
    need(device, dtype)
    for length in (2, 100, 255, 256):
        for spread in (1, 60):
            x = rng.standard_normal((9000 // length + 1, length)) * 2.0 ** rng.integers(-spread, spread, length)
            x = x.astype(dtype)
            got = gpuprims.reduce(x, axis=1, device=device, determinism="order")
            expected = [float(sum(map(Fraction, row))) for row in x.astype(float).tolist()]
            np.testing.assert_array_equal(got, np.array(expected, dtype))
            assert bits(gpuprims.reduce(x[:, ::-1], axis=1, device=device, determinism="order")) == bits(got)
