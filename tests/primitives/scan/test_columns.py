"""scan along an outer axis by strips of columns, several groups a strip."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from idle_arrays import resident
from kernel_cases import AFFINE, Kernel, assert_equal, on_device, on_host, random_values
from queue_cases import asked
from scan_cases import affine_pair, exclusively

import gpuprims
from gpuprims.core.geometry import Geometry
from gpuprims.core.layout import contiguous, plan_layout
from gpuprims.core.registry import REGISTRY
from gpuprims.primitives.scan_tiles import ScanTraits
from gpuprims.primitives.strips import neighbouring, runs_of, strips_of

SHAPES = [
    *(((9001, 2), 0), ((20_000, 3), 0), ((5000, 17), 0), ((3000, 33), 0), ((2049, 256), 0), ((301, 2500), 0)),
    *(((5, 700, 3), 1), ((3, 513, 65), 1), ((2, 40, 3, 5), 1), ((4, 6, 1000), 1), ((1, 3000), 0)),
]  # fmt: skip


@pytest.fixture
def kernel(scan_kernel: Kernel) -> Kernel:
    """The variants that scan strips of columns, on each device."""
    if scan_kernel.variant.name not in ("columns", "column_runs"):
        pytest.skip("another variant")
    return scan_kernel


# On devices --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("shape", "axis"), SHAPES)
@pytest.mark.parametrize("inclusive", [True, False])
def test_columns_are_scanned_in_order(
    kernel: Kernel, rng: np.random.Generator, shape: tuple[int, ...], axis: int, *, inclusive: bool
) -> None:
    slopes, offsets = affine_pair(rng, shape)
    expected = [slopes.copy(), offsets.copy()]
    a, b = (np.moveaxis(one, axis, 0) for one in expected)
    for k in range(1, shape[axis]):
        b[k] += b[k - 1] * a[k]
        a[k] *= a[k - 1]
    scanned = kernel.scan(slopes, offsets, op=AFFINE, axis=axis, inclusive=inclusive)
    for got, one, nothing in zip(scanned, expected, (1, 0), strict=True):
        assert_equal(got, one if inclusive else exclusively(one, nothing, axis))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_sums_of_floats_have_the_same_bits_in_each_run(kernel: Kernel, rng: np.random.Generator, dtype: str) -> None:
    kernel.need(dtype)
    for shape in ((30_000, 3), (3000, 100)):
        x = on_device(kernel.device, random_values(rng, dtype, shape))
        first, *others = (on_host(kernel.device, kernel.scan(x, axis=0)) for _ in range(4))
        for other in others:
            assert other.tobytes() == first.tobytes()
        wide = np.cumsum(on_host(kernel.device, x), axis=0, dtype=np.float64)
        assert np.abs(first - wide).max() < 2000 * np.finfo(dtype).eps * np.abs(wide).max()


def test_a_scan_of_columns_in_place(kernel: Kernel, rng: np.random.Generator) -> None:
    for shape in ((30_000, 3), (3000, 100)):
        x = random_values(rng, np.int64, shape)
        place = on_device(kernel.device, x)
        kernel.scan(place, axis=0, out=place)
        assert_equal(on_host(kernel.device, place), np.cumsum(x, axis=0))


def test_columns_with_strides(kernel: Kernel, rng: np.random.Generator) -> None:
    x = random_values(rng, np.int32, (900, 80))
    for view in (x[:, ::2], x[:, ::-1], x[::-1, 3:], x[::3], np.broadcast_to(x[:, :1], x.shape)):
        assert_equal(kernel.scan(view, axis=0), np.cumsum(view, axis=0))


# On the host -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("warp", [0, 16, 32, 64])
def test_strips_cover_every_element_once(rng: np.random.Generator, warp: int) -> None:
    (variant,) = (one for one in REGISTRY.variants("scan", "opencl") if one.name == "columns")
    able: Any = dataclasses.replace(
        gpuprims.Device("reference").capabilities, subgroup_size=warp, shuffles=bool(warp), compute_units=7
    )
    for _ in range(300):
        outputs, size = (int(2 ** rng.uniform(0, most)) for most in (12, 20))
        geometry = Geometry(int(2 ** rng.integers(5, 10)), int(2 ** rng.integers(0, 6)), int(rng.integers(1, 4)))
        batches = int(rng.choice([1, 1, 3]))
        words, bytes_read = (int(rng.choice([1, 2, 4])) for _ in range(2))
        facts = {"words": words, "element_bytes": bytes_read, "sectors": bool(rng.integers(2))}
        call = ScanTraits((np.dtype(np.int8),), size, batches * outputs, neighbours=outputs, **facts)
        fitted: Any = dataclasses.replace(variant, geometry=geometry)
        strips = strips_of(fitted, able, call)
        lanes = warp if warp and geometry.block % warp == 0 and geometry.block <= warp**2 else 1
        warps = geometry.block // lanes
        assert 1 <= strips.width <= lanes
        assert warps % strips.across == 0
        waiting = geometry.groups_per_unit if strips.parts > 1 else strips.variant.groups_per_unit
        assert strips.groups <= waiting * able.compute_units
        assert strips.groups % strips.parts == 0
        rows = warps // strips.across * (lanes // strips.width) * strips.variant.items
        columns = strips.across * strips.width
        assert strips.tiles == -(-size // rows) * -(-batches * outputs // columns)
        assert strips.parts <= -(-size // rows)
        assert strips.statuses == (strips.tiles * columns if strips.parts > 1 else 0)


@pytest.mark.parametrize("warp", [0, 16, 32, 64])
def test_runs_cover_every_element_once(rng: np.random.Generator, warp: int) -> None:
    able: Any = dataclasses.replace(
        gpuprims.Device("reference").capabilities, subgroup_size=warp, shuffles=bool(warp), compute_units=7
    )
    (variant,) = (one for one in REGISTRY.variants("scan", "opencl") if one.name == "column_runs")
    for _ in range(300):
        outputs, size = (int(2 ** rng.uniform(0, most)) for most in (14, 20))
        element, value = (int(2 ** rng.integers(0, 5)) for _ in range(2))
        facts = {"size": size, "outputs": outputs, "neighbours": int(rng.integers(1, outputs + 1))}
        call = ScanTraits((np.dtype(np.int8),), value_bytes=value, element_bytes=element, **facts)
        geometry = Geometry(int(2 ** rng.integers(5, 11)), int(2 ** rng.integers(0, 5)), int(rng.integers(1, 4)))
        runs = runs_of(dataclasses.replace(variant, geometry=geometry), able, call)  # type: ignore[arg-type]  # a scan's
        block = runs.variant.block
        lanes = warp if warp and block % warp == 0 and block <= warp**2 else 1
        down = block // lanes // runs.across
        assert 1 <= runs.width <= min(lanes, call.neighbours)
        assert block // lanes % runs.across == 0
        assert runs.rows * runs.width <= lanes
        assert runs.strips == -(-outputs // (runs.width * runs.across))
        assert runs.run % (runs.rows * runs.folded) == 0
        assert runs.folded % runs.variant.items == 0
        assert (runs.parts - 1) * down * runs.run < size <= runs.parts * down * runs.run
        assert runs.statuses == (runs.groups * runs.width * runs.across if runs.parts > 1 else 0)


@pytest.mark.parametrize(
    ("shape", "axis", "dtype", "expected"),
    [
        ((2**21, 16, 2), 0, np.int8, "column_runs"),
        ((2**18, 157), 0, np.int8, "columns"),
        ((11, 1975, 73, 50), 2, np.uint8, "column_runs"),
        ((2**19, 256), 0, np.float32, "columns"),
        ((2**23, 3), 0, np.float32, "columns"),
        ((65_536, 1000), 0, np.uint8, "columns"),
        ((4096, 4096), 0, np.int32, "columns"),
    ],
)
def test_narrow_columns_are_read_twice_rather_than_many_statuses(
    shape: tuple[int, ...], axis: int, dtype: type, expected: str
) -> None:
    able = dataclasses.replace(
        gpuprims.Device("reference").capabilities, kind="gpu", subgroup_size=32, shuffles=True, compute_units=132,
        group_limit=1024, local_memory=2**15, fp64=True, int64_atomics=True, tries_progress=lambda: True,
    )  # fmt: skip
    values = np.dtype(np.int64 if np.dtype(dtype).kind in "iu" else dtype)
    facts = {"value_bytes": values.itemsize, "words": values.itemsize // 4, "element_bytes": np.dtype(dtype).itemsize}
    kept = [n for k, n in enumerate(shape) if k != axis]
    neighbours = int(np.prod(shape[axis + 1 :]))
    call = ScanTraits((values,), shape[axis], int(np.prod(kept)), side_by_side=True, neighbours=neighbours, **facts)
    first = [one.name for one in sorted(REGISTRY.variants("scan", "cuda"), key=lambda one: -one.rank)
             if one.refuse(able, call) is None]  # fmt: skip
    assert first[0] == expected


@pytest.mark.parametrize(
    ("shape", "axis", "expected"),
    [((9, 4), 0, True), ((9, 4), 1, False), ((3, 9, 4), 1, True), ((3, 9, 1), 1, False), ((9,), 0, False)],
)
def test_columns_lie_nearer_than_rows(shape: tuple[int, ...], axis: int, *, expected: bool) -> None:
    form = contiguous(np.dtype(np.float32), shape, 16)
    assert neighbouring(plan_layout((form, form), shape, (axis,)), 1) is expected


@pytest.mark.parametrize(
    ("dtype", "op", "shape", "name"),
    [
        ("complex128", "sum", (257, 132 * 32), "each"),
        ("complex128", "sum", (257, 132 * 32 - 1), "columns"),
        ("float32", "argmax", (5, 1000, 1024), "each"),
        ("complex64", "sum", (300, 4 * 132 * 32), "each"),
        ("complex64", "sum", (300, 4 * 132 * 32 - 1), "columns"),
        ("float16", "sum", (300, 4 * 132 * 32), "each"),
        ("float16", "sum", (300, 4 * 132 * 32 - 1), "column_runs"),
        ("float16", "sum", (300, 2047), "columns"),
        ("float16", "sum", (1 << 13, 2048), "column_runs"),
        ("float16", "sum", ((1 << 13) + 1, 2048), "columns"),
        ("int8", "sum", (300, 2048), "columns"),
        ("float16", "sum", (20, 128, 500), "column_runs"),
        ("float16", "sum", (20, 128, 499), "columns"),
        ("complex64", "sum", (300, 1 << 16), "columns"),
        ("complex64", "sum", (64, 16 * 132 * 32), "each"),
        ("float64", "sum", (64, 16 * 132 * 32), "each"),
        ("float64", "sum", (65, 16 * 132 * 32), "columns"),
        ("float32", "sum", (64, 16 * 132 * 32 - 1), "columns"),
    ],
)
def test_single_work_items_take_many_columns(dtype: str, op: str, shape: tuple[int, ...], name: str) -> None:
    variant, _ = asked(resident(*shape, dtype=dtype), op=op, axis=len(shape) - 2)
    assert variant.name == name


@pytest.mark.parametrize(
    ("shape", "dtype", "items"),
    [
        *[((size, 5000), "f4", items) for size, items in ((1, 1), (3, 4), (16, 16), (32, 16), (33, 32))],
        ((33, 5000), "c16", 16),
        ((33, (1 << 16) - 1), "f4", 32),
        ((33, 1 << 16), "f4", 16),
        ((33, 1 << 16), "c8", 32),
    ],
)
def test_work_items_load_more_of_longer_columns(shape: tuple[int, int], dtype: str, items: int) -> None:
    variant, _ = asked(resident(*shape, dtype=dtype), axis=0, variant="each")
    assert variant.items == items
