"""Kernels that read vectors, on arrays of the device: those are aligned, host arrays never are.

Every width, at every number of elements that is left behind the last whole vector, of a tile and of several.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_cases import ASKED, Kernel, as_it_stands, assert_equal, on_device, on_host, poison, random_values

import gpuprims
from gpuprims.core.kernel_spec import KernelSpec
from gpuprims.core.registry import REGISTRY
from gpuprims.core.variant import Variant
from gpuprims.errors import NoVariantError

# Elements in 16 bytes, and an integer dtype of each size: sums of integers are exact in any order.
WIDTHS = {16: "int8", 8: "int16", 4: "int32", 2: "int64"}
# Variants that read vectors of rows and columns of matrices.
MATRICES = ("reduce", "scan")
# Groups take one output after the other, so thousands take seconds on a CPU.
NOT_FOR_ROWS = frozenset({"tree", "atomic", "round_robin"})


def watched(device: gpuprims.Device, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Note the width of each kernel that a device is asked for."""
    seen: list[int] = []

    def noting(variant: Variant, spec: KernelSpec) -> Any:
        seen.append(spec.vector)
        return kernel(variant, spec)

    kernel = device.kernel
    monkeypatch.setattr(device, "kernel", noting)
    return seen


def sizes(variant: Variant, tile: int, width: int) -> list[int]:
    """Return sizes with 1 and most elements behind the last vector, or none, below a tile, above one, above several."""
    tile = min(tile, 10_000)
    starts = (0, 3 * width, tile, 3 * tile) if variant.vectors else (3 * tile,)
    return sorted({start + left for start in starts for left in {1, width - 1}} | {tile})


def assert_read_in_vectors(kernel: Kernel, seen: list[int], least: int) -> None:
    """Fail where a test of vectors has met none."""
    assert not kernel.variant.vectors or max(seen) >= least, f"a kernel with vectors of {least}; got {seen}"


