"""Kernels whose lanes pass values on, at each width of sub-groups that a runtime here offers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from device_doubles import double_of, in_use, runtimes
from kernel_cases import AFFINE, affine_fold, affine_scan, as_it_stands, assert_equal, random_values
from logistic_cases import assert_descended, assert_descent, assert_logistic
from newton_cases import assert_fitted

import gpuprims
from gpuprims.backends.opencl.capabilities import subgroup_size, subgroup_sizes
from gpuprims.core.geometry import Geometry
from gpuprims.core.registry import REGISTRY
from gpuprims.core.variant import Variant
from gpuprims.errors import NoVariantError
from gpuprims.primitives.rle import encode_runs
from gpuprims.primitives.sort import room

WIDTHS = (4, 8, 16, 32, 64)
How = dict[str, Any]


@pytest.fixture(autouse=True)
def unoptimised(monkeypatch: pytest.MonkeyPatch) -> None:
    as_it_stands(monkeypatch)
    monkeypatch.setattr(room, "_HOLDING", ("intel", "portable computing"))  # where two groups run, each in a thread


# The devices that doubles are made of.
on_runtimes = pytest.mark.parametrize("device", runtimes(), indirect=True)


def gpu_of(device: gpuprims.Device, width: int) -> gpuprims.Device:
    """Return a double with sub-groups of a width, on which every kernel for GPUs runs; skip where there are none."""
    able = device.capabilities
    if width not in able.subgroup_sizes:
        pytest.skip(f"{able.name} by {able.vendor} has sub-groups of {able.subgroup_sizes or 'no size to ask for'}")
    return double_of(device, replace(able, kind="gpu", subgroup_size=width, tries_progress=lambda: True))


def _sums(rng: np.random.Generator, shape: tuple[int, ...], how: How) -> None:
    x = random_values(rng, np.int16, shape)
    axis = None if len(shape) == 1 else 1
    assert_equal(gpuprims.reduce(x, axis=axis, **how), x.sum(axis))
    a, b = rng.integers(-3, 4, (2, *shape))
    got = gpuprims.reduce(a, b, op=AFFINE, axis=axis, **how)
    expected = [affine_fold(*row) for row in zip(np.atleast_2d(a), np.atleast_2d(b), strict=True)]
    for component, column in zip(got, np.transpose(expected), strict=True):
        np.testing.assert_array_equal(np.ravel(component), column)


def _reduce_all(rng: np.random.Generator, how: How) -> None:
    for size in (5, 9_001):
        _sums(rng, (size,), how)


def _reduce_rows(rng: np.random.Generator, how: How) -> None:
    for columns in (3, 130):
        _sums(rng, (1030, columns), how)


def _reduce_short_rows(rng: np.random.Generator, how: How) -> None:
    for columns in (3, 17, 101):
        _sums(rng, (1030, columns), how)


def _scan_all(rng: np.random.Generator, how: How) -> None:
    for size in (70, 9_001, 50_001):
        x = random_values(rng, np.int8, size)
        assert_equal(gpuprims.cumsum(x, **how), np.cumsum(x))
    a, b = rng.integers(-3, 4, (2, 20_001))
    for got, expected in zip(gpuprims.scan(a, b, op=AFFINE, **how), affine_scan(a, b), strict=True):
        np.testing.assert_array_equal(got, expected)


def _reduce_fixed_few(rng: np.random.Generator, how: How) -> None:
    for size in (3, 33, 200, 512, 1024, 1500, 4096):
        x = rng.standard_normal((1030, size)).astype(np.float32)
        got = gpuprims.reduce(x, axis=1, determinism="device", **how)
        assert_equal(got, gpuprims.reduce(x, axis=1, determinism="device", device="reference"))


def _scan_fixed(rng: np.random.Generator, how: How) -> None:
    x = rng.standard_normal(70_001).astype(np.float32)
    got = gpuprims.scan(x, determinism="device", **how)
    assert_equal(got, gpuprims.scan(x, determinism="device", device="reference"))


def _scan_fixed_rows(rng: np.random.Generator, how: How) -> None:
    for size in (3, 40, 1100):
        x = rng.standard_normal((1030, size)).astype(np.float32)
        got = gpuprims.scan(x, axis=1, determinism="device", **how)
        assert_equal(got, gpuprims.scan(x, axis=1, determinism="device", device="reference"))


def _scan_rows(rng: np.random.Generator, how: How) -> None:
    for columns in (3, 130):
        x = random_values(rng, np.int16, (1030, columns))
        assert_equal(gpuprims.scan(x, axis=1, **how), np.cumsum(x, 1))


def _scan_columns(rng: np.random.Generator, how: How) -> None:
    for shape in ((5000, 3), (700, 40)):
        x = random_values(rng, np.int16, shape)
        assert_equal(gpuprims.scan(x, axis=0, **how), np.cumsum(x, 0))


def _compact(rng: np.random.Generator, how: How) -> None:
    for dtype in (np.uint8, np.float32):
        x = random_values(rng, dtype, 40_001)
        assert_equal(gpuprims.compact(x, "x > 1", **how), x[x > 1])


def _rle(rng: np.random.Generator, how: How) -> None:
    for dtype, longest in ((np.uint8, 9), (np.float32, 3), (np.complex128, 900)):
        lengths = rng.integers(1, longest, 40_000 // longest)
        values = np.arange(lengths.size).astype(dtype)
        got = encode_runs(np.repeat(values, lengths), lengths=True, **how)
        assert_equal(got[0], values)
        assert_equal(got[1], lengths)


def _segments(rng: np.random.Generator, how: How) -> None:
    offsets = np.sort(rng.integers(0, 30_000, 1500))
    offsets[[0, 700, 701, -1]] = 0, offsets[700], offsets[700], 30_000  # one that is empty
    offsets[1200:] = 30_000  # the last of them long
    x = random_values(rng, np.int32, 30_000)
    expected = [x[a:b].sum() for a, b in pairwise(offsets)]
    assert_equal(gpuprims.reduce(x, segments=offsets, **how), np.array(expected))


def _segments_in_tiles(rng: np.random.Generator, how: How) -> None:
    offsets = np.sort(np.r_[0, rng.integers(0, 30_000, 700), [30_000] * 3])
    x = rng.standard_normal(30_000).astype(np.float32)
    own: How = {"segments": offsets, "determinism": "device"}
    assert_equal(gpuprims.reduce(x, **own, **how), gpuprims.reduce(x, **own, device="reference"))


def _samples(rng: np.random.Generator, n: int, k: int) -> list[np.ndarray]:
    weights = rng.standard_normal(k + 1) / np.sqrt(k)
    return [a.astype(np.float32) for a in (rng.standard_normal((n, k)), rng.random(n) < 0.4, weights)]


def _logistic(rng: np.random.Generator, how: How) -> None:
    from gpuprims.primitives.logistic import logistic_gradient

    for n, k in ((700, 3), (301, 70), (65, 700)):
        given = _samples(rng, n, k)
        assert_logistic(logistic_gradient(*given, **how), *given)


def _logistic_by_tree(rng: np.random.Generator, how: How) -> None:
    from gpuprims.primitives.logistic import logistic_gradient

    for n, k in ((700, 3), (301, 70)):
        given = _samples(rng, n, k)
        assert_logistic(logistic_gradient(*given, **how), *given)


def _logistic_of_bytes(rng: np.random.Generator, how: How) -> None:
    from gpuprims.primitives.logistic import logistic_gradient

    X, labels, weights = _samples(rng, 301, 70)
    given = rng.integers(-127, 128, X.shape).astype(np.int8), labels, weights / 127
    loss, gradient = logistic_gradient(*given, **how)
    exact_loss, exact = logistic_gradient(*given, device="reference")
    assert abs(loss - exact_loss) <= 1e-3 * exact_loss
    assert np.abs(gradient - exact).max() <= 1e-3 * np.abs(exact).max()  # weights and residuals of 14 bits


def _descent(rng: np.random.Generator, how: How) -> None:
    from gpuprims.primitives.descent import logistic_descent

    for n, k in ((300, 4), (70, 20)):
        given, steps = _samples(rng, n, k), {"rate": 0.001, "steps": 9}
        assert_descended(logistic_descent(*given, **steps, **how), *given, **steps)


def _newton(rng: np.random.Generator, how: How) -> None:
    from gpuprims.primitives.newton import logistic_newton

    for n, k in ((300, 4), (70, 8)):
        given = rng.standard_normal((2, n, k)).astype("f4"), rng.random((2, n)) < 0.4
        assert_fitted(logistic_newton(*given, **how), *given)


def _sgd(rng: np.random.Generator, how: How) -> None:
    from gpuprims.primitives.sgd import logistic_sgd

    for k in (7, 300):
        given, order = _samples(rng, 50, k), rng.integers(0, 50, 70).astype(np.int32)
        assert_descent(logistic_sgd(*given, order, rate=0.05, **how), *given, order, rate=0.05)


def _hogwild(rng: np.random.Generator, how: How) -> None:
    from gpuprims.primitives.hogwild import logistic_hogwild

    for threads in (None, 2, 64):
        given, order = _samples(rng, 40, 13), rng.integers(0, 40, 60).astype(np.int32)
        asked = {"rate": 0.02, "workers": 1, "threads_per_datapoint": threads}
        assert_descent(logistic_hogwild(*given, order, **asked, **how), *given, order, rate=0.02)


def _csr(rng: np.random.Generator, how: How) -> None:
    from scipy import sparse

    from gpuprims.primitives.csr import csr_product

    for mean in (2, 30, 90):
        A = sparse.random_array((130, 150), density=mean / 150, format="csr", rng=rng, dtype=np.float64)
        dense = rng.standard_normal((150, 3))
        got = csr_product(A.data, A.indices, A.indptr, dense, **how)
        np.testing.assert_allclose(got, A @ dense, rtol=1e-12, atol=1e-12)


def _segscan(rng: np.random.Generator, how: How) -> None:
    offsets = np.concatenate([[0], np.cumsum(rng.integers(0, 90, 300)), [70_000]])
    x = random_values(rng, np.int64, offsets[-1])
    expected = np.concatenate([np.cumsum(run) for run in np.split(x, offsets[1:-1])])
    assert_equal(gpuprims.scan(x, segments=offsets, **how), expected)


def _histogram(rng: np.random.Generator, how: How) -> None:
    for size, bins in ((70_000, 1 << 18), (3000, 1 << 18)):
        x = rng.integers(0, bins, size)
        assert_equal(gpuprims.bincount(x, minlength=bins, **how), np.bincount(x, minlength=bins))


def _sort(rng: np.random.Generator, how: How) -> None:
    x = rng.standard_normal(20_011, np.float32)
    assert_equal(gpuprims.argsort(x, **how), np.argsort(x, kind="stable"))
    digits = rng.integers(0, 256, 20_011, np.uint32)
    for keys in (digits * 0, digits << 8, digits << 24 | digits, digits + 256 * (digits == 7)):  # most digits are alike
        assert_equal(gpuprims.sort(keys, **how), np.sort(keys))
        assert_equal(gpuprims.argsort(keys, **how), np.argsort(keys, kind="stable"))


def _sort_rows(rng: np.random.Generator, how: How) -> None:
    x = rng.standard_normal((5, 611), np.float32)
    assert_equal(gpuprims.argsort(x, **how), np.argsort(x, kind="stable"))
    assert_equal(gpuprims.sort(x.astype(np.float64), **how), np.sort(x.astype(np.float64)))


def _sort_keys(rng: np.random.Generator, how: How) -> None:
    x = rng.standard_normal(2**19 + 11, np.float32)
    assert_equal(gpuprims.sort(x, **how), np.sort(x))
    alike = rng.integers(
        2**30, 2**30 + 2**25, 2**19, np.uint32
    )  # in leading bits, so that two digits leave large parts
    small = replace(known()["sort_buckets"], tasks=Geometry(256, 2, 2))
    assert_equal(gpuprims.sort(alike, **how | {"variant": small}), np.sort(alike))


# For each kernel that needs whole warps: a call, and the narrowest warps that it takes.
CALLS: dict[str, tuple[Callable[[np.random.Generator, How], None], int]] = {
    "reduce_warp": (_reduce_all, 16),
    "reduce_rows": (_reduce_rows, 16),
    "reduce_staged": (_reduce_short_rows, 16),
    "reduce_fixed_few": (_reduce_fixed_few, 16),
    "scan_columns": (_scan_columns, 4),
    "scan_column_runs": (_scan_columns, 4),
    "scan_rows": (_scan_rows, 16),
    "scan_fixed_rows": (_scan_fixed_rows, 4),
    "scan_round_robin": (_scan_all, 4),
    "scan_lookback": (_scan_all, 4),
    "scan_fixed_round_robin": (_scan_fixed, 4),
    "compact_round_robin": (_compact, 4),
    "rle_round_robin": (_rle, 4),
    "histogram_partitioned": (_histogram, 4),
    "segments_shares": (_segments, 16),
    "segments_fixed_tiles": (_segments_in_tiles, 4),
    "segscan_tails": (_segscan, 16),
    "logistic_fused": (_logistic, 4),
    "logistic_fixed": (_logistic_by_tree, 4),
    "logistic_fixed_point": (_logistic_of_bytes, 4),
    "descent_persistent": (_descent, 4),
    "newton_registers": (_newton, 4),
    "newton_tiles": (_newton, 4),
    "sgd_gram": (_sgd, 4),
    "sgd_warp_atomic": (_sgd, 4),
    "hogwild_lock_free": (_hogwild, 4),
    "hogwild_racy": (_hogwild, 4),
    "csr_rows": (_csr, 4),
    "csr_fixed": (_csr, 4),
    "sort_onesweep": (_sort, 32),
    "sort_resident": (_sort, 32),
    "sort_rows": (_sort_rows, 32),
    "sort_buckets": (_sort_keys, 4),
    "sort_counted": (_sort, 4),
}
# Those whose lanes vote in 32 bits.
VOTING = ("sort_onesweep", "sort_resident", "sort_rows")


def known() -> dict[str, Variant]:
    """Return the kernels that ask for whole warps, by their entries."""
    every = [variant for entry in CALLS for variant in REGISTRY.variants(entry.partition("_")[0], "opencl")]
    return {variant.entry: variant for variant in every if "WHOLE_WARPS" in variant.path.read_text()}


def test_every_kernel_with_whole_warps_is_here() -> None:
    files = next(iter(known().values())).path.parents[2].glob("*/kernels/*.cl")
    assert {path.stem for path in files if "WHOLE_WARPS" in path.read_text()} == CALLS.keys()
    assert known().keys() == CALLS.keys()


@on_runtimes
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("entry", CALLS)
def test_a_kernel_at_each_width(device: gpuprims.Device, entry: str, width: int, rng: np.random.Generator) -> None:
    call, narrowest = CALLS[entry]
    with in_use(gpu_of(device, width)) as gpu:
        how: How = {"device": gpu, "variant": known()[entry].name}
        refused = width < narrowest or (entry in VOTING and width > 32)
        if refused:
            with pytest.raises(NoVariantError, match=f"needs warps .* have {width}"):
                call(rng, how)
        else:
            call(rng, how)
    text = gpu.driver.texts[-1] if not refused else f"#define WARP {width}"
    assert f"#define WARP {width}\n" in f"{text}\n"


@on_runtimes
@pytest.mark.parametrize("width", WIDTHS)
def test_groups_of_few_warps(device: gpuprims.Device, width: int, rng: np.random.Generator) -> None:
    """A group of 64, which may be one warp, and the largest that two steps fold."""
    with in_use(gpu_of(device, width)) as gpu:
        variant = known()["reduce_warp"]
        assert variant.tunable is not None
        for block in sorted({64, min(width**2, 1024)} & {64, 128, 256, 512, 1024}):
            shaped = replace(variant.with_geometry(Geometry(block, 8, 6)), refuse=lambda capabilities, call: None)
            assert variant.tunable.fits(Geometry(block, 8, 6))(gpu.capabilities, _CALL) is None or block > width**2
            if block <= width**2:
                _reduce_all(rng, {"device": gpu, "variant": shaped})


_CALL = gpuprims.Call((np.dtype(np.float32),), 5000)


@on_runtimes
@pytest.mark.parametrize("width", WIDTHS)
def test_warps_that_do_not_divide_a_group_are_refused(device: gpuprims.Device, width: int) -> None:
    able = replace(gpu_of(device, width).capabilities, subgroup_size=3 * width)
    assert known()["reduce_warp"].refuse(able, _CALL) == (
        f"needs groups of whole warps; 256 work-items are not, of {3 * width} on {able.name}"
    )


# How widths are known


class Told:
    """An OpenCL device, as far as widths are read off it."""

    def __init__(self, extensions: str, **others: int) -> None:
        self.extensions = extensions
        self.__dict__.update(others)


@pytest.mark.parametrize(
    ("device", "sizes", "size"),
    [
        (Told("cl_khr_fp64"), (), 0),
        (Told("cl_nv_device_attribute_query", warp_size_nv=32), (32,), 32),
        (Told("cl_amd_device_attribute_query", wavefront_width_amd=64), (), 64),
        (Told("cl_amd_device_attribute_query", wavefront_width_amd=32), (), 32),
    ],
)
def test_widths_by_vendor(device: Any, sizes: tuple[int, ...], size: int) -> None:
    assert subgroup_sizes(device) == sizes
    assert subgroup_size(device, sizes) == size


@pytest.mark.parametrize(
    ("sizes", "chosen"), [((8, 16, 32), 16), ((16, 32), 16), ((32, 64), 32), ((4, 8), 8), ((8,), 8), ((64,), 64)]
)
def test_kernels_are_compiled_for_16_or_the_next(sizes: tuple[int, ...], chosen: int) -> None:
    device: Any = Told("cl_intel_required_subgroup_size")
    assert subgroup_size(device, sizes) == chosen


@on_runtimes
def test_a_driver_is_asked_for_its_widths(device: gpuprims.Device) -> None:
    able, device = device.capabilities, device.driver.queue.device
    if "cl_intel_required_subgroup_size" not in device.extensions.split():
        assert able.subgroup_sizes == ()
        return
    assert able.subgroup_sizes == tuple(sorted(set(able.subgroup_sizes)))
    assert able.subgroup_size in able.subgroup_sizes
    assert len(able.subgroup_sizes) > 1, "the driver was not asked"
