"""bfloat16 and float8: loaded to float32, computed there, and rounded to nearest even where they are stored."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from kernel_cases import STORED, Kernel, on_device

import gpuprims
from gpuprims.errors import DtypeError

SIZES = [0, 1, 2, 7, 8, 9, 257, 4097, 20_011]
pytestmark = pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning", "ignore:overflow:RuntimeWarning")


def _every_number(dtype: np.dtype[Any], size: int) -> np.ndarray:
    """Return numbers of a dtype: all of 8 bits, and every 251st of 16 bits, in turn."""
    bits = np.arange(size, dtype=np.uint64) * (1 if dtype.itemsize == 1 else 251)
    return bits.astype(f"u{dtype.itemsize}").view(dtype)


def _halves_between(dtype: np.dtype[Any]) -> np.ndarray:
    """Return float32 numbers between two of a dtype: the halves, and their neighbours."""
    near = np.unique(_every_number(dtype, 65_536).astype(np.float32))
    near = near[np.isfinite(near)].astype(np.float64)
    half = ((near[1:] + near[:-1]) / 2).astype(np.float32)
    ends = np.float32([0.0, -0.0, np.nan, np.inf, -np.inf, near[-1] * 1.2, -near[-1] * 1.2, 3e38, 1e-40, 1e-30])
    return np.concatenate([half, np.nextafter(half, np.float32(9e38)), np.nextafter(half, np.float32(-9e38)), ends])


def _holds(got: Any, expected: np.ndarray, dtype: Any) -> None:
    """Compare bits, but for those of NaN."""
    dtype = np.dtype(dtype)
    got = np.asarray(got if isinstance(got, np.ndarray | np.generic) else got.get())
    rounded = np.asarray(expected).astype(dtype)
    assert got.dtype == dtype
    assert got.shape == rounded.shape
    first, second = (one.astype(np.float32) for one in (got, rounded))
    np.testing.assert_array_equal(first, second)
    numbers = ~np.isnan(first)
    np.testing.assert_array_equal(np.signbit(first[numbers]), np.signbit(second[numbers]))


@pytest.fixture(params=STORED, ids=str)
def dtype(request: pytest.FixtureRequest) -> np.dtype[Any]:
    return request.param


def test_map_by_every_kernel(map_kernel: Kernel, dtype: np.dtype[Any]) -> None:
    for size in SIZES:
        x = _every_number(dtype, size)
        wide = x.astype(np.float32)
        _holds(map_kernel.map("x*x + 1", x), wide * wide + np.float32(1), dtype)


def test_numbers_round_to_nearest_even(device: gpuprims.Device, dtype: np.dtype[Any]) -> None:
    x = _halves_between(dtype)
    _holds(gpuprims.map(lambda x: x.astype(dtype), x, device=device), x, dtype)


def test_dtypes_of_results(device: gpuprims.Device, rng: np.random.Generator, dtype: np.dtype[Any]) -> None:
    x, y = (rng.standard_normal(1000).astype(dtype) for _ in "xy")
    wide, other = x.astype(np.float32), y.astype(np.float32)
    _holds(gpuprims.map("float32(x) / 3", x, device=device), wide / 3, np.float32)
    _holds(gpuprims.map("x + 0.3*y", x, other, device=device), wide + np.float32(0.3) * other, np.float32)
    _holds(gpuprims.map("where(x > y, x, 2.5)", x, y, device=device), np.where(wide > other, wide, 2.5), dtype)
    _holds(gpuprims.map("x > y", x, y, device=device), wide > other, bool)
    _holds(gpuprims.map("maximum(x, n)", x, np.int8(1), device=device), np.maximum(wide, 1), dtype)
    _holds(gpuprims.map("x * 2", x[::-3], device=device), wide[::-3] * 2, dtype)
    _holds(gpuprims.map("x + 1", x.reshape(20, 50).T, device=device), wide.reshape(20, 50).T + 1, dtype)
    out = np.empty_like(x)
    assert gpuprims.map("x * y", x, y, out=out, device=device) is out
    _holds(out, wide * other, dtype)


def test_reduce_by_every_kernel(reduce_kernel: Kernel, rng: np.random.Generator, dtype: np.dtype[Any]) -> None:
    if reduce_kernel.variant.name == "each":
        pytest.skip("folds many outputs")
    for size in SIZES[1:]:
        x = rng.integers(-2, 3, size).astype(np.float32).astype(dtype)  # sums are exact in float32
        _holds(np.asarray(reduce_kernel.reduce(x, op="max")), x.astype(np.float32).max(), dtype)
        if not reduce_kernel.picks:
            _holds(np.asarray(reduce_kernel.reduce(x)), x.astype(np.float32).sum(), dtype)


def test_reduce_in_float32(device: gpuprims.Device, rng: np.random.Generator, dtype: np.dtype[Any]) -> None:
    x = rng.standard_normal((40, 300)).astype(dtype)
    wide = x.astype(np.float32)
    _holds(gpuprims.reduce(x, op="argmax", axis=1, device=device), wide.argmax(axis=1), np.int64)
    _holds(gpuprims.reduce(x, op="min", axis=0, device=device), wide.min(axis=0), dtype)
    got = gpuprims.reduce(x, map="x*x", dtype=np.float32, axis=1, device=device)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, (wide * wide).sum(axis=1), rtol=1e-5)
    assert abs(float(gpuprims.reduce(x, op="mean", device=device)) - wide.mean()) < 0.004
    many = np.ones(1000, dtype)  # more than float8_e4m3fn holds, and than sums in any of these dtypes reach
    assert gpuprims.reduce(many, dtype=np.float32, device=device) == 1000


def test_scan_by_every_kernel(flat_scan_kernel: Kernel, rng: np.random.Generator, dtype: np.dtype[Any]) -> None:
    for size in SIZES:
        x = (rng.random(size) < 0.1).astype(np.float32).astype(dtype)
        _holds(flat_scan_kernel.scan(x), np.cumsum(x.astype(np.float32)), dtype)
        y = rng.standard_normal(size).astype(dtype)
        _holds(flat_scan_kernel.scan(y, op="max"), np.maximum.accumulate(y.astype(np.float32)), dtype)


def test_compact_and_take_move_every_number(device: gpuprims.Device, dtype: np.dtype[Any]) -> None:
    for size in SIZES[1:]:
        x = _every_number(dtype, size)
        kept = np.arange(size) % 3 > 0
        _holds(gpuprims.compact(x, kept, device=device), x[kept], dtype)
        _holds(gpuprims.compact(x, "x > 0.5", device=device), x[x.astype(np.float32) > 0.5], dtype)
        places = np.arange(size)[::-2]
        _holds(gpuprims.take(x, places, device=device), x[places], dtype)


def test_stencils(device: gpuprims.Device, rng: np.random.Generator, dtype: np.dtype[Any]) -> None:
    x = rng.integers(-2, 3, (70, 41)).astype(np.float32).astype(dtype)
    wide = np.pad(x.astype(np.float32), 1, mode="symmetric")
    cross = wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] + wide[1:-1, 2:] - 4 * wide[1:-1, 1:-1]
    _holds(gpuprims.stencil(x, [[0, 1, 0], [1, -4, 1], [0, 1, 0]], device=device), cross, dtype)
    higher = np.maximum(wide[1:-1, 1:-1], wide[1:-1, 2:])
    _holds(gpuprims.stencil(x, lambda n: np.maximum(n[0, 0], n[0, 1]), device=device), higher, dtype)
    beyond = gpuprims.stencil(x, [1, 0, 0], mode="constant", cval=1.5, device=device)
    _holds(beyond[:, :1], np.full((70, 1), 1.5), dtype)


def test_arrays_of_a_device(device: gpuprims.Device, rng: np.random.Generator) -> None:
    x = rng.standard_normal(4097).astype(STORED[0])
    there, wide = on_device(device, x), x.astype(np.float32)
    for _ in range(2):  # the second call is warm
        got = gpuprims.map("x / 3", there, device=device)
        assert type(got) is type(there)
        _holds(device.to_host(got), wide / np.float32(3), STORED[0])
    _holds(device.to_host(gpuprims.scan(there, op="min")), np.minimum.accumulate(wide), STORED[0])


def test_primitives_that_compute_in_an_order_say_what_to_pass(device: gpuprims.Device) -> None:
    x = np.zeros(3, STORED[0])
    for call in (gpuprims.sort, gpuprims.unique, lambda x, **how: gpuprims.histogram(x, bins=3, **how)):
        with pytest.raises(DtypeError, match=r": a dtype that it computes in; got bfloat16 \(pass x.astype"):
            call(x, device=device)


def test_names_of_dtypes(device: gpuprims.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    assert gpuprims.reduce([1.0, 2.0], dtype="bfloat16", device=device).dtype == STORED[0]
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)  # as if it were not installed
    with pytest.raises(DtypeError, match=r'reduce: ml_dtypes, for arrays of bfloat16; .*install "gpuprims\[bfloat16'):
        gpuprims.reduce([1.0, 2.0], dtype="bfloat16", device=device)


@pytest.mark.parametrize("place", ["host", "gpu"])
def test_tensors_of_torch(device: gpuprims.Device, rng: np.random.Generator, dtype: np.dtype[Any], place: str) -> None:
    torch = pytest.importorskip("torch")
    if place == "gpu" and device.backend != "cuda":
        pytest.skip("is about arrays on a CUDA GPU")
    kind = getattr(torch, dtype.name)
    given = torch.from_numpy(rng.standard_normal((30, 20)).astype(np.float32)).to(kind)
    given = given.cuda() if place == "gpu" else given
    for part in (given, given[::2, 3:], given.T):
        got = gpuprims.map("x / 3", part, device=device)
        assert (type(got), got.dtype, got.device) == (torch.Tensor, kind, given.device)
        assert torch.equal(got.float(), (part.float() / 3).to(kind).float())
    out = torch.empty_like(given)
    assert gpuprims.map("x * 2", given, out=out, device=device) is out
    assert torch.equal(out.float(), (given.float() * 2).to(kind).float())
    assert gpuprims.reduce(given, op="max", device=device).float() == given.float().max()


def test_arrays_of_jax(device: gpuprims.Device, rng: np.random.Generator, dtype: np.dtype[Any]) -> None:
    jax = pytest.importorskip("jax")
    given = jax.device_put(rng.standard_normal((30, 20)).astype(dtype), jax.devices("cpu")[0])
    got = gpuprims.map("x / 3", given, device=device)
    assert isinstance(got, jax.Array)
    _holds(np.asarray(got), np.asarray(given).astype(np.float32) / 3, dtype)
