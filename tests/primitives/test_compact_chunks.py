"""compact/cpu_chunks: tiles, words and layouts, against NumPy's own x[mask]."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from kernel_cases import assert_equal, random_values

import gpuprims

LENGTHS = [1, 2, 15, 16, 17, 63, 64, 65, 127, 128, 129]
SHARES = [0.0, 0.01, 0.05, 0.5, 0.95, 1.0]

TURNS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "transposed": lambda x: x.T,
    "transposed and reversed": lambda x: x.T[..., ::-1],
    "upside down": lambda x: x.T[::-1],
    "every second": lambda x: x[::2].T,
    "swapped": lambda x: np.swapaxes(x, 0, -1),
}


@pytest.fixture
def chunks(device: gpuprims.Device) -> gpuprims.Device:
    """Each device whose compacts run by this kernel."""
    chosen = gpuprims.explain("compact", device=device).chosen
    if chosen is None or chosen.entry != "compact_cpu_chunks":
        pytest.skip("is about a kernel for CPUs")
    return device


def check(device: gpuprims.Device, x: np.ndarray, mask: np.ndarray) -> None:
    assert_equal(gpuprims.compact(x, mask, device=device), x[mask])


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("width", LENGTHS)
def test_words_of_several_rows(chunks: gpuprims.Device, rng: np.random.Generator, width: int, share: float) -> None:
    for height in (1, 3, 1000):
        x = random_values(rng, np.int32, (height, width + 3))
        for view in (x[:, 3:], x[:, ::-1], x[:, 1::2]):
            check(chunks, view, rng.random(view.shape) < share)
        cut, least = x[:, 3:], round(share * 2**31) - 1
        assert_equal(gpuprims.compact(cut, f"x >= {least}", device=chunks), cut[cut >= least])


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("across", [3, 4, 5, 63, 64, 65, 128, 200])
def test_tiles_of_rows_side_by_side(
    chunks: gpuprims.Device, rng: np.random.Generator, across: int, share: float
) -> None:
    for along in (15, 16, 64, 100, 1023, 1024, 1025, 2500):  # of 16 words at most
        x = rng.random((along, across)).astype(np.float32).T
        check(chunks, x, rng.random(x.shape) < share)
        assert_equal(gpuprims.compact(x, f"x < {share}", device=chunks), x[x < share])


@pytest.mark.parametrize("turn", list(TURNS))
@pytest.mark.parametrize("shape", [(40, 70), (20, 33, 100), (3, 20, 5, 90)])
@pytest.mark.parametrize("dtype", ["uint8", "float16", "float64", "complex128"])
def test_arrays_that_are_turned(
    chunks: gpuprims.Device, rng: np.random.Generator, turn: str, shape: tuple[int, ...], dtype: str
) -> None:
    x = TURNS[turn](random_values(rng, dtype, shape))
    for share in SHARES:
        mask = rng.random(x.shape) < share
        for one in (mask, np.asfortranarray(mask), np.repeat(mask, 2, -1)[..., ::2]):
            check(chunks, x, one)
            check(chunks, np.ascontiguousarray(x), one)
    keeps = "real(x) > 0" if dtype.startswith("c") else "x > 1"
    assert_equal(gpuprims.compact(x, keeps, device=chunks), x[x.real > 0] if dtype.startswith("c") else x[x > 1])


def test_every_second_float16(chunks: gpuprims.Device, rng: np.random.Generator) -> None:
    x = random_values(rng, np.float16, (50, 700))[:, ::2]  # Intel's compiler ended the process
    assert_equal(gpuprims.compact(x, "x > 0.5", device=chunks), x[x > 0.5])
    assert_equal(gpuprims.compact(x.T, "x > 0.5", device=chunks), x.T[x.T > 0.5])


@pytest.mark.parametrize("share", [0.002, 0.03, 0.5, 0.97, 0.998])
def test_clusters_and_stretches_without_kept_elements(
    chunks: gpuprims.Device, rng: np.random.Generator, share: float
) -> None:
    for run in (7, 64, 511, 512, 513, 5000, 40_000):
        mask = np.repeat(rng.random(200_000 // run + 2) < share, run)
        x = random_values(rng, np.int16, mask.size)
        check(chunks, x, mask)
        check(chunks, x[5:], mask[5:])
