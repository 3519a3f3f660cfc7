"""Shared by tests of kernels: a variant on a device, its boundary sizes, oracles, and arrays of all layouts."""

from __future__ import annotations

import gc
import math
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import gpuprims
from gpuprims.core.determinism import reaches
from gpuprims.core.geometry import Geometry
from gpuprims.core.kernel_spec import DOUBLES, KernelSpec, value_words
from gpuprims.core.registry import REGISTRY
from gpuprims.core.traits import CallTraits
from gpuprims.core.variant import Variant
from gpuprims.errors import NoVariantError
from gpuprims.expressions.expr import COMPUTABLE
from gpuprims.expressions.narrow import STORAGE
from gpuprims.primitives import near
from gpuprims.primitives.fold_variants import ScanVariant
from gpuprims.primitives.histogram.traits import HistogramTraits
from gpuprims.primitives.stencil.traits import Neighbourhood, StencilTraits

# The devices to which GPUPRIMS_TEST_DEVICES restricts a run.
ASKED = tuple(spec.strip() for spec in os.environ.get("GPUPRIMS_TEST_DEVICES", "").split(",") if spec.strip())
DTYPES = [dtype.name for dtype in COMPUTABLE if dtype.kind != "c"]
STORED = [np.dtype(getattr(ml_dtypes, name)) for name in STORAGE]
COMPLEX = [dtype.name for dtype in COMPUTABLE if dtype.kind == "c"]
INTEGERS = [name for name in DTYPES if np.dtype(name).kind in "iu"]
FLOATS = [name for name in DTYPES if np.dtype(name).kind == "f"]

# The affine maps x -> a*x + b under composition: associative, with an identity, and not commutative.
AFFINE = gpuprims.Op(lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1]), identity=(1, 0), name="affine")

# Calls that variants take: a reduction to one output, a scan of many columns or rows,
_EASY = CallTraits((np.dtype(np.float32),), 1)
_COLUMNS = CallTraits((np.dtype(np.float32),), 1000, outputs=2**20, side_by_side=True)
_ROWS = CallTraits((np.dtype(np.float32),), 300, 4096)
# an argmax,
_PICKING = CallTraits((np.dtype(np.float32), np.dtype(np.int64)), 1, value_bytes=12, picks=True)
# a long array,
SHORT_ROWS, LONG_ROW = CallTraits((np.dtype(np.uint32),), 100, 9), CallTraits((np.dtype(np.uint32),), 2**20)
FLAT = CallTraits((np.dtype(np.float32),), 5000)
ROWS = CallTraits((np.dtype(np.float32),), 1, 1, side_by_side=True)
ROWS_OF_BYTES = CallTraits((np.dtype(np.float32), np.dtype(np.int8)), 1, 1, side_by_side=True)
COUNTED = HistogramTraits((np.dtype(np.float32),), 5000)
BYTES = HistogramTraits((np.dtype(np.uint8),), 5000)
GRIDS = tuple(
    HistogramTraits((np.dtype(np.float32),), 5000, bins=2**k, arrays=2, axes=2, value_bytes=4) for k in (14, 16, 18)
)
MANY_BINS = HistogramTraits((np.dtype(np.float32),), 5000, value_bytes=4, bins=2**17)
# and a stencil of three rows and columns.
AROUND = StencilTraits((np.dtype(np.float32),) * 3, 5000, neighbourhood=Neighbourhood(True, False, False, 3, 2, 9))

# Larger sizes are for the tests of large arrays: here the host compares each element.
_MOST_SCANNED = 2_500_000


