"""sort and argsort by every variant, against NumPy's stable sorts, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_cases import DTYPES, Kernel, on_device, on_host, poison, random_values
from tricky_data import tricky, tricky_rows

import gpuprims
from gpuprims.errors import NoVariantError

REAL = [dtype for dtype in DTYPES if np.dtype(dtype).kind != "c"]
# Around insertion's rows, the tiles of merges, runs of several tiles, and the rows that are swept.
SIZES = [0, 1, 2, 47, 48, 49, 255, 256, 257, 2047, 2048, 2049, 4096, 6145, 16_383, 16_384, 16_385, 40_003]


def elements(rng: np.random.Generator, dtype: Any, shape: Any) -> np.ndarray:
    """Return elements of which many are equal; of floats also zeros of both signs, NaN of several bits, tiny ones."""
    x = random_values(rng, dtype, shape)
    if x.dtype.kind == "f":
        word = np.dtype(f"u{x.itemsize}")
        special = np.array([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, np.finfo(x.dtype).smallest_subnormal], x.dtype)
        special[3:4].view(word)[0] |= 1  # another NaN
        return np.where(rng.random(shape) < 0.3, special[rng.integers(0, 7, shape)], x)
    few = rng.integers(0, 5, shape).astype(x.dtype)
    return np.where(rng.random(shape) < 0.5, few, x)


def order(x: np.ndarray, axis: int | None = -1, *, descending: bool = False) -> np.ndarray:
    """Return the indices of NumPy's stable sort; of a descending one, with NaN first."""
    if not descending:
        return np.argsort(x, axis, kind="stable")
    ranks = np.unique(x, return_inverse=True)[1].reshape(x.shape)  # numbers in order, NaN last
    return np.argsort(-ranks, axis, kind="stable")


def same_bits(got: Any, expected: np.ndarray) -> bool:
    return (got.dtype, got.shape, got.tobytes()) == (expected.dtype, expected.shape, expected.tobytes())


def check(kernel: Kernel, x: np.ndarray, axis: int | None = -1, *, descending: bool = False) -> None:
    """Sort and argsort by a variant, on the host and on the device, unless it refuses such rows or all indices."""
    expected = order(x, axis, descending=descending)
    flat = x.reshape(-1) if axis is None else x
    how = {"descending": descending, "device": kernel.device, "variant": kernel.variant.name}
    try:
        there = gpuprims.sort(on_device(kernel.device, x), axis, **how)
    except NoVariantError as error:
        pytest.skip(str(error))
    sorted_ = np.take_along_axis(flat, expected, -1 if axis is None else axis)
    assert same_bits(on_host(kernel.device, there), sorted_)
    assert same_bits(gpuprims.sort(x, axis, **how), sorted_)
    if kernel.variant.name != "buckets":
        assert same_bits(on_host(kernel.device, gpuprims.argsort(on_device(kernel.device, x), axis, **how)), expected)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", ["float32", "uint16", "int64"])
def test_sizes_on_both_sides_of_every_boundary(
    sort_kernel: Kernel, rng: np.random.Generator, size: int, dtype: str
) -> None:
    poison(sort_kernel.device)
    check(sort_kernel, elements(rng, dtype, size))


@pytest.mark.optimised
@pytest.mark.parametrize("begin", [0, 1])
def test_lines_written_past_the_caches(sort_kernel: Kernel, rng: np.random.Generator, begin: int) -> None:
    x = rng.integers(0, 3000, 2**20 + 13, dtype=np.uint32)[begin:]
    check(sort_kernel, x * np.uint32(513))


@pytest.mark.optimised
@pytest.mark.parametrize("dtype", ["uint32", "float64"])
def test_buckets_of_several_levels(sort_kernel: Kernel, rng: np.random.Generator, dtype: str) -> None:
    if sort_kernel.variant.name != "buckets":
        pytest.skip("others have no buckets")
    near = rng.integers(0, 3, 2**24 + 7) * 2**20 + rng.integers(0, 70_000, 2**24 + 7)
    check(sort_kernel, near.astype(dtype))


@pytest.mark.optimised
@pytest.mark.parametrize("dtype", ["uint32", "int32", "int64"])
def test_keys_alike_in_leading_bits(sort_kernel: Kernel, rng: np.random.Generator, dtype: str) -> None:
    if sort_kernel.variant.name != "buckets":
        pytest.skip("others count no keys again")
    last = 8 * np.dtype(dtype).itemsize - 7
    x = rng.integers(2 ** (last + 2), 2 ** (last + 2) + 2**last, 2**22 + 7).astype(dtype)
    for descending in (False, True):
        check(sort_kernel, x, descending=descending)


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8"])
def test_data_that_are_hard(sort_kernel: Kernel, rng: np.random.Generator, dtype: str) -> None:
    for x in tricky(rng, 20_001, dtype).values():
        check(sort_kernel, x)


def test_rows_each_hard_in_another_way(sort_kernel: Kernel, rng: np.random.Generator) -> None:
    rows = tricky_rows(rng, 3001)
    for descending in (False, True):
        check(sort_kernel, rows, 1, descending=descending)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", REAL)
def test_every_dtype_in_both_orders(
    sort_kernel: Kernel, rng: np.random.Generator, dtype: str, descending: bool
) -> None:
    sort_kernel.need(dtype)
    check(sort_kernel, elements(rng, dtype, 20_011), descending=descending)


@pytest.mark.parametrize(
    ("shape", "axis"), [((37, 300), 1), ((300, 37), 0), ((3, 17_001), -1), ((4, 5, 60), 1), ((3, 7_000), None)]
)
def test_rows_along_any_axis(sort_kernel: Kernel, rng: np.random.Generator, shape: Any, axis: int | None) -> None:
    check(sort_kernel, elements(rng, "float32", shape), axis)


def test_strided_input_and_output(device: gpuprims.Device, rng: np.random.Generator) -> None:
    x, out = elements(rng, "float16", (40, 70))[::2, ::-3], np.zeros((20, 48), np.float16)[:, ::2]
    assert gpuprims.sort(x, out=out, device=device) is out
    assert same_bits(np.ascontiguousarray(out), np.sort(x, kind="stable"))
    places = np.zeros((20, 24), np.int64)
    assert gpuprims.argsort(x.T, 0, out=places.T, device=device).base is places
    assert same_bits(places, np.argsort(x, kind="stable"))
