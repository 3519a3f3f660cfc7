"""map under Oclgrind and compute-sanitizer."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_cases import Kernel, assert_equal, in_order, on_device, on_host, random_values, two_groups
from watched_kernels import each, of, sizes

pytestmark = pytest.mark.oclgrind

TILES = [variant for variant in of("map") if variant.name == "tile"]
BLOCKS = [variant for variant in of("map") if variant.name == "cpu_blocks"]
SHIFTED = [variant for variant in of("map") if variant.name == "shifted"]
MAPS = [variant for variant in of("map") if variant not in (*TILES, *BLOCKS, *SHIFTED)]


@each(MAPS)
def test_map_of_several_arrays_to_several_results(kernel: Kernel, rng: np.random.Generator) -> None:
    for size in sizes(kernel):
        x, y = random_values(rng, np.float32, size), random_values(rng, np.int16, size)
        got = kernel.map(lambda x, y, z: (x * 2 + z, y > 3, x + y), x, y, 1)
        for one, expected in zip(got, (x * 2 + 1, y > 3, x + y), strict=True):
            assert_equal(one, expected)


@each(MAPS)
def test_map_of_float16(kernel: Kernel, rng: np.random.Generator) -> None:
    x = random_values(rng, np.float16, sizes(kernel)[-1])
    assert_equal(kernel.map("x * x + 1", x), x * x + 1)


@each(MAPS)
def test_map_over_axes_that_do_not_merge(kernel: Kernel, rng: np.random.Generator) -> None:
    x, y = random_values(rng, np.int32, (30, 40, 6))[::-1, ::3, ::2], random_values(rng, np.uint8, (14, 1))
    assert_equal(kernel.map("x - y", x, y), x - y)


@each(MAPS)
def test_map_on_the_device(kernel: Kernel, rng: np.random.Generator) -> None:
    x = random_values(rng, np.int64, 3001)
    resident = on_device(kernel.device, x)
    assert_equal(on_host(kernel.device, kernel.map("x + y", resident[1:], resident[:-1])), x[1:] + x[:-1])


@each(SHIFTED)
@pytest.mark.parametrize("dtype", ["int8", "float16", "float32"])
def test_arrays_that_begin_between_vectors(kernel: Kernel, rng: np.random.Generator, dtype: str) -> None:
    for size in (3, 40, 1027, kernel.variant.tile * 4 + 1):
        x, y = (random_values(rng, dtype, size + 3) for _ in range(2))
        a, b = (on_device(kernel.device, one) for one in (x, y))
        kernel.map("x + y", a[3:], b[1:-2], out=b[1:-2])
        y[1:-2] += x[3:]
        assert_equal(on_host(kernel.device, b), y)
    rows = random_values(rng, dtype, (20, 51))
    got = kernel.map("x + x", on_device(kernel.device, rows)[:, 3:])
    assert_equal(on_host(kernel.device, got), rows[:, 3:] + rows[:, 3:])


@each(MAPS)
def test_map_by_groups_of_several_tiles(
    kernel: Kernel, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = random_values(rng, np.int8, 13 * kernel.variant.tile + 5)  # work-items take up to 16 bytes
    with two_groups(kernel.device, monkeypatch):
        got = kernel.map("x ^ (5*x)", x)
    assert_equal(got, x ^ (5 * x))


@each(MAPS)
def test_map_of_complex_numbers_in_vectors(kernel: Kernel, rng: np.random.Generator) -> None:
    x, y = random_values(rng, np.complex64, (2, sizes(kernel)[-1]))
    resident = [on_device(kernel.device, array) for array in (x, y)]
    got, order = kernel.map("conj(x) + 2*y, x < y", *resident)
    assert_equal(on_host(kernel.device, got), x.conj() + 2 * y)
    assert_equal(on_host(kernel.device, order), x < y)


@each(MAPS)
def test_map_of_float64(kernel: Kernel, rng: np.random.Generator) -> None:
    kernel.need(np.float64)
    x = random_values(rng, np.float64, 700)
    assert_equal(kernel.map("where(x > 0, x // 2, x % 3)", x), np.where(x > 0, x // 2, x % 3))


@each((*TILES, *BLOCKS))
@pytest.mark.parametrize("dtype", ["int32", "uint8", "complex64"])
def test_map_of_an_array_and_its_transpose(kernel: Kernel, rng: np.random.Generator, dtype: str) -> None:
    for shape in ((70, 41), (7, 150), (150, 7)):
        x, y = random_values(rng, dtype, shape), random_values(rng, dtype, shape[::-1])
        got = kernel.map("x + y", *(in_order(kernel.device, array) for array in (x, y.T)))
        assert_equal(on_host(kernel.device, got), x + y.T)


@each(BLOCKS)
def test_map_beside_rows_that_are_not_dense(kernel: Kernel, rng: np.random.Generator) -> None:
    x, y = random_values(rng, np.int32, (41, 70)), random_values(rng, np.int32, (70, 82))
    got = kernel.map("x - y", in_order(kernel.device, x.T), on_device(kernel.device, y)[:, ::2])
    assert_equal(on_host(kernel.device, got), x.T - y[:, ::2])


@each(BLOCKS)
@pytest.mark.parametrize("function", ["x - y", "tanh(x) - y"])
def test_map_of_short_rows(kernel: Kernel, rng: np.random.Generator, function: str) -> None:
    x = random_values(rng, np.float32, (40, 12, 13))
    for y in (x[0, 0], x[:, :1], x[..., :1]):
        expected = (np.tanh(x) if "tanh" in function else x) - y
        np.testing.assert_allclose(kernel.map(function, x, y), expected, rtol=1e-5, atol=1e-5)


@each((*TILES, *BLOCKS))
def test_map_of_three_axes_in_another_order(kernel: Kernel, rng: np.random.Generator) -> None:
    x, y = random_values(rng, np.float32, (5, 40, 30)), random_values(rng, np.int16, (30, 5, 1))
    across = x.transpose(2, 0, 1)
    # In C order too, so that results do not take the order of the first array, which needs no tiles.
    got = kernel.map("x - y + z", *(in_order(kernel.device, one) for one in (across, y, np.ascontiguousarray(across))))
    assert_equal(on_host(kernel.device, got), across - y + across)


@each(TILES)
def test_map_of_rows_of_vectors_and_of_several_squares_of_tiles(kernel: Kernel, rng: np.random.Generator) -> None:
    for shape in ((48, 64), (1100, 9), (4, 2080)):
        x, y = random_values(rng, np.float32, shape), random_values(rng, np.float32, shape[::-1])
        got = kernel.map("x + y", on_device(kernel.device, x), in_order(kernel.device, y.T))
        assert_equal(on_host(kernel.device, got), x + y.T)
