"""map/cpu_blocks: short rows, and arrays that lie in memory along another axis than the results."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from kernel_cases import assert_equal, random_values, two_groups

import gpuprims
from gpuprims.errors import NoVariantError


@pytest.fixture
def cpu(device: gpuprims.Device) -> gpuprims.Device:
    if device.capabilities.kind != "cpu":
        pytest.skip("is a kernel for CPUs")
    return device


def mapped(cpu: gpuprims.Device, function: Any, *arrays: np.ndarray, **named: Any) -> Any:
    return gpuprims.map(function, *arrays, device=cpu, variant="cpu_blocks", **named)


# Either side of a row that is joined, of a square of 8 x 8 words, and of a block in both directions.
@pytest.mark.parametrize("shape", [(700, 5), (5, 700), (300, 31), (31, 300), (8, 32), (7, 33), (129, 63), (64, 65)])
@pytest.mark.parametrize("dtype", ["int8", "float16", "int32", "float64", "complex64"])
def test_an_array_and_its_transpose(
    cpu: gpuprims.Device, rng: np.random.Generator, shape: tuple[int, int], dtype: str
) -> None:
    x, (y, z) = random_values(rng, dtype, shape[::-1]).T, random_values(rng, dtype, (2, *shape))
    assert_equal(mapped(cpu, "x + y", x, y), x + y)
    assert_equal(mapped(cpu, "x + y", x[:, ::-1], y[::-1]), x[:, ::-1] + y[::-1])
    left, right = mapped(cpu, "(x + z, y - 2*z)", x, y, z=z)
    assert_equal(left, x + z)
    assert_equal(right, y - 2 * z)
    if dtype == "float64":  # a function that work-items compute in vectors
        np.testing.assert_allclose(mapped(cpu, "tanh(x) + y", x, y), np.tanh(x) + y, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("steps", [-1, 2, 3, -2, 7])
def test_an_array_beside_whose_rows_are_not_dense(cpu: gpuprims.Device, rng: np.random.Generator, steps: int) -> None:
    x, y = random_values(rng, np.int32, (90, 70)), random_values(rng, np.int32, (70, 90 * abs(steps)))
    assert_equal(mapped(cpu, "x - 3*y", x.T, y[:, ::steps]), x.T - 3 * y[:, ::steps])
    got = mapped(cpu, "x - 3*y + z", x.T, y[::-1, ::steps], y[0, ::steps])
    assert_equal(got, x.T - 3 * y[::-1, ::steps] + y[0, ::steps])


@pytest.mark.parametrize("n", [2, 3, 5, 8, 16, 17, 31])
@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "complex128"])
def test_short_rows(cpu: gpuprims.Device, rng: np.random.Generator, n: int, dtype: str) -> None:
    whole = random_values(rng, dtype, (9, 140, n + 17))
    x, row, column = whole[..., 17:], whole[0, 0, :n], whole[0, :, :1]
    asked = None if n * whole.itemsize <= 16 else "cpu_blocks"  # rows of few bytes may be left to cpu_chunks
    dense, plane = np.ascontiguousarray(x), whole[:, :1, 3 : n + 3]
    for y in (x, row, column, plane, dense[..., ::-1], dense[::-1], dense[:, 5:6]):
        got = gpuprims.map("x - 3*y", whole[..., :n], y, device=cpu, variant=asked)
        assert_equal(got, whole[..., :n] - 3 * y)
    got = gpuprims.map("x * y + z", dense, row, whole[0, 0, 0], device=cpu, variant=asked)
    assert_equal(got, dense * row + whole[0, 0, 0])
    if dtype == "float32":
        got = gpuprims.map("sin(x) + y", x, row, device=cpu, variant=asked)
        np.testing.assert_allclose(got, np.sin(x) + row, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("shape", [(3, 50, 70), (70, 3, 50), (50, 70, 20), (6, 5, 400)])
def test_every_order_of_three_axes(cpu: gpuprims.Device, rng: np.random.Generator, shape: tuple[int, ...]) -> None:
    x = random_values(rng, np.int16, shape)
    for axes in itertools.permutations(range(3)):
        view = x.transpose(axes)
        y = np.ascontiguousarray(view)
        expected = view - 3 * y
        if axes == (0, 1, 2) or (axes == (1, 0, 2) and shape[2] >= 32):  # long rows in the order of the results
            with pytest.raises(NoVariantError, match="lie in memory along another axis"):
                mapped(cpu, "x - 3*y", view, y)
        elif view.shape[-1] > 8:
            assert_equal(mapped(cpu, "x - 3*y", view, y), expected)
        assert_equal(gpuprims.map("x - 3*y", view, y, device=cpu), expected)


def test_results_with_gaps(cpu: gpuprims.Device, rng: np.random.Generator) -> None:
    x, y = random_values(rng, np.float32, (90, 70)), random_values(rng, np.float32, (70, 90))
    for n in (70, 20):
        room = np.zeros((90, 2 * n), np.float32)
        gpuprims.map("x + y", x[:, :n], y[:n].T, out=room[:, ::2], device=cpu)
        assert_equal(room[:, ::2], x[:, :n] + y[:n].T)
        assert not room[:, 1::2].any()


def test_groups_of_several_blocks(
    cpu: gpuprims.Device, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y = random_values(rng, np.float32, (3000, 10)), random_values(rng, np.float32, (300, 400))
    with two_groups(cpu, monkeypatch):
        assert_equal(mapped(cpu, "x + y", x, x[0]), x + x[0])
        assert_equal(mapped(cpu, "x + y", y, y.reshape(400, 300).T), y + y.reshape(400, 300).T)
