"""reduce/cpu_best, which looks for the value that an operator picks, a span of elements at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_cases import COMPLEX, DTYPES, Kernel, random_values
from reduce_cases import several_tiles

import gpuprims
from gpuprims.errors import LawError, NoVariantError

LANES, SPAN = 32, 2048
# Either side of the lanes, of a span, and of a chunk of several.
SIZES = [1, 2, LANES - 1, LANES, LANES + 1, SPAN - 1, SPAN, SPAN + 1, 3 * SPAN + LANES + 5, 32_768, 32_769, 300_007]


@pytest.fixture
def cpu(device: gpuprims.Device) -> gpuprims.Device:
    if device.backend != "opencl" or device.capabilities.kind != "cpu":
        pytest.skip("is for CPUs")
    return device


def find(device: gpuprims.Device, x: np.ndarray, op: Any = "argmax", **keywords: Any) -> Any:
    return gpuprims.reduce(x, op=op, device=device, variant="cpu_best", **keywords)


def check(device: gpuprims.Device, x: np.ndarray) -> None:
    assert find(device, x) == np.argmax(x)
    assert find(device, x, "argmin") == np.argmin(x)


def check_values(device: gpuprims.Device, x: np.ndarray) -> None:
    for op in ("max", "min") if x.size >= LANES else ():  # fewer are folded
        np.testing.assert_array_equal(find(device, x, op), getattr(np, op)(x))


@pytest.mark.parametrize("size", SIZES)
def test_random_elements_and_such_as_go_up_and_down(cpu: gpuprims.Device, rng: np.random.Generator, size: int) -> None:
    x = rng.standard_normal(size).astype(np.float32)
    for one in (x, np.sort(x), np.sort(x)[::-1], np.zeros(size, np.float32)):
        check(cpu, one)
        check_values(cpu, one)


@pytest.mark.parametrize("size", SIZES)
def test_the_first_of_equals_wherever_they_lie(cpu: gpuprims.Device, rng: np.random.Generator, size: int) -> None:
    for _ in range(10):
        x = np.zeros(size, np.int32)
        places = rng.integers(0, size, 3)
        x[places] = 1
        assert find(cpu, x) == places.min()
        assert find(cpu, -x, "argmin") == places.min()


@pytest.mark.parametrize("size", SIZES)
def test_the_first_nan_beats_all_numbers(cpu: gpuprims.Device, rng: np.random.Generator, size: int) -> None:
    x = rng.standard_normal(size).astype(np.float32)
    x[rng.integers(0, size)] = np.inf
    x[rng.integers(0, size)] = -np.inf
    for places in ([0], [size - 1], [size // 2, size - 1], rng.integers(0, size, 5)):
        given = x.copy()
        given[places] = np.nan
        for one in (given, given.astype(np.float64)):
            check(cpu, one)
            check_values(cpu, one)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("values", [1, 3, 2**20])
def test_the_first_of_equals_in_arrays_that_lie_in_another_order(
    cpu: gpuprims.Device, rng: np.random.Generator, size: int, values: int
) -> None:
    for dtype in ("float32", "int64"):
        x = rng.integers(0, values, size).astype(dtype)
        check(cpu, x[::-1])
        check(cpu, x[::-3])
        rows = rng.integers(0, values, (6, max(size // 6, 1))).astype(dtype)
        for one in (
            rows.T,
            rows[::-1],
            rows[:, ::-1],
            rows.T[::-1],
            rows[:, ::-1].T,
            rows.reshape(2, 3, -1).transpose(1, 2, 0),
        ):
            check(cpu, one)
        if dtype == "float32":
            rows[rng.integers(0, 6, 3), rng.integers(0, rows.shape[1], 3)] = np.nan
            check(cpu, rows.T)
            check(cpu, rows[::-1, ::-1])


@pytest.mark.parametrize("dtype", [*DTYPES, *COMPLEX])
def test_every_dtype(cpu: gpuprims.Device, rng: np.random.Generator, dtype: str) -> None:
    x = random_values(rng, dtype, (7, 5003))
    check(cpu, x)
    for axis in (0, 1):
        np.testing.assert_array_equal(find(cpu, x, axis=axis), np.argmax(x, axis=axis))
        np.testing.assert_array_equal(find(cpu, x, "argmin", axis=axis), np.argmin(x, axis=axis))
        if x.shape[axis] >= LANES and (x.dtype.kind == "c" or dtype in ("float32", "float64")):
            np.testing.assert_array_equal(find(cpu, x, "max", axis=axis), np.max(x, axis=axis))
            check_values(cpu, x)


@pytest.mark.parametrize("dtype", [*DTYPES, *COMPLEX])
def test_elements_no_better_than_an_identity(cpu: gpuprims.Device, dtype: str) -> None:
    kind = np.dtype(dtype).kind
    least: float
    most: float
    least, most = (np.iinfo(dtype).min, np.iinfo(dtype).max) if kind in "iu" else (False, True)
    if kind in "fc":
        least, most = -np.inf, np.inf
    for size in (1, 5, 70_001):
        assert find(cpu, np.full(size, least, dtype)) == 0
        assert find(cpu, np.full(size, most, dtype), "argmin") == 0


def test_parts_of_complex_numbers_may_be_nan(cpu: gpuprims.Device, rng: np.random.Generator) -> None:
    x = random_values(rng, np.complex64, 9001)
    for part in ("real", "imag"):
        getattr(x, part)[[500, 8000]] = np.nan
        check(cpu, x)


def test_zeros_of_both_signs_are_equal(cpu: gpuprims.Device) -> None:
    x = np.where(np.arange(5000) % 3, 0.0, -0.0).astype(np.float32)
    check(cpu, x)
    check(cpu, -x)


def test_an_operator_of_ones_own(cpu: gpuprims.Device, rng: np.random.Generator) -> None:
    nearest = gpuprims.Op(
        lambda p, q: tuple(np.where(q[0] < p[0], b, a) for a, b in zip(p, q, strict=True)),
        identity=(np.inf, 0.0, -1),
        better=lambda a, b: a < b,
        name="nearest",
        check=True,
    )
    distance, value = rng.integers(0, 50, 20_000).astype(np.float64), rng.standard_normal(20_000)
    got = gpuprims.reduce(distance, value, np.arange(20_000), op=nearest, device=cpu)
    first = np.argmin(distance)
    assert tuple(map(float, got)) == (float(distance[first]), float(value[first]), float(first))
    assert gpuprims.explain("reduce", cpu, op=nearest).chosen.name == "cpu_best"


def test_an_operator_that_does_not_pick_the_better_value_is_told() -> None:
    with pytest.raises(LawError, match=r"^Op 'sum': fn\(a, b\) == b where better\(b\[0\], a\[0\]\); got"):
        gpuprims.Op(lambda a, b: a + b, 0, name="sum", better=lambda a, b: a > b, check=True)


def test_an_operator_that_finds_too_little_better_is_told() -> None:
    with pytest.raises(LawError, match=r"fn\(a, b\)\[0\] == a\[0\] where neither is better; got"):
        gpuprims.Op(np.maximum, -(2**62), commutative=True, better=lambda a, b: a > b + 10, check=True)


def test_it_is_chosen_for_what_picks_and_refuses_the_rest(cpu: gpuprims.Device) -> None:
    assert gpuprims.explain("reduce", cpu, op="argmin").chosen.name == "cpu_best"
    assert gpuprims.explain("reduce", cpu, op="max").chosen.name == "cpu_best"
    for op, dtype in (("sum", "float32"), ("max", "int32"), ("sum", "float16")):
        assert gpuprims.explain("reduce", cpu, op=op, dtype=dtype).chosen.name == "cpu_chunks"
        with pytest.raises(NoVariantError, match="is for operators that pick one of their values, such as argmax"):
            find(cpu, np.ones(9, dtype), op)


def test_a_map_may_be_rounded_otherwise_in_vectors(cpu: gpuprims.Device, rng: np.random.Generator) -> None:
    for _ in range(20):
        x = (rng.random(5000) + 0.5).astype(np.float32)
        for function in (np.exp, np.sin, np.tanh):
            values = function(x.astype(np.float64))
            assert values[find(cpu, x, map=function)] >= values.max() * (1 - 1e-6)


@pytest.mark.parametrize("dtype", ["bool", "float32", "complex64"])
@pytest.mark.parametrize("rows", [1, 3])
def test_any_and_all_see_the_one_element_that_decides(device: gpuprims.Device, dtype: str, rows: int) -> None:
    """On CPUs, spans of 2048 elements of a part are searched until one decides; short rows are folded."""
    for n in (255, 256, 2049, 70_001):
        for place in {0, 1, 254, n // 2, n - 2, n - 1, 2047 % n, 2048 % n}:
            x = np.zeros((rows, n), dtype)
            x[-1, place] = 1
            for one, op in ((x, "any"), (x == 0, "all")):
                expected = getattr(np, op)(one, axis=1)
                np.testing.assert_array_equal(gpuprims.reduce(one, op=op, axis=1, device=device), expected)
                np.testing.assert_array_equal(gpuprims.reduce(one[:, ::-1], op=op, axis=1, device=device), expected)
            assert not gpuprims.reduce(x[:-1], op="any", device=device)
            assert gpuprims.reduce(x[:-1] == 0, op="all", device=device)


@pytest.mark.parametrize("dtype", ["bool", "float32"])
def test_kernels_for_gpus_end_where_an_element_decides(
    reduce_kernel: Kernel, rng: np.random.Generator, dtype: str
) -> None:
    if reduce_kernel.variant.name.startswith("cpu"):
        pytest.skip("searches, as the test before tries")
    x = np.zeros(several_tiles(reduce_kernel), dtype)
    assert not reduce_kernel.reduce(x, op="any")
    for place in (0, 1, x.size - 1, *rng.integers(0, x.size, 3)):
        x[place] = 1
        assert reduce_kernel.reduce(x, op="any")
        assert not reduce_kernel.reduce(x == 0, op="all")
        x[place] = 0
    x[rng.random(x.size) < 0.5] = 1
    assert reduce_kernel.reduce(x, op="any")
    assert reduce_kernel.reduce(np.ones_like(x), op="all")