@dataclass(frozen=True)
class Kernel:
    """One variant of a primitive on one device."""

    device: gpuprims.Device
    variant: Variant

    def map(self, function: Any, *arrays: Any, **keywords: Any) -> Any:
        return gpuprims.map(function, *arrays, device=self.device, variant=self.variant.name, **keywords)

    def reduce(self, *arrays: Any, **keywords: Any) -> Any:
        try:
            return gpuprims.reduce(*arrays, device=self.device, variant=self.variant.name, **keywords)
        except NoVariantError as error:
            if not self.variant.accumulates and not self.picks:  # these two kinds take few operators
                raise
            pytest.skip(str(error))

    @property
    def picks(self) -> bool:
        """Return whether the variant only takes operators that pick a value."""
        return self.variant.refuse(self.device.capabilities, _EASY) is not None

    def scan(self, *arrays: Any, **keywords: Any) -> Any:
        """Scan by this variant; skip the test if the variant refuses the call."""
        try:
            return gpuprims.scan(*arrays, device=self.device, variant=self.variant.name, **keywords)
        except NoVariantError as error:
            pytest.skip(str(error))

    @property
    def by_columns(self) -> bool:
        """Return whether the variant scans nothing but columns on GPUs."""
        return self.variant.name in ("columns", "column_runs", "each")

    def need(self, *dtypes: Any) -> None:
        need(self.device, *dtypes)

    def scanned_tile(self, size: int, *dtypes: Any) -> int:
        """Return the tile of a scan of so many elements, for values with these components."""
        words = value_words([np.dtype(dtype) for dtype in dtypes])
        return ScanVariant.of(self.variant).fitted(words, size, self.device.capabilities).tile

    def scan_sizes(self, *dtypes: Any) -> list[int]:
        """Return sizes around one tile, several tiles, and each change of the tile or the number of launches.

        Parameters
        ----------
        *dtypes : dtype
            The components of the values that are folded.
        """
        variant, block = self.variant, self.variant.block
        if variant.tile > 2**40:  # the reference has no tiles
            return [1, 2, 3, 4, 5, 7, 8, 9, 1000]
        sizes = {1, 2, block - 1, block, block + 1}
        if not getattr(variant, "word_items", False):
            tile, most = variant.tile, 300_000
            sizes |= {tile - 1, tile, tile + 1, 3 * tile + 3, tile**2 - 1, tile**2, tile**2 + 1, self.striding_size}
            return sorted(size for size in sizes if 0 < size <= max(most, 3 * tile + 3))
        items = 1
        while items <= variant.items:
            # From this size on, work-items take so many elements, if values are small enough.
            first = 1 + block * (items // 2) * self.device.capabilities.compute_units
            tile = self.scanned_tile(first, *dtypes)
            whole = -(-first // tile) * tile
            sizes |= {first - 1, first, whole - 1, whole, whole + 1, whole + 3 * tile + 3}
            items *= 2
        return sorted(size for size in sizes if 0 < size <= _MOST_SCANNED)

    @property
    def several_scanned(self) -> int:
        """Return a size at which a scan takes several tiles, launches or groups; the last tile is not full."""
        if self.variant.tile > 2**40:
            return 1003
        if not getattr(self.variant, "word_items", False):
            return min(3 * self.variant.tile + 3, 50_001)
        return 5 * self.variant.block * self.device.capabilities.compute_units + 7

    @property
    def boundary_sizes(self) -> list[int]:
        """Return sizes around a block, a tile, several tiles, and the size from which groups take several tiles."""
        block, tile = self.variant.block, self.variant.tile
        if tile > 2**40:  # the reference has no tiles
            return [1, 2, 3, 4, 5, 7, 8, 9, 1000]
        near = [1, 2, block - 1, block, block + 1, tile - 1, tile, tile + 1, 3 * tile + 3]
        return sorted({size for size in (*near, self.striding_size) if size > 0})

    @property
    def striding_size(self) -> int:
        """Return a size at which each group takes more than one tile, if the variant's groups can."""
        per_unit = self.variant.groups_per_unit
        if per_unit is None or self.variant.tile > 2**40:
            return 5 * min(self.variant.tile, 10_000) + 7
        return per_unit * self.device.capabilities.compute_units * self.variant.tile + 7


def need(device: gpuprims.Device, *dtypes: Any) -> None:
    """Skip the test if the device does not compute in these dtypes."""
    if any(np.dtype(dtype) in DOUBLES for dtype in dtypes) and not device.capabilities.fp64:
        pytest.skip(f"{device.capabilities.name} does not compute in float64")


def able_variants(device: gpuprims.Device, primitive: str, *calls: CallTraits) -> list[Variant]:
    """Return the variants of a primitive that take one of these calls on a device.

    Variants whose groups wait for each other are among them even if a trial would find that the device's groups cannot
    wait: the list of tests must not depend on trials. Variants for higher levels of
    determinism have tests of their own.
    """
    variants = [one for one in REGISTRY.variants(primitive, device.backend) if not reaches(one.level, "device")]
    some = calls or (_EASY, *{"scan": (_COLUMNS, _ROWS), "reduce": (_PICKING,)}.get(primitive, ()))
    able = replace(device.capabilities, tries_progress=lambda: True)
    return [v for v in variants if any(v.refuse(able, call) is None for call in some)]


def is_guest(kind: str, name: str) -> bool:
    """Return whether a kernel is meant for GPUs and runs on a CPU that the run does not name."""
    return kind == "cpu" and not name.startswith("cpu_") and not ASKED


def bits(result: Any) -> tuple[bytes, ...]:
    """Return the bytes of a result, or of each of several."""
    return tuple(np.asarray(one).tobytes() for one in (result if isinstance(result, tuple) else (result,)))


def as_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile OpenCL kernels without optimisation.

    A CPU's compiler optimises unrolled loops at length: scan/lookback for compact takes 2.4 s with optimisation and
    0.1 s without (Intel runtime 2026.2, 2026-11-22). The tests compile some 5000 kernels.
    """
    monkeypatch.setenv("PYOPENCL_BUILD_OPTIONS", "-cl-opt-disable")


def random_values(rng: np.random.Generator, dtype: Any, shape: int | tuple[int, ...]) -> np.ndarray:
    """Return integers of the full range, bools, or floats and complex numbers around 1."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if dtype.kind == "f":
        return rng.standard_normal(shape).astype(dtype)
    if dtype.kind == "c":
        return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, size=shape, dtype=dtype, endpoint=True)


def assert_equal(got: Any, expected: Any) -> None:
    """Compare with NumPy: same dtype, same shape, same values, NaN in the same places."""
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.dtype == expected.dtype
    assert got.shape == expected.shape
    np.testing.assert_array_equal(got, expected)


def affine_fold(slopes: np.ndarray, offsets: np.ndarray) -> tuple[np.int64, np.int64]:
    """Compose int64 affine maps in order; integers wrap, so each association gives the same result."""
    a, b = slopes.astype(np.int64), offsets.astype(np.int64)
    while a.size > 1:
        odd = a.size % 2
        a, b = np.append(a, np.ones(odd, np.int64)), np.append(b, np.zeros(odd, np.int64))
        a, b = a[::2] * a[1::2], b[::2] * a[1::2] + b[1::2]
    return a[0], b[0]


def affine_scan(slopes: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the running composition of int64 affine maps: within the rows of a square, then row after row."""
    size, width = slopes.size, math.isqrt(max(slopes.size - 1, 0)) + 1
    a, b = np.ones((width, width), np.int64), np.zeros((width, width), np.int64)
    a.ravel()[:size], b.ravel()[:size] = slopes, offsets
    for k in range(1, width):
        a[:, k], b[:, k] = a[:, k - 1] * a[:, k], b[:, k - 1] * a[:, k] + b[:, k]
    for k in range(1, width):
        a[k], b[k] = a[k - 1, -1] * a[k], b[k - 1, -1] * a[k] + b[k]
    return a.ravel()[:size], b.ravel()[:size]


def need_cpu(device: gpuprims.Device) -> None:
    """Skip a test of kernels for CPUs on other devices, and on the reference."""
    if device.backend == "reference" or device.capabilities.kind != "cpu":
        pytest.skip("is about CPUs")


def on_device(device: gpuprims.Device, array: np.ndarray) -> Any:
    """Copy a host array into an array of the device's own class, in turn with other threads."""
    return device.driver.asarray(np.array(array, order="C"))


def on_host(device: gpuprims.Device, array: Any) -> np.ndarray:
    """Copy an array of the device's own class to the host."""
    return np.array(device.driver.to_host(array))


def with_gaps(array: np.ndarray) -> np.ndarray:
    """Return a view of the same elements that lie apart in memory."""
    wide = np.full((*array.shape, 2), 77, array.dtype)
    wide[..., 0] = array
    return wide[..., 0]


def placer(device: gpuprims.Device, where: str) -> Callable[[np.ndarray], Any]:
    """Return what puts host arrays on the "device", or on the "host" as they are or with "gaps"."""
    places: dict[str, Callable[[np.ndarray], Any]] = {"host": lambda array: array, "gaps": with_gaps}
    return partial(on_device, device) if where == "device" else places[where]


@contextmanager
def two_groups(device: gpuprims.Device, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Start at most two groups, so that each takes many tasks, as in calls too large to test.

    Calls that were planned before keep their groups, and fail the check at the end.
    """
    poison(device)  # else an unwritten result may hold an earlier call's values
    asked = []

    def limited(variant: Variant, spec: KernelSpec) -> Any:
        def prepare(groups: int, *rest: Any, **how: Any) -> Any:
            asked.append(groups)
            return kernel.prepare(min(groups, 2), *rest, **how)

        kernel = build(variant, spec)
        return SimpleNamespace(prepare=prepare)

    build = device.kernel
    with monkeypatch.context() as patched:
        patched.setattr(device, "kernel", limited)
        patched.setattr(near, "_NEAR_BYTES", 0)  # else a CPU starts one group for so few bytes
        yield
    assert max(asked, default=0) > 2, "the call was planned before, or is too small to need three groups"


def poison(device: gpuprims.Device) -> None:
    """Fill memory that the next allocations will get with ones in every bit: NaN as floats, -1 as integers."""
    if "OCLGRIND_LOG" in os.environ:  # it reports reads of unwritten memory, and memory is not used twice
        return
    held = []
    # Pools keep blocks of like size together: sixteen sizes for each power of two, as pyopencl's does.
    for size in (2**power + step * 2**power // 16 for power in range(2, 20) for step in range(16)):
        dirty = np.full(size, 255, np.uint8)
        held += [dirty, on_device(device, dirty)]


def release_pools() -> None:
    """Return the pools' freed memory to the devices."""
    gc.collect()
    if "cupy" in sys.modules:
        sys.modules["cupy"].get_default_memory_pool().free_all_blocks()
    if "gpuprims.backends.opencl.discovery" in sys.modules:
        for driver in sys.modules["gpuprims.backends.opencl.discovery"].drivers():
            driver.arrays.pool.free_held()


def _every_third(rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((50, 90))[::2, 1::3]


def _packed_field(rng: np.random.Generator) -> np.ndarray:
    record = np.zeros((40, 30), np.dtype([("tag", "u1"), ("value", "f8")]))
    record["value"] = rng.standard_normal((40, 30))
    assert not record["value"].flags.aligned
    return record["value"]


def _read_only(rng: np.random.Generator) -> np.ndarray:
    array = rng.standard_normal((40, 30))
    array.flags.writeable = False
    return array


# Two-dimensional arrays in every layout.
LAYOUTS: dict[str, Callable[[np.random.Generator], np.ndarray]] = {
    "strided": _every_third,
    "sparse": lambda rng: rng.standard_normal((3, 9000, 2))[:, ::4500, 1],
    "reversed": lambda rng: rng.standard_normal((40, 30))[::-1, ::-1],
    "reversed rows": lambda rng: rng.standard_normal((40, 30))[::-1],
    "reversed columns, every second": lambda rng: rng.standard_normal((40, 30))[:, ::-2],
    "transposed": lambda rng: rng.standard_normal((40, 30)).T,
    "Fortran": lambda rng: np.asfortranarray(rng.standard_normal((40, 30))),
    "one row for all": lambda rng: np.broadcast_to(rng.standard_normal(30), (40, 30)),
    "one column for all": lambda rng: np.broadcast_to(rng.standard_normal((40, 1)), (40, 30)),
    "one element for all": lambda rng: np.broadcast_to(rng.standard_normal(()), (40, 30)),
    "read-only": _read_only,
    "byte-swapped": lambda rng: rng.standard_normal((40, 30)).astype(">f8"),
    "byte-swapped and strided": lambda rng: rng.standard_normal((40, 30)).astype(">f8")[::2, ::-1],
    "a field of packed records": _packed_field,
    "the middle of another": lambda rng: rng.standard_normal(3000)[701:1901].reshape(40, 30),
    "overlapping windows": lambda rng: sliding_window_view(rng.standard_normal(69), 30),
}


def extreme_shapes(variant: Variant) -> list[Geometry]:
    """Return the smallest and the largest geometries that a variant may be tuned to, by each number."""
    every = variant.tunable.geometries if variant.tunable else ()
    keys: list[Callable[[Geometry], Any]] = [
        lambda shape: shape[:2],
        lambda shape: (shape.items, shape.block),
        lambda shape: (shape.groups_per_unit or 0, shape.items),
    ]
    found = [pick(every, key=key) for pick in (min, max) for key in keys] if every else []
    return sorted(set(found))


def in_order(device: gpuprims.Device, x: np.ndarray) -> Any:
    """Copy an array to a device so that its axes lie in the same order in memory."""
    axes = sorted(range(x.ndim), key=lambda axis: -abs(x.strides[axis]))
    stored = device.asarray(np.ascontiguousarray(x.transpose(axes)))
    return stored.transpose(tuple(int(axis) for axis in np.argsort(axes))) if x.ndim > 1 else stored
