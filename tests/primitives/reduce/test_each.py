"""reduce/each, a work-item an output: the columns of a matrix, and many short rows; and cpu_columns, which has some."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_cases import AFFINE

import gpuprims
from gpuprims.errors import NoVariantError
from gpuprims.primitives.fold_launch import _FEWEST_BESIDE, _MOST_BESIDE


@pytest.fixture
def each(device: gpuprims.Device) -> gpuprims.Device:
    if device.backend == "reference":
        pytest.skip("the reference has one kernel a primitive")
    return device


def reduce_by(device: gpuprims.Device, *arrays: np.ndarray, variant: str = "each", **keywords: Any) -> Any:
    result = gpuprims.reduce(*map(device.asarray, arrays), variant=variant, **keywords)
    return tuple(map(device.to_host, result)) if isinstance(result, tuple) else device.to_host(result)


# Few outputs, either side of a group's outputs and of a work-item's unrolled elements, and enough elements for several
# parts.
OUTPUTS = (2, 3, 10, 32, 40, 255, 256, 257, 1030)
ELEMENTS = (1, 15, 16, 17, 1000, 20_011)


def check_columns(
    device: gpuprims.Device, rng: np.random.Generator, outputs: int, n: int, variant: str = "each"
) -> None:
    def reduce(device: gpuprims.Device, *arrays: np.ndarray, **keywords: Any) -> Any:
        return reduce_by(device, *arrays, variant=variant, **keywords)

    x = rng.standard_normal((n, outputs)).astype(np.float32)
    np.testing.assert_allclose(reduce(device, x, axis=0), x.sum(axis=0, dtype=np.float64), rtol=1e-4, atol=1e-3)
    np.testing.assert_array_equal(reduce(device, x, axis=0, op="max"), x.max(axis=0))
    np.testing.assert_array_equal(reduce(device, x, axis=0, op="argmax"), x.argmax(axis=0))
    a, b = rng.integers(-3, 4, (n, outputs)), rng.integers(-9, 10, (n, outputs))
    expected = gpuprims.reduce(a, b, op=AFFINE, axis=0, device="reference")
    for got, exact in zip(reduce(device, a, b, op=AFFINE, axis=0), expected, strict=True):
        np.testing.assert_array_equal(got, exact)


@pytest.mark.parametrize("outputs", OUTPUTS)
@pytest.mark.parametrize("n", ELEMENTS)
def test_columns(each: gpuprims.Device, rng: np.random.Generator, outputs: int, n: int) -> None:
    if outputs * n > 2**21:
        pytest.skip("the last of these sizes is enough once")
    check_columns(each, rng, outputs, n)


@pytest.mark.parametrize("outputs", [16, 511, 512, 513, 1030, 2000])
@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 1000])
def test_columns_on_cpus(each: gpuprims.Device, rng: np.random.Generator, outputs: int, n: int) -> None:
    if each.capabilities.kind != "cpu":
        pytest.skip("is about CPUs")
    check_columns(each, rng, outputs, n, "cpu_columns")
    if n > 1:  # else a map takes the elements
        chosen = gpuprims.explain("reduce", each, size=n, outputs=outputs, side_by_side=True).chosen
        assert chosen.name == "cpu_columns"


@pytest.mark.parametrize(("outputs", "n"), [(32, 40_000), (257, 17), (1030, 1000)])
def test_nothing_is_left_beyond_the_partial_values(
    each: gpuprims.Device, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, outputs: int, n: int
) -> None:
    # Work-items of the last group without an output must leave no value; PoCL 3.1 once made them.
    x, given = rng.standard_normal((n, outputs)).astype(np.float32), []

    def scratch(driver: Any, nbytes: int) -> Any:
        given.append((nbytes, driver.asarray(np.full(nbytes + 4096, 0xAB, np.uint8))))
        return given[-1][1]

    monkeypatch.setattr(type(each.driver), "scratch", scratch)
    np.testing.assert_array_equal(reduce_by(each, x, axis=0, op="max"), x.max(axis=0))
    for nbytes, memory in given:  # none if one group folds all elements
        assert (each.to_host(memory)[nbytes:] == 0xAB).all()


@pytest.mark.oclgrind
@pytest.mark.parametrize(("outputs", "n"), [(33, 40), (300, 17)])
def test_columns_small_enough_for_a_simulator(
    each: gpuprims.Device, rng: np.random.Generator, outputs: int, n: int
) -> None:
    check_columns(each, rng, outputs, n)


@pytest.mark.parametrize("n", [1, 2, 3, 16, 17, 63, 64])
@pytest.mark.parametrize("dtype", ["float32", "int8", "float16"])
def test_short_rows(each: gpuprims.Device, rng: np.random.Generator, n: int, dtype: str) -> None:
    x = rng.integers(-100, 100, (3001, n)).astype(dtype)
    got = reduce_by(each, x, axis=1, op="min")
    np.testing.assert_array_equal(got, x.min(axis=1))
    np.testing.assert_array_equal(reduce_by(each, x, axis=1, dtype="int64"), x.sum(axis=1, dtype=np.int64))


def test_middle_axes_and_offsets(each: gpuprims.Device, rng: np.random.Generator) -> None:
    x = rng.standard_normal((7, 50, 67)).astype(np.float32)
    np.testing.assert_allclose(reduce_by(each, x, axis=1), x.sum(axis=1), rtol=1e-4, atol=1e-4)
    cut = each.asarray(x)[1:, :, 3:]
    got = each.to_host(gpuprims.reduce(cut, axis=1, variant="each"))
    np.testing.assert_allclose(got, x[1:, :, 3:].sum(axis=1), rtol=1e-4, atol=1e-4)


def test_columns_and_short_rows_choose_it_on_gpus(each: gpuprims.Device) -> None:
    if each.capabilities.kind != "gpu":
        pytest.skip("CPUs have a variant of their own")
    assert gpuprims.explain("reduce", each, size=1000, outputs=32, side_by_side=True).chosen.name == "each"
    short = gpuprims.explain("reduce", each, size=64, outputs=1024).chosen.name
    assert short == ("rows" if each.capabilities.warp else "each")
    assert gpuprims.explain("reduce", each, size=2049, outputs=1024).chosen.name not in ("each", "rows")


def test_a_flat_array_is_refused(each: gpuprims.Device) -> None:
    with pytest.raises(
        NoVariantError, match="is for outputs side by side, or 1024 of at most 64 elements; this call has 1"
    ):
        reduce_by(each, np.ones(100, np.float32))


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, 7, 9])
@pytest.mark.parametrize("outputs", [6, 65, 4096 + 63, 2 * 4096 + 1])
def test_few_rows_fold_in_order_and_write_their_results_alone(
    device: gpuprims.Device, rng: np.random.Generator, n: int, outputs: int
) -> None:
    """cpu_columns folds up to four rows in one pass, and blocks of columns end anywhere."""
    a, b = rng.integers(-3, 4, (n, 3, outputs)), rng.integers(-9, 10, (n, 3, outputs))
    expected = gpuprims.reduce(a, b, op=AFFINE, axis=0, device="reference")
    for got, exact in zip(gpuprims.reduce(a, b, op=AFFINE, axis=0, device=device), expected, strict=True):
        np.testing.assert_array_equal(got, exact)
    around = np.full(outputs + 64, -100, np.int64)
    gpuprims.reduce(b[:, 1], op="max", axis=0, out=around[32:-32], device=device)
    np.testing.assert_array_equal(around[32:-32], b[:, 1].max(0))
    assert set(around[:32]) == set(around[-32:]) == {-100}


@pytest.mark.parametrize("n", [1100, _MOST_BESIDE, _MOST_BESIDE + 1])
@pytest.mark.parametrize("beyond", [-1, 0, 1, 211])
def test_threads_share_columns_or_rows(each: gpuprims.Device, rng: np.random.Generator, n: int, beyond: int) -> None:
    """Threads take columns if there are enough for each of them, and not too many rows; else parts of the rows."""
    if each.capabilities.kind != "cpu":
        pytest.skip("is about CPUs")
    check_columns(each, rng, _FEWEST_BESIDE * each.capabilities.compute_units + beyond, n, "cpu_columns")
