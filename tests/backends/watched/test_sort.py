"""sort under Oclgrind and compute-sanitizer."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_cases import Kernel, random_values
from watched_kernels import each, of

import gpuprims

pytestmark = pytest.mark.oclgrind


@each(of("sort"))
def test_keys_and_indices(kernel: Kernel, rng: np.random.Generator) -> None:
    how = {"device": kernel.device, "variant": kernel.variant.name}
    sizes = {"onesweep": (16_385,), "resident": (700, 9_001), "buckets": (), "counted": (), "lanes": (1, 7)}
    for size in sizes.get(kernel.variant.name, (1, 60, 700)):
        x = random_values(rng, np.int16, size)
        assert np.array_equal(gpuprims.sort(x, **how), np.sort(x))
        assert np.array_equal(gpuprims.argsort(x, **how), np.argsort(x, kind="stable"))


@each([variant for variant in of("sort") if variant.name == "rows"])
def test_segments(kernel: Kernel, rng: np.random.Generator) -> None:
    x, offsets = random_values(rng, np.int16, 700), [0, 0, 1, 90, 600, 700]
    parts = np.split(x, offsets[1:-1])
    how = {"device": kernel.device, "variant": "rows", "segments": offsets}
    assert np.array_equal(gpuprims.sort(x, **how), np.concatenate([np.sort(part) for part in parts]))
    places = [begin + np.argsort(part, kind="stable") for begin, part in zip(offsets, parts, strict=False)]
    assert np.array_equal(gpuprims.argsort(x, **how), np.concatenate(places))


@each([variant for variant in of("sort") if variant.name == "buckets"])
def test_keys_alone(kernel: Kernel, rng: np.random.Generator) -> None:
    near = np.repeat(np.float32([1, 2, -3]), 240) * rng.uniform(1, 1.001, 720).astype(np.float32)  # several levels
    special = np.where(rng.random(700) < 0.5, np.float32([0.0, -0.0, np.nan, 1])[rng.integers(0, 4, 700)], 2)
    few, wide = rng.integers(0, 3, 700).astype(np.uint8), random_values(rng, np.int64, 700)
    for x in (near, special, few, wide):
        got = gpuprims.sort(x, device=kernel.device, variant="buckets")
        assert got.tobytes() == np.sort(x, kind="stable").tobytes()


@each([variant for variant in of("sort") if variant.name == "cpu_chunks"])
def test_skewed_keys(kernel: Kernel, rng: np.random.Generator) -> None:
    near = np.where(rng.random(900) < 0.01, 2**31, 70_000 + rng.integers(0, 3000, 900)).astype(np.uint32)
    special = np.where(rng.random(900) < 0.3, np.float32([0.0, -0.0, np.nan])[rng.integers(0, 3, 900)], near)
    for x in (near, special.astype(np.float32)):
        order = np.argsort(x, kind="stable")
        how = {"device": kernel.device, "variant": "cpu_chunks"}
        assert gpuprims.sort(x, **how).tobytes() == x[order].tobytes()
        assert np.array_equal(gpuprims.argsort(x, **how), order)


@each([variant for variant in of("sort") if variant.name != "buckets"])
def test_rows_with_values(kernel: Kernel, rng: np.random.Generator) -> None:
    how = {"device": kernel.device, "variant": kernel.variant.name}
    rows = {"onesweep": (2, 17_001), "resident": (1, 9_001), "counted": (1, 130), "lanes": (130, 3)}.get(
        kernel.variant.name, (3, 130)
    )
    keys, values = random_values(rng, np.uint8, rows), random_values(rng, np.float32, rows)
    order = np.argsort(keys, kind="stable")
    got = gpuprims.sort_by_key(keys, values, **how)
    assert np.array_equal(got[1], np.take_along_axis(values, order, 1))


@each([variant for variant in of("sort") if variant.name in ("merge", "cpu_merge")])
def test_orders_by_a_comparison(kernel: Kernel, rng: np.random.Generator) -> None:
    how = {"device": kernel.device, "variant": kernel.variant.name}
    for size in (1, 60, 2100):
        x = rng.integers(-50, 50, size)
        order = np.argsort(abs(x), kind="stable")
        assert np.array_equal(gpuprims.argsort(x, less="abs(a) < abs(b)", **how), order)
        z = x.astype(np.float32) + 1j * rng.standard_normal(size).astype(np.float32)
        got = gpuprims.sort_by_key(z, x, less=lambda a, b: b.real < a.real, **how)
        assert np.array_equal(got[1], x[np.argsort(-x, kind="stable")])
        circle = gpuprims.sort(x, less="(a - b) % 3 == 1", **how)
        assert np.isin(circle, x).all()
