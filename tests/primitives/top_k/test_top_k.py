"""top_k by every kernel, against a stable sort in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_cases import DTYPES, Kernel, assert_equal, is_guest, on_device, on_host, random_values
from selection_cases import top_k_numpy
from tricky_data import tricky, tricky_rows

import gpuprims
from gpuprims.errors import ArgumentError, AxisError, DtypeError, NoVariantError, ShapeError, UnknownKeywordError
from gpuprims.primitives.top_k.variants import MOST_SORTED


def takes(kernel: Kernel, n: int, k: int) -> bool:
    """Return whether a kernel takes so many elements of such rows; see :func:`test_calls_that_are_refused`."""
    if kernel.variant.name == "sampled":
        return k <= MOST_SORTED
    return kernel.variant.name != "rows" or (k <= kernel.variant.block and n <= 1 << 16)


def assert_top_k(kernel: Kernel, x: np.ndarray, k: int, axis: int | None = None, *, largest: bool = True) -> None:
    if not takes(kernel, x.size if axis is None else x.shape[axis], k):
        return
    got = gpuprims.top_k(x, k, axis=axis, largest=largest, device=kernel.device, variant=kernel.variant.name)
    for one, expected in zip(got, top_k_numpy(x, k, axis, largest=largest), strict=True):
        assert_equal(one, expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype(top_k_kernel: Kernel, dtype: str, rng: np.random.Generator) -> None:
    top_k_kernel.need(dtype)
    x = random_values(rng, dtype, 3001)
    if x.dtype.kind == "f":
        x[::7], x[::11], x[::13] = np.nan, 0.0, -0.0
    for largest in (True, False):
        assert_top_k(top_k_kernel, x, 100, largest=largest)


@pytest.mark.optimised
def test_every_size_around_groups_tiles_and_parts(top_k_kernel: Kernel, rng: np.random.Generator) -> None:
    for n in (1, 2, 255, 256, 257, 1023, 1024, 1025, 4095, 4096, 4097, 33_000):
        x = rng.integers(0, 900, n).astype(np.float32)
        for k in {0, 1, n // 3, n - 1, n}:
            assert_top_k(top_k_kernel, x, k)


def test_arrays_that_mislead(top_k_kernel: Kernel, rng: np.random.Generator) -> None:
    for name, x in tricky(rng, 60_001).items():
        for k in (1, 10, 250, 1500)[: None if takes(top_k_kernel, 1, 1500) else -1]:
            for largest in (True, False):
                got = gpuprims.top_k(
                    x, k, largest=largest, device=top_k_kernel.device, variant=top_k_kernel.variant.name
                )
                for one, expected in zip(got, top_k_numpy(x, k, largest=largest), strict=True):
                    np.testing.assert_array_equal(one, expected, err_msg=name)
                    assert one.tobytes() == expected.tobytes(), name  # zeros have their signs


@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_rows_that_mislead(top_k_kernel: Kernel, rng: np.random.Generator, dtype: str) -> None:
    rows = tricky_rows(rng, 9001, dtype)
    for k in (1, 40, 200):
        for largest in (True, False):
            assert_top_k(top_k_kernel, rows, k, 1, largest=largest)


@pytest.mark.parametrize("value", [-1, 2])
def test_samples_that_mislead(top_k_kernel: Kernel, value: int, rng: np.random.Generator) -> None:
    x = rng.random(1 << 18, dtype=np.float32)
    pieces = np.arange(x.size // 4096) * 4096
    for offset in range(4):  # what top_k/radix samples
        x[pieces + offset] = value
    for largest in (True, False):
        for k in (1, 200):
            assert_top_k(top_k_kernel, x, k, largest=largest)
    rows = rng.random((2, (1 << 18) + 1), dtype=np.float32)
    assert_top_k(top_k_kernel, rows, 12, 1)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, None])
def test_every_axis_and_layout(top_k_kernel: Kernel, axis: int | None, rng: np.random.Generator) -> None:
    guest = is_guest(top_k_kernel.device.capabilities.kind, top_k_kernel.variant.name)
    shape = (5, 12, 9) if guest else (5, 70, 33)  # a guest's work-items take turns in each row
    x = random_values(rng, np.int16, shape)
    for laid in (x, x[::-1, ::2], np.asfortranarray(x), x.transpose(2, 0, 1)):
        n = laid.size if axis is None else laid.shape[axis]
        assert_top_k(top_k_kernel, laid, n // 2, axis)


def test_rows(top_k_kernel: Kernel, rng: np.random.Generator) -> None:
    for shape in ((1, 3000), (2000, 3), (300, 130), (9, 5000)):
        x = rng.integers(0, 99, shape).astype(np.int32)
        for k in (1, min(32, shape[1]), shape[1]):
            assert_top_k(top_k_kernel, x, k, 1)


def test_segments(top_k_kernel: Kernel, rng: np.random.Generator) -> None:
    if top_k_kernel.variant.name == "sampled":
        pytest.skip("it takes whole arrays and rows")
    lengths = rng.integers(3, 700, 60)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    x = rng.integers(0, 99, offsets[-1]).astype(np.float32)
    how: dict[str, Any] = {"device": top_k_kernel.device, "variant": top_k_kernel.variant.name}
    for largest in (True, False):
        values, places = gpuprims.top_k(x, 3, segments=offsets, largest=largest, **how)
        for row in range(lengths.size):
            expected = top_k_numpy(x[offsets[row] : offsets[row + 1]], 3, largest=largest)
            assert_equal(values[row], expected[0])
            assert_equal(places[row], expected[1])
    with pytest.raises(ArgumentError, match=r"k= at most the number of elements of each segment; got 3, and 2 el"):
        gpuprims.top_k(x[:9], 3, segments=[0, 4, 6, 9], **how)


def test_arrays_of_the_device_and_out(top_k_kernel: Kernel, rng: np.random.Generator) -> None:
    device, x = top_k_kernel.device, rng.random((40, 300), dtype=np.float32)
    for _ in range(2):  # the second call is a warm one
        resident = on_device(device, x)
        got = gpuprims.top_k(resident, 7, axis=1, variant=top_k_kernel.variant.name, device=device)
        assert type(got[0]) is type(got[1]) is type(resident)
        for one, expected in zip(got, top_k_numpy(x, 7, 1), strict=True):
            assert_equal(on_host(device, one), expected)
        out = np.zeros((40, 14), np.float32)[:, ::2], np.zeros((7, 40), np.int64).T
        found = gpuprims.top_k(x, 7, axis=1, out=out, variant=top_k_kernel.variant.name, device=device)
        assert found[0] is out[0]
        for one, expected in zip(out, top_k_numpy(x, 7, 1), strict=True):
            assert_equal(one, expected)
        flat = np.zeros(18, np.float32)[::2], np.zeros(9, np.int64)
        gpuprims.top_k(x, 9, out=flat, variant=top_k_kernel.variant.name, device=device)
        assert_equal(flat[1], top_k_numpy(x, 9)[1])


def test_calls_that_are_refused(top_k_kernel: Kernel) -> None:
    how: dict[str, Any] = {"device": top_k_kernel.device, "variant": top_k_kernel.variant.name}
    if top_k_kernel.variant.name == "sampled":
        for k, segments, what in ((1025, None, "1025 of 2000"), (9, [0, 2000], "9 of a segment")):
            with pytest.raises(NoVariantError, match=rf"is for k up to 1024 and .* takes {what}"):
                gpuprims.top_k(np.zeros(2000, np.float32), k, segments=segments, **how)
        return
    if top_k_kernel.variant.name != "rows":
        pytest.skip("other kernels take all calls")
    for n, k in ((1 << 16, 257), ((1 << 16) + 1, 1)):
        with pytest.raises(NoVariantError, match=rf"is for k up to 256 and .* takes {k} of {n}"):
            gpuprims.top_k(np.zeros(n, np.float32), k, device=top_k_kernel.device, variant="rows")


def test_wrong_arguments(device: gpuprims.Device) -> None:
    x = np.zeros((3, 5), np.float32)
    for k in (-1, True, 1.5, "many", None):
        with pytest.raises(ArgumentError, match="top_k: k= an integer from 0 on; got"):
            gpuprims.top_k(x, k, device=device)  # type: ignore[call-overload]
    with pytest.raises(ArgumentError, match=r"k= at most 15, the number of elements of a row; got 16"):
        gpuprims.top_k(x, 16, device=device)
    with pytest.raises(ArgumentError, match=r"k= at most 3, the"):
        gpuprims.top_k(x, 4, axis=0, device=device)
    with pytest.raises(AxisError, match="axis"):
        gpuprims.top_k(x, 1, axis=2, device=device)
    with pytest.raises(AxisError, match="one axis"):
        gpuprims.top_k(x, 1, axis=(0, 1), device=device)  # type: ignore[call-overload]
    with pytest.raises(DtypeError, match=r"real elements, which have an order; got dtype complex64"):
        gpuprims.top_k(x.astype(np.complex64), 1, device=device)
    with pytest.raises(UnknownKeywordError, match=r"sorted"):
        gpuprims.top_k(x, 1, sorted=True, device=device)  # type: ignore[call-overload]
    with pytest.raises(ShapeError, match="out="):
        gpuprims.top_k(x, 2, out=(np.zeros(3, np.float32), np.zeros(3, np.int64)), device=device)


def test_nothing_to_take(device: gpuprims.Device) -> None:
    for x, k, axis in ((np.zeros((0, 4)), 2, 1), (np.zeros((3, 4)), 0, 1), (np.zeros(0), 0, None)):
        values, places = gpuprims.top_k(x.astype(np.float32), k, axis=axis, device=device)
        assert values.shape == places.shape == ((k,) if axis is None else (x.shape[0], k))
        assert [values.dtype.name, places.dtype.name] == ["float32", "int64"]
