"""Arithmetic of map and conversions to float16 and to integers are NumPy's bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_cases import Kernel, need

import gpuprims

# Expressions of real numbers that map rounds as NumPy does.
ARITHMETIC = (
    "a*b - c", "a*b + c", "c - a*b", "a*b - a*b", "a*b - b*a + c", "a*a + b*b", "(a + b)*c - a*c", "2*a + 1", "a / b",
    "sqrt(abs(a))", "a / sqrt(b*b + c*c)", "a*b < c", "a*b + c == c + b*a", "-(a*b) + c", "a**2 - b**2", "1 / a - b",
)  # fmt: skip


def bits(array: np.ndarray) -> np.ndarray:
    """Return floats as integers, NaN of any sign as one."""
    if array.dtype.kind != "f":
        return array
    return np.where(array != array, array.dtype.type(np.nan), array).view(f"u{array.itemsize}")


def random_bits(rng: np.random.Generator, dtype: Any, size: int) -> np.ndarray:
    """Return floats of every exponent, subnormal ones, infinities and NaN among them."""
    unsigned = np.dtype(f"u{np.dtype(dtype).itemsize}")
    return rng.integers(0, np.iinfo(unsigned).max, size, unsigned, endpoint=True).view(dtype)


@pytest.mark.optimised
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_arithmetic_of_map_is_numpys_bit_for_bit(map_kernel: Kernel, rng: np.random.Generator, dtype: str) -> None:
    map_kernel.need(dtype)
    for a, b, c in (rng.standard_normal((3, 30_000)).astype(dtype), [random_bits(rng, dtype, 30_000) for _ in "abc"]):
        source = f"({', '.join(ARITHMETIC)})"
        with np.errstate(all="ignore"):
            expected = eval(source, {"sqrt": np.sqrt, "abs": np.abs, "a": a, "b": b, "c": c})  # noqa: S307 - of the above
        for text, got, wanted in zip(ARITHMETIC, map_kernel.map(source, a=a, b=b, c=c), expected, strict=True):
            np.testing.assert_array_equal(bits(got), bits(wanted), err_msg=text)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_products_of_complex_numbers_round_alike_everywhere(
    device: gpuprims.Device, rng: np.random.Generator, dtype: str
) -> None:
    need(device, dtype)
    x, y = (rng.standard_normal(2000) + 1j * rng.standard_normal(2000) for _ in "xy")
    x, y = x.astype(dtype), y.astype(dtype)
    product, quotient = gpuprims.map("x * y, x / y", x, y, device=device)
    np.testing.assert_array_equal(quotient, x / y)
    np.testing.assert_allclose(product, x * y, rtol=4 * float(np.finfo(dtype).eps))
    if np._core._multiarray_umath.__cpu_features__.get("FMA3"):  # type: ignore[attr-defined]  # not in its annotations
        np.testing.assert_array_equal(product, x * y)


def halves() -> np.ndarray:
    """Return float64 numbers at which a conversion to float16 may go wrong: every one, every tie, and beside them."""
    every = np.arange(65536, dtype=np.uint16).view(np.float16)
    every = np.sort(every[np.isfinite(every)]).astype(np.float64)
    ties = (every[1:] + every[:-1]) / 2
    beside = [np.nextafter(ties, np.inf), np.nextafter(ties, -np.inf), ties * (1 + 2.0**-30), ties * (1 - 2.0**-30)]
    ends = [
        65519.999,
        65520,
        65520 * (1 + 2.0**-40),
        2.0**-25,
        2.0**-25 * (1 + 2.0**-50),
        1e-300,
        5e-324,
        1e308,
        3.5e38,
    ]
    ends += [1 + 2.0**-11 + 2.0**-30, np.inf, np.nan, 0.0]
    return np.concatenate([every, ties, *beside, ends, np.negative(ends)])


def test_float64_is_rounded_to_float16_once(device: gpuprims.Device, rng: np.random.Generator) -> None:
    need(device, np.float64)
    x = np.concatenate([halves(), random_bits(rng, np.float64, 500_000), np.exp2(rng.uniform(-26, 17, 500_000))])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(bits(gpuprims.map("float16(x)", x, device=device)), bits(x.astype(np.float16)))


def fold_of_one(x: np.ndarray, function: str, device: gpuprims.Device) -> np.ndarray:
    """Convert by a fold of one element along the first axis, which CPUs compute in loops, not in joined work-items."""
    result: np.ndarray = gpuprims.reduce(x[np.newaxis], op="max", map=function, axis=0, device=device)
    return result


def test_folds_convert_halves_as_numpy_does(device: gpuprims.Device, rng: np.random.Generator) -> None:
    with np.errstate(all="ignore"):
        x = np.concatenate([halves().astype(np.float32), random_bits(rng, np.float32, 500_000)])
        np.testing.assert_array_equal(bits(fold_of_one(x, "float16(x)", device)), bits(x.astype(np.float16)))
        x = halves().astype(np.float16)
    np.testing.assert_array_equal(bits(fold_of_one(x, "float32(x)", device)), bits(x.astype(np.float32)))
    if device.capabilities.fp64:
        x = halves()
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(bits(fold_of_one(x, "float16(x)", device)), bits(x.astype(np.float16)))


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_integers_of_64_bits_convert_to_the_nearest_float(
    device: gpuprims.Device, rng: np.random.Generator, dtype: str
) -> None:
    need(device, np.float64)
    x = rng.integers(0, 2**64 - 1, 100_000, np.uint64, endpoint=True) >> rng.integers(0, 64, 100_000).astype(np.uint64)
    kept = 2 ** np.arange(25, 64, dtype=np.uint64)  # a float keeps their first bits: ties, and numbers beside them
    ties = [kept + kept // np.uint64(2**24), kept + kept // np.uint64(2**24) * np.uint64(3)]
    x = np.concatenate([x, *ties, *(tie + np.uint64(1) for tie in ties), *(tie - np.uint64(1) for tie in ties)])
    x = np.concatenate(
        [x, np.negative(x.view(np.int64)).view(np.uint64), np.array([0, 2**63, 2**64 - 1], np.uint64)]
    ).view(dtype)
    for to in ("float32", "float64"):
        np.testing.assert_array_equal(fold_of_one(x, f"float64({to}(x))", device), x.astype(to))
        np.testing.assert_array_equal(gpuprims.map(f"{to}(x)", x, device=device), x.astype(to))


def test_float16_results_of_float64_are_rounded_once(device: gpuprims.Device) -> None:
    need(device, np.float64)
    x = np.array([1 + 2.0**-11, 2.0**-30])
    assert x.astype(np.float32).sum(dtype=np.float32).astype(np.float16) == 1  # rounded twice
    wanted = np.float16(x.sum())
    assert wanted == np.float16(1.001)
    assert gpuprims.map(lambda z: z.real.astype("f2"), x.sum() + x * 1j, device=device)[0] == wanted
    assert gpuprims.reduce(x, map=lambda x: x, op="sum", device=device, dtype=np.float16) == np.float16(
        x.astype("f2").sum()
    )
    close = gpuprims.Op("a + b", 0, name="sum", finish=lambda total, count: total.astype(np.float16))
    assert gpuprims.reduce(x, op=close, device=device) == wanted
    assert gpuprims.scan(x, op=close, device=device)[-1] == wanted


OUT_OF_RANGE = np.array([
    -1.5, -1, -0.5, 255, 256, 300.7, 65536, 70000, -70000, 2.0**31, 2.0**31 + 4096, 2.0**32, 2.0**40 + 2.0**20,
    -(2.0**40) - 2.0**20, 2.0**62, 2.0**63, 1.5 * 2.0**63, 2.0**64, 2.0**65, -(2.0**63), -(2.0**64), 1e30, -1e30,
    np.inf, -np.inf, np.nan,
])  # fmt: skip


@pytest.mark.parametrize("source", ["float16", "float32", "float64"])
def test_what_an_integer_cannot_hold_converts_as_on_x86(device: gpuprims.Device, source: str) -> None:
    need(device, source)
    targets = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64")
    with np.errstate(all="ignore"):
        x = OUT_OF_RANGE.astype(source)
        results = gpuprims.map(lambda x: tuple(x.astype(target) for target in targets), x, device=device)
    for target, got in zip(targets, results, strict=True):
        wanted = np.array([converted(float(value), np.dtype(target)) for value in x], target)
        np.testing.assert_array_equal(got, wanted, err_msg=target)


def converted(value: float, target: np.dtype[Any]) -> int:
    """Convert as the instructions of x86-64 do that NumPy is compiled to."""

    def signed(value: float, width: int) -> int:
        inside = -(2.0 ** (width - 1)) <= value < 2.0 ** (width - 1)
        return int(value) if inside else -(2 ** (width - 1))

    if target.itemsize < 4 or target == np.int32:
        whole = signed(value, 32)
    elif target == np.uint64 and value >= 2.0**63:
        whole = signed(value - 2.0**63, 64) ^ (1 << 63)
    else:
        whole = signed(value, 64)
    width = 8 * target.itemsize
    whole &= (1 << width) - 1
    return whole - (1 << width) if target.kind == "i" and whole >> (width - 1) else whole


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_roots_of_every_exponent(device: gpuprims.Device, rng: np.random.Generator, dtype: str) -> None:
    need(device, dtype)
    with np.errstate(all="ignore"):
        x, y = (random_bits(rng, dtype, 40_000) for _ in "xy")
        y[::2] = x[::2] * rng.uniform(0.1, 10, 20_000).astype(dtype)  # of one magnitude
        special = np.array([0, -0.0, np.inf, -np.inf, np.nan, np.finfo(dtype).max, np.finfo(dtype).tiny], dtype)
        x[:49], y[:49] = np.repeat(special, 7), np.tile(special, 7)
        for step in (1, 2):  # joined work-items and loops of one, on CPUs
            a, b = x[::step], y[::step]
            got, root = gpuprims.map("hypot(x, y), sqrt(x)", a, b, device=device)
            np.testing.assert_array_equal(bits(root), bits(np.sqrt(a)))
            exact = np.hypot(*(one.astype("float64" if dtype == "float32" else np.longdouble) for one in (a, b)))
            most = np.finfo(dtype).max * (1 - 4 * np.finfo(dtype).eps)
            finite = exact <= most
            away = np.abs(got[finite] - exact[finite]) / np.spacing(exact[finite].astype(dtype))
            assert away.max() <= 4  # units in the last place
            last = (exact > most) & (exact < np.inf)  # four units more are infinite, and so may the result be
            assert got[last].min() >= most
            np.testing.assert_array_equal(got[~finite & ~last], exact[~finite & ~last].astype(dtype))