@pytest.mark.whole
@pytest.mark.parametrize("width", WIDTHS)
def test_map(map_kernel: Kernel, rng: np.random.Generator, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = watched(map_kernel.device, monkeypatch)
    for size in sizes(map_kernel.variant, map_kernel.variant.tile, width):
        x = random_values(rng, WIDTHS[width], size)
        poison(map_kernel.device) if size < 9 else None
        got = map_kernel.map("x ^ 21", on_device(map_kernel.device, x))
        assert_equal(on_host(map_kernel.device, got), x ^ 21)
    assert_read_in_vectors(map_kernel, seen, width)


@pytest.mark.whole
@pytest.mark.parametrize("width", WIDTHS)
def test_reduce(reduce_kernel: Kernel, rng: np.random.Generator, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if reduce_kernel.picks:
        pytest.skip("picks a value; see reduce/test_best.py")
    seen = watched(reduce_kernel.device, monkeypatch)
    for size in {*sizes(reduce_kernel.variant, reduce_kernel.variant.tile, width), reduce_kernel.striding_size | 1}:
        x = random_values(rng, WIDTHS[width], size)
        got = reduce_kernel.reduce(on_device(reduce_kernel.device, x), dtype=np.int64)
        assert_equal(on_host(reduce_kernel.device, got), x.sum(dtype=np.int64))
    assert_read_in_vectors(reduce_kernel, seen, width)


@pytest.mark.whole
@pytest.mark.parametrize("width", WIDTHS)
def test_scan(scan_kernel: Kernel, rng: np.random.Generator, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    dtype = np.dtype(WIDTHS[width])
    seen = watched(scan_kernel.device, monkeypatch)
    for size in (
        *sizes(scan_kernel.variant, scan_kernel.scanned_tile(1000, dtype), width),
        scan_kernel.several_scanned,
    ):
        x = random_values(rng, dtype, size)
        poison(scan_kernel.device) if size < 9 else None
        got = scan_kernel.scan(on_device(scan_kernel.device, x), dtype=dtype)
        assert_equal(on_host(scan_kernel.device, got), np.cumsum(x, dtype=dtype))
    assert_read_in_vectors(scan_kernel, seen, 2)  # short scans give each work-item fewer elements than fit a vector


@pytest.mark.whole
@pytest.mark.parametrize("primitive", MATRICES)
@pytest.mark.parametrize("width", WIDTHS)
def test_rows(
    device: gpuprims.Device, rng: np.random.Generator, primitive: str, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Rows begin at whole vectors and end inside one; there are enough of them for kernels for many outputs.
    variants = [variant for variant in REGISTRY.variants(primitive, device.backend) if variant.vectors]
    if device.capabilities.kind == "cpu" and not ASKED:
        as_it_stands(monkeypatch)
    seen, ran = watched(device, monkeypatch), set()
    for rows, n in ((2100, width + 1), (2100, 5 * width - 1), (5, 600 * width + 1)):
        whole = random_values(rng, WIDTHS[width], (rows, -(-n // width) * width + width))
        x, there = whole[:, :n], on_device(device, whole)[:, :n]
        for name in sorted({variant.name for variant in variants} - NOT_FOR_ROWS):
            try:
                got, expected = by_rows(primitive, device, name, there, x)
            except NoVariantError:
                continue
            assert_equal(got, expected)
            ran.add(name)
    assert ran or not variants
    assert not variants or max(seen) >= 2


def by_rows(primitive: str, device: gpuprims.Device, variant: str, there: Any, x: np.ndarray) -> tuple[Any, Any]:
    """Return the sums of rows, or their running sums, and NumPy's."""
    if primitive == "reduce":
        got = gpuprims.reduce(there, axis=1, dtype=np.int64, variant=variant, device=device)
        return on_host(device, got), x.sum(axis=1, dtype=np.int64)
    out = on_device(device, np.zeros((x.shape[0], there.strides[0] // x.itemsize), x.dtype))
    gpuprims.scan(there, axis=1, dtype=x.dtype, out=out[:, : x.shape[1]], variant=variant, device=device)
    left = on_host(device, out)
    assert not left[:, x.shape[1] :].any()
    return left[:, : x.shape[1]], np.cumsum(x, axis=1, dtype=x.dtype)


@pytest.mark.parametrize("width", WIDTHS)
def test_columns(device: gpuprims.Device, rng: np.random.Generator, width: int) -> None:
    for shape in ((37, 2 * width + 1), (5 * width - 1, 300)):
        x = random_values(rng, WIDTHS[width], shape)
        got = gpuprims.reduce(on_device(device, x), axis=0, dtype=np.int64, device=device)
        assert_equal(on_host(device, got), x.sum(axis=0, dtype=np.int64))


@pytest.mark.parametrize("width", WIDTHS)
def test_compact(flat_scan_kernel: Kernel, rng: np.random.Generator, width: int) -> None:
    device, variant = flat_scan_kernel.device, flat_scan_kernel.variant
    for size in sizes(variant, variant.tile, width):
        x, mask = random_values(rng, WIDTHS[width], size), rng.random(size) < 0.6
        mask[-1] = True
        got = gpuprims.compact(on_device(device, x), on_device(device, mask), device=device, variant=variant.name)
        assert_equal(on_host(device, got), x[mask])


@pytest.mark.parametrize("width", WIDTHS)
def test_segments(segments_kernel: Kernel, rng: np.random.Generator, width: int) -> None:
    device, variant = segments_kernel.device, segments_kernel.variant
    for size in sizes(variant, min(variant.tile, 4096), width):
        x = random_values(rng, WIDTHS[width], size)
        offsets = np.concatenate([[0], np.sort(rng.integers(0, size + 1, size // 9 + 1)), [size]])
        got = segments_kernel.reduce(on_device(device, x), segments=on_device(device, offsets), dtype=np.int64)
        running = np.concatenate([[0], np.cumsum(x, dtype=np.int64)])
        assert_equal(on_host(device, got), np.diff(running[offsets]))


@pytest.mark.parametrize("width", WIDTHS)
def test_histogram(histogram_kernel: Kernel, rng: np.random.Generator, width: int) -> None:
    device, variant = histogram_kernel.device, histogram_kernel.variant
    for size in sizes(variant, variant.tile, width):
        x = rng.integers(0, 100, size).astype(WIDTHS[width])
        try:
            got, _ = gpuprims.histogram(on_device(device, x), 13, (0, 77), device=device, variant=variant.name)
        except NoVariantError as error:
            pytest.skip(str(error))
        assert_equal(on_host(device, got), np.histogram(x, 13, (0, 77))[0])


@pytest.mark.parametrize("width", WIDTHS)
def test_stencil(stencil_kernel: Kernel, rng: np.random.Generator, width: int) -> None:
    device, variant = stencil_kernel.device, stencil_kernel.variant
    for columns in {*(4 * width + left for left in (0, 1, width - 1)), width - 1, 300 + width + 1}:
        x = rng.integers(0, 30, (19, columns)).astype(WIDTHS[width])
        try:
            got = gpuprims.stencil(on_device(device, x), [1, -1, 2], device=device, variant=variant.name)
        except NoVariantError as error:
            pytest.skip(str(error))
        beside = np.pad(x, ((0, 0), (1, 1)), mode="symmetric")
        assert_equal(on_host(device, got), beside[:, :-2] - beside[:, 1:-1] + 2 * beside[:, 2:])
