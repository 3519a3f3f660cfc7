"""Means of many neighbours by sums from both ends of blocks, against SciPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from c_cases import functions_of, need_host_memory, use
from scipy import ndimage as scipys

import gpuprims
from gpuprims import ndimage
from gpuprims.core.program_cache import forget_calls
from gpuprims.ndimage import box_sums
from gpuprims.ndimage.calls import Call
from gpuprims.ndimage.lines import Line


@pytest.fixture
def blocks(device: gpuprims.Device, monkeypatch: pytest.MonkeyPatch) -> gpuprims.Device:
    """A device that takes means of few elements so, too."""
    if device.driver.capabilities.kind != "cpu":
        pytest.skip("GPUs add all neighbours")
    monkeypatch.setattr(box_sums, "_FEWEST", 0)
    monkeypatch.setattr(box_sums, "_FEWEST_IN_C", 0)
    return device


@pytest.fixture(scope="module")
def module() -> Any:
    """The module in C."""
    return functions_of(box_sums.BOX_MEANS)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_c_has_the_bits_of_kernels(
    blocks: gpuprims.Device,
    module: Any,
    rng: np.random.Generator,
    numpy_computes: None,
    monkeypatch: pytest.MonkeyPatch,
    dtype: str,
) -> None:
    need_host_memory(blocks)
    for shape, axis, count, origin in (((70, 63), 0, 33, 0), ((3, 40, 65), 1, 64, -20), ((200, 2, 67), 0, 150, 74)):
        for mode in ("reflect", "constant", "wrap", "mirror", "nearest"):
            x = rng.standard_normal(shape).astype(dtype)
            x[0, 0, ...], x[1, 1, ...], x[2, 0, ...] = -0.0, np.inf, np.nan
            found = []
            for calls in (None, module):
                use(monkeypatch, box_sums.BOX_MEANS, calls)
                forget_calls()
                how: dict[str, Any] = {"axis": axis, "origin": origin, "mode": mode, "cval": 0.7}
                found += [ndimage.uniform_filter1d(x, count, device=blocks, **how) for _ in range(2)]
            for one in found[1:]:
                np.testing.assert_array_equal(one, found[0])
                np.testing.assert_array_equal(np.signbit(one), np.signbit(found[0]))  # also of zeros and NaN


def test_the_module_takes_nothing_else(module: Any) -> None:
    x, places = np.zeros((2, 3, 4)), np.arange(3)
    for wrong in (
        (x[0], places),
        (x.astype("i8"), places),
        (x, places[:2]),
        (x, places + 1),
        (x, places - 2),
        (x, [0]),
    ):
        with pytest.raises(TypeError):
            module.means(*wrong, 0.0)
    with pytest.raises(TypeError):
        module.means(x, places, "0")


@pytest.mark.parametrize(
    "dtype", ["float32", "uint8", *[pytest.param(d, marks=pytest.mark.whole) for d in ("i4", "f8")]]
)
@pytest.mark.parametrize("mode", ["reflect", "constant"])
def test_means_of_many(blocks: gpuprims.Device, rng: np.random.Generator, dtype: str, mode: str) -> None:
    x = (rng.standard_normal((90, 41)) * 100 + 200 * (dtype == "uint8")).clip(0 if dtype == "uint8" else -999, 255)
    x = x.astype(dtype)
    for size, axis, origin in ((33, 0, 0), (50, 1, -25), (300, 0, 149)):
        how: dict[str, Any] = {"axis": axis, "origin": origin, "mode": mode, "cval": 3}
        found = ndimage.uniform_filter1d(x, size, device=blocks, **how)
        expected = scipys.uniform_filter1d(x.astype("f8") if x.dtype.kind == "f" else x, size, **how)
        assert found.dtype == x.dtype
        if x.dtype.kind == "f":
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-3 if dtype == "float32" else 1e-11)
        else:
            assert np.array_equal(found, expected)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("sizes", [(13, 5), (13, 33), (1, 15), (40, 2)])
def test_later_calls_run_what_the_first_found(
    blocks: gpuprims.Device,
    module: Any,
    rng: np.random.Generator,
    numpy_computes: None,
    monkeypatch: pytest.MonkeyPatch,
    sizes: tuple[int, int],
    dtype: str,
) -> None:
    need_host_memory(blocks)
    use(monkeypatch, box_sums.BOX_MEANS, module)
    forget_calls()
    for shape in ((50, 61), (61, 50), (50, 61)):
        for mode in ("reflect", ["wrap", "constant"]):
            for turned in (False, True):
                x = rng.standard_normal(shape).astype(dtype)
                x = np.asfortranarray(x) if turned else x
                found = ndimage.uniform_filter(x, sizes, mode=mode, cval=2, device=blocks)
                expected = scipys.uniform_filter(x.astype("f8"), sizes, mode=mode, cval=2)
                np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 if dtype == "float32" else 1e-13)
    x = rng.standard_normal((50, 61)).astype(dtype)
    first = ndimage.uniform_filter(x, sizes, device=blocks)
    monkeypatch.setattr(box_sums.Means, "run", lambda self, key: pytest.fail("a later call begins anew"))
    assert np.array_equal(ndimage.uniform_filter(x, sizes, device=blocks), first)


def test_rows_that_lie_apart(blocks: gpuprims.Device, rng: np.random.Generator) -> None:
    x = rng.standard_normal((41, 90)).astype(np.float32)
    for view in (x.T, x[::2, ::2], x[:, ::-1]):
        found = ndimage.uniform_filter1d(view, 33, device=blocks)
        np.testing.assert_allclose(found, scipys.uniform_filter1d(view.astype("f8"), 33), rtol=0, atol=1e-6)


def test_infinities_and_nan_stay_in_their_boxes(blocks: gpuprims.Device, rng: np.random.Generator) -> None:
    x = rng.standard_normal(400).astype(np.float32)
    x[100], x[300], x[0] = np.nan, np.inf, 1e30
    found = ndimage.uniform_filter1d(x, 35, mode="nearest", device=blocks)
    expected = np.convolve(np.pad(x.astype("f8"), 17, mode="edge"), np.ones(35) / 35, "valid")
    clean = np.isfinite(expected)
    assert np.array_equal(np.isfinite(found), clean)
    near_zero = np.arange(400) > 17  # what follows the boxes with 1e30 has lost nothing
    np.testing.assert_allclose(found[clean & near_zero], expected[clean & near_zero], rtol=0, atol=1e-5)


def test_large_means_take_blocks(device: gpuprims.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    taken, own = list[int](), box_sums._by_blocks

    def by_blocks(call: Call, line: Line, *others: Any) -> Any:
        taken.append(line.mean_of)
        return own(call, line, *others)

    monkeypatch.setattr(box_sums, "_by_blocks", by_blocks)
    for rows, axis in ((2**14, 0), (300, 0), (2**14, 1)):
        ndimage.uniform_filter1d(np.ones((rows, 4), np.float32), 33, axis, device=device)
    assert taken == [33] * (device.driver.capabilities.kind == "cpu")
