"""stencil and blur of integers up to the ends of their range: held against sums of Python's integers, and SciPy's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from kernel_cases import INTEGERS, Kernel, assert_equal, on_device, on_host
from scipy import ndimage

import gpuprims
from gpuprims.core.kernel_spec import DOUBLES
from gpuprims.core.refusals import double_precision
from gpuprims.core.traits import CallTraits
from gpuprims.errors import DtypeError, NoVariantError, ShapeError
from gpuprims.primitives.stencil.stencils import Stencil
from gpuprims.primitives.stencil.weights import of_box, of_cross, of_normal, of_weights

MODES = ("nearest", "reflect", "mirror", "wrap", "constant")
PADDING = {"nearest": "edge", "reflect": "symmetric", "mirror": "reflect", "wrap": "wrap", "constant": "constant"}
CROSS = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]])
SHARP = np.array([[1, -2, 3], [-4, 5, -6], [7, 0, 2]])
# Boxes for both ways to sum 64-bit integers, and a row.
BOXES = ((3, 3), (5, 7), (9, 11), (1, 61))


def pixels(rng: np.random.Generator, dtype: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Return elements of the full range, with patches of both ends, 0 and -1."""
    info = np.iinfo(dtype)
    x = rng.integers(info.min, info.max, shape, dtype, endpoint=True)
    ends = np.array([info.min, info.max, 0, info.max // 2, info.min // 2], dtype)
    some = rng.random(shape) < 0.3
    x[some] = rng.choice(ends, int(some.sum()))
    x[..., 2:9, 3:14], x[..., 11:19, 3:14] = info.max, info.min
    return x


def sums(x: np.ndarray, weights: np.ndarray, mode: str = "nearest", cval: int = 0) -> np.ndarray:
    """Return weighted sums of two axes as Python integers."""
    rows, columns = weights.shape
    how: dict[str, Any] = {"constant_values": cval} if mode == "constant" else {}
    beside = ((rows // 2, rows // 2), (columns // 2, columns // 2))
    padded: Any = np.pad(x, beside, mode=PADDING[mode], **how).astype(object)  # type: ignore[call-overload]
    total: Any = np.zeros(x.shape, object)
    for (dy, dx), weight in np.ndenumerate(weights.astype(object)):
        if weight:
            total = total + weight * padded[dy : dy + x.shape[0], dx : dx + x.shape[1]]
    return np.asarray(total)


def held(total: np.ndarray, dtype: Any) -> np.ndarray:
    """Convert integers as SciPy does: to their low bits, or saturated where SciPy leaves it to the platform."""
    info = np.iinfo(dtype)
    if info.bits >= 32:
        total = np.minimum(total, int(info.max))
        if info.kind == "i":
            total = np.maximum(total, int(info.min))
    return np.asarray((total & (2**info.bits - 1)).astype(f"u{info.bits // 8}")).view(dtype)


def host(device: gpuprims.Device, array: Any) -> Any:
    return array if isinstance(array, np.ndarray) else on_host(device, array)


def means(x: np.ndarray, weights: np.ndarray, mode: str = "nearest", cval: int = 0) -> np.ndarray:
    total, count = sums(x, weights, mode, cval), int(weights.sum())
    return np.where(total < 0, -(-total // count), total // count).astype(x.dtype)


def stencil(kernel: Kernel, x: Any, weights: Any, **how: Any) -> Any:
    """Compute by this variant; skip the test if the variant refuses the call."""
    kernel.need(np.dtype(x.dtype))
    try:
        return gpuprims.stencil(x, weights, device=kernel.device, variant=kernel.variant.name, **how)
    except NoVariantError as error:
        pytest.skip(str(error))


# Weights -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", INTEGERS)
def test_whole_weights(stencil_kernel: Kernel, rng: np.random.Generator, dtype: str) -> None:
    x = pixels(rng, dtype, (23, 70))
    mode = MODES[INTEGERS.index(dtype) % 5]
    cval = int(np.iinfo(dtype).max)
    for weights in (CROSS, SHARP):
        got = stencil(stencil_kernel, x, weights, mode=mode, cval=cval)
        assert_equal(got, held(sums(x, weights, mode, cval), dtype))
    resident = stencil(stencil_kernel, on_device(stencil_kernel.device, x), SHARP, mode=mode, cval=cval)
    assert_equal(host(stencil_kernel.device, resident), got)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32"])
def test_weights_that_are_not_whole(stencil_kernel: Kernel, rng: np.random.Generator, dtype: str) -> None:
    stencil_kernel.need(np.float64)
    x = pixels(rng, dtype, (23, 70))
    for weights in (SHARP, -SHARP, CROSS):
        got = stencil(stencil_kernel, x, weights / 2 + (weights == 5) * 1.5)
        total = sums(x, 1 * weights + (weights == 5) * 3)
        assert_equal(got, held(np.where(total < 0, -(-total // 2), total // 2), dtype))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", INTEGERS)
def test_every_mode(rng: np.random.Generator, dtype: str, mode: str) -> None:
    x, cval = pixels(rng, dtype, (20, 31)), int(np.iinfo(dtype).min)
    got = gpuprims.stencil(x, SHARP, mode=mode, cval=cval, device="reference")  # type: ignore[arg-type]
    assert_equal(got, held(sums(x, SHARP, mode, cval), dtype))
    for rows, columns in BOXES:
        box = np.ones((rows, columns), int)
        how: Any = {"size": (rows, columns), "mode": mode, "cval": cval}
        assert_equal(gpuprims.blur(x, "box", device="reference", **how), means(x, box, mode, cval))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32"])
def test_the_meaning_is_scipys(rng: np.random.Generator, dtype: str, mode: str) -> None:
    x, info = pixels(rng, dtype, (20, 31)), np.iinfo(dtype)
    for weights in (CROSS, SHARP, SHARP / 4):
        got = gpuprims.stencil(x, weights, mode=mode, device="reference")  # type: ignore[arg-type]
        total = ndimage.correlate(x.astype(float), weights, mode=mode)
        expected = ndimage.correlate(x, weights, mode=mode)
        if info.bits == 32:  # what SciPy leaves to the platform saturates
            lowest = info.min if info.kind == "i" else -(2**31)
            known = (total < info.max) & (total > lowest)
            assert known.any()
            assert_equal(got[known], expected[known])
            assert (got[total >= info.max] == info.max).all()
        else:
            assert_equal(got, expected)


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_many_weights_of_64_bit_integers(device: gpuprims.Device, rng: np.random.Generator, dtype: str) -> None:
    x = pixels(rng, dtype, (30, 41))
    for shape in ((9, 7), (15, 13)):
        weights = rng.integers(-5, 6, shape)
        assert_equal(gpuprims.stencil(x, weights, device=device), held(sums(x, weights), dtype))
    out = np.zeros((30, 41), np.int32)
    assert gpuprims.stencil(x, weights, dtype=np.int32, out=out, device=device) is out
    assert_equal(out, held(sums(x, weights), np.int32))


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
@pytest.mark.parametrize("result", INTEGERS)
def test_64_bit_integers_into_every_other(rng: np.random.Generator, dtype: str, result: str) -> None:
    x = pixels(rng, dtype, (20, 31))
    x[5:, 20:] = rng.integers(0, 100, (15, 11))
    got = gpuprims.stencil(x, SHARP, dtype=result, device="reference")
    assert_equal(got, held(sums(x, SHARP), result))


def test_whole_weights_into_float64(device: gpuprims.Device, rng: np.random.Generator) -> None:
    if not device.capabilities.fp64:
        pytest.skip(f"{device!r} has no float64")
    for dtype in ("int32", "int64", "uint64"):
        x = pixels(rng, dtype, (12, 31))
        got = gpuprims.stencil(x, SHARP, dtype=np.float64, device=device)
        exact = sums(x, SHARP).astype(np.float64)
        np.testing.assert_allclose(got, exact, rtol=0, atol=float(np.iinfo(dtype).max) * 2**-46)


def test_float32_into_float64_is_computed_there() -> None:
    x = np.float32([2**24, 1, 2**24, 1])
    got = gpuprims.stencil(x, [1, 1, 1], dtype=np.float64, device="reference")
    assert_equal(got, ndimage.correlate1d(x, [1, 1, 1], mode="nearest", output=np.float64))


def test_weights_that_only_a_float_holds() -> None:
    x = np.arange(3, dtype=np.int64)
    got = gpuprims.stencil(x, np.array([0, 2**63, 0], np.uint64), device="reference")
    assert_equal(got, np.array([0, 2**63 - 1, 2**63 - 1]))
    assert_equal(gpuprims.stencil(x, [0, 2**62, 0], device="reference"), np.array([0, 2**62, 2**63 - 1]))


def test_weights_that_are_nearly_a_product(rng: np.random.Generator) -> None:
    weights = np.outer([1, 2, 1], [1, 3, 1]) / 16
    weights[0, 0] += 2**-26
    for x in (pixels(rng, np.int32, (20, 31)), rng.standard_normal((20, 31))):
        got = gpuprims.stencil(x, weights, dtype=np.float64, device="reference")
        expected = ndimage.correlate(x.astype(float), weights, mode="nearest")
        np.testing.assert_allclose(got, expected, rtol=0, atol=float(np.abs(x).max()) * 2**-50)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64", "uint64"])
def test_floats_cut_to_integers(device: gpuprims.Device, dtype: str) -> None:
    info = np.iinfo(dtype)
    values = [0.9, -0.9, 100.7, 2.0**31, -(2.0**31) * 1.5, 2.0**32 * 1.5, 2.0**64, 1e30, -1e30, np.nan, np.inf, -np.inf]
    if info.kind == "u":  # a float does not hold the low bits of negative numbers beyond 64 bits
        values = [value for value in values if not value < -1e20]
    for how in ([1.0], lambda n: n[0]):
        got = gpuprims.stencil(np.float32(values), how, dtype=dtype, device=device)
        for value, one in zip(values, got.tolist(), strict=True):
            if np.isnan(value):
                expected = info.min if info.bits >= 32 else 0
            elif info.bits < 32:
                expected = int(np.int32(np.clip(value, -(2.0**31), 2.0**31 - 1)).astype(dtype))
            elif value < 0 and info.kind == "u":
                expected = int(value) % 2**info.bits
            else:
                expected = int(np.clip(value, float(info.min), 2.0**100))
                expected = min(expected, int(info.max))
            assert one == expected, value


# Blur ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", INTEGERS)
def test_means_are_exact(device: gpuprims.Device, rng: np.random.Generator, dtype: str) -> None:
    x, mode = pixels(rng, dtype, (24, 41)), MODES[INTEGERS.index(dtype) % 5]
    cval = int(np.iinfo(dtype).max)
    there = on_device(device, x)
    how: Any = {"mode": mode, "cval": cval, "device": device}
    assert_equal(gpuprims.blur(x, **how), means(x, CROSS, mode, cval))
    for rows, columns in BOXES:
        expected = means(x, np.ones((rows, columns), int), mode, cval)
        for given in (x, there):
            got = gpuprims.blur(given, "box", size=(rows, columns), **how)
            assert_equal(host(device, got), expected)


def test_a_mean_of_64_bits_that_no_float_holds(device: gpuprims.Device) -> None:
    assert (gpuprims.blur(np.full((3, 3), 2**62), device=device) == 2**62).all()
    large = np.full((33, 35), 10**16 + 1)
    assert (gpuprims.blur(large, "box", size=31, device=device) == large).all()


def test_large_boxes_of_64_bits_in_channels_twice_and_out(device: gpuprims.Device, rng: np.random.Generator) -> None:
    x = np.stack([pixels(rng, np.int64, (25, 31)) for _ in range(2)], -1)
    twice, box = x, np.ones((9, 9), int)
    for _ in range(2):
        twice = np.stack([means(twice[..., c], box) for c in range(2)], -1)
    how: Any = {"size": 9, "channel_axis": -1, "iterations": 2, "device": device}
    assert_equal(gpuprims.blur(x, "box", **how), twice)
    out = np.zeros((25, 62, 2), np.int64)[:, ::2]
    assert gpuprims.blur(x, "box", out=out, **how) is out
    assert_equal(out, twice)
    there = on_device(device, x)
    assert_equal(host(device, gpuprims.blur(there, "box", **how)), twice)
    with pytest.raises(ShapeError, match="blur: out= of the result's shape"):
        gpuprims.blur(x[:5], "box", out=out, **how)
    with pytest.raises(DtypeError, match="blur: out= of the result's dtype"):
        gpuprims.blur(x, "box", out=np.zeros(x.shape, np.int32), **how)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_gaussians_at_the_ends(device: gpuprims.Device, rng: np.random.Generator, dtype: str) -> None:
    info = np.iinfo(dtype)
    if info.bits > 16 and not device.capabilities.fp64:
        pytest.skip(f"{device!r} has no float64")
    x, mode = pixels(rng, dtype, (33, 40)), MODES[INTEGERS.index(dtype) % 5]
    for sigma in (0.7, 2.5):
        exact = ndimage.gaussian_filter(x.astype(np.float64), sigma, mode=mode)
        near = 1 if info.bits <= 32 else float(info.max) * 2**-50
        for given in (x, on_device(device, x)):
            got = host(device, gpuprims.blur(given, "gaussian", sigma=sigma, mode=mode, device=device))
            assert got.dtype == x.dtype
            off = [abs(int(one) - int(other)) for one, other in zip(got.flat, np.trunc(exact).flat, strict=True)]
            assert max(off) <= near
        for end in (info.min, info.max):
            flat = gpuprims.blur(np.full((20, 20), end, dtype), "gaussian", sigma=sigma, device=device)
            assert max(abs(int(one) - int(end)) for one in flat.flat) <= (near if info.bits in (16, 64) else 0)


def test_a_gaussian_keeps_32_bits(device: gpuprims.Device) -> None:
    if not device.capabilities.fp64:
        pytest.skip(f"{device!r} has no float64")
    for dtype in (np.int32, np.uint32):
        x = np.full((5, 5), 2**24 + 1, dtype)
        assert_equal(gpuprims.blur(x, "gaussian", device=device), x)


# Dtypes of sums ------------------------------------------------------------------------------------------------------


def test_a_device_without_float64_is_told_what_to_do() -> None:
    able = replace(gpuprims.Device("reference").capabilities, fp64=False, name="Example GPU")
    for made in (of_normal(1.0, 1.0, np.dtype(np.int32)), _weighted(SHARP / 4, np.int32)):
        told = double_precision(able, CallTraits((np.dtype(np.int32), made.value, made.result), 1))
        rule = "needs float64, which Example GPU does not compute in"
        assert told == f"{rule} (convert to float32: x.astype(np.float32), or float32(x) in a string)"


def test_no_double_where_none_is_needed() -> None:
    stencils = [_weighted(SHARP, name, double=True) for name in INTEGERS]
    stencils += [of_cross(np.dtype(name)) for name in INTEGERS]
    stencils += [of_box(3, 5, np.dtype(name)) for name in INTEGERS]
    stencils += [of_normal(1.0, 2.0, np.dtype(name)) for name in ("int8", "uint8", "int16", "uint16", "float32")]
    for made in stencils:
        used = {
            one.dtype for function in (made.function, made.across, made.finish) if function for one in function.nodes
        }
        assert DOUBLES.isdisjoint(used)


def test_small_results_take_no_more_steps_than_a_conversion() -> None:
    for name in ("uint8", "int8", "uint16", "int16", "float32"):
        dtype = np.dtype(name)
        for made in (_weighted(SHARP, dtype), _weighted(CROSS / 5, dtype)):
            assert {one.name for one in made.finish.nodes} <= {"argument", "cast"}
    for name in ("uint8", "int16"):
        assert [one.name for one in of_normal(1.0, 3.0, np.dtype(name)).finish.nodes].count("where") == 1


def _weighted(weights: Any, element: Any, *, double: bool = False) -> Stencil:
    dtype = np.dtype(element)
    return of_weights(np.asarray(weights), dtype, dtype, double=double)
