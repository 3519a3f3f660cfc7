"""Folds of few floats in segments, in C: the bits are those of the kernel whose order they follow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from c_cases import functions_of, use
from kernel_cases import need

import gpuprims
from gpuprims.core.launch_plan import LaunchPlan
from gpuprims.core.program_cache import forget_calls
from gpuprims.errors import GpuprimsError
from gpuprims.primitives.segments.by_numpy import SEGMENT_FLOATS

# Segments of a span, of few elements and of more than lanes, of several spans, and without elements.
LENGTHS = (8, 9, 0, 1, 2, 15, 16, 17, 63, 64, 65, 100, 0, 128, 200, 7)
LONG = (1500, 3, 2100, 0, 300)


@pytest.fixture(scope="module")
def module() -> Any:
    """The module in C."""
    return functions_of(SEGMENT_FLOATS)


@pytest.fixture
def host(module: Any, numpy_computes: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[gpuprims.Device]:
    """A device whose launches wake threads, with the module."""
    use(monkeypatch, SEGMENT_FLOATS, module)
    forget_calls()
    for device in gpuprims.devices():
        if getattr(device.driver, "wakes_threads", None) and device.driver.shares_host_memory:
            yield device
            break
    else:
        pytest.skip("launches of the devices here take less time")
    forget_calls()


def offsets_of(lengths: tuple[int, ...], dtype: str = "int64") -> np.ndarray:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(dtype)


def same(found: np.ndarray, expected: np.ndarray) -> None:
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize(("op", "dtype"), [("sum", "float32"), ("prod", "float64")])
def test_floats_in_segments_have_the_bits_of_the_kernel(
    host: gpuprims.Device, rng: np.random.Generator, op: str, dtype: str
) -> None:
    need(host, "float64")
    for lengths in (LENGTHS, LONG, (1,), (0, 0), (600,) * 5):
        size = max(sum(lengths), 1)
        x = (rng.standard_normal(size) * 10.0 ** rng.integers(-4, 4, size)).astype(dtype)
        for one in ((1 + x / 1e7).astype(dtype) if op == "prod" else x, np.full(size, -0.0, dtype)):
            for integers in ("int64", "int32"):
                how: dict[str, Any] = {"op": op, "segments": offsets_of(lengths, integers), "device": host}
                if sum(lengths) == 0:
                    how["segments"][-1] = size
                expected = gpuprims.reduce(one, variant="cpu_runs", **how)
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr(LaunchPlan, "compiled", lambda self: pytest.fail("a kernel was compiled"))
                    for _ in range(2):
                        same(gpuprims.reduce(one, **how), expected)


def test_other_floats_in_segments_run_by_the_kernel(host: gpuprims.Device, rng: np.random.Generator) -> None:
    x, offsets = rng.random(3000, dtype=np.float32), offsets_of((1500, 1500))
    hard = x.copy()
    hard[[7, 2000]] = np.nan, np.inf
    for one in (hard, x[::2].repeat(2)[::-1], np.tile(x, 2)):
        how: dict[str, Any] = {"segments": offsets if one.size == 3000 else offsets_of((3000, 3000)), "device": host}
        np.testing.assert_array_equal(gpuprims.reduce(one, **how), gpuprims.reduce(one, variant="cpu_runs", **how))


@pytest.mark.parametrize("op", ["sum", pytest.param("prod", marks=pytest.mark.whole)])
def test_levels_decide_what_computes(host: gpuprims.Device, rng: np.random.Generator, op: str) -> None:
    """At "order" the kernel adds words of exact sums, in another order than C adds floats."""
    need(host, "float64")
    x = (1 + rng.standard_normal(600) / 7).astype(np.float32)
    if op == "sum":
        x *= np.float32(2.0) ** rng.integers(-40, 40, 600)
        x[250:499] = -x[:249]  # cancels, but for one
    how: dict[str, Any] = {"op": op, "segments": [0, 500, 600]}
    for level in ("order", "device"):
        expected = gpuprims.reduce(x, device="reference", determinism=level, **how)
        same(gpuprims.reduce(x, device=host, determinism=level, **how), expected)


def test_offsets_that_fall_are_refused(host: gpuprims.Device) -> None:
    x = np.ones(10, np.float32)
    for wrong in ([0, 7, 3, 10], [0, 11], [-1, 10]):
        with pytest.raises(GpuprimsError, match="segments="):
            gpuprims.reduce(x, segments=np.array(wrong), device=host)


def test_the_module_takes_nothing_else(module: Any) -> None:
    x, offsets = np.ones(10, np.float32), np.array([0, 10])
    for given in ((x, offsets), (x.astype("f2"), offsets, False), (x[::2], offsets, False), (x, offsets[:0], False)):
        with pytest.raises(TypeError):
            module.fold(*given)
    for wrong in ([0, 7, 3, 10], [0, 11], [-1, 10]):
        with pytest.raises(ValueError, match="offsets"):
            module.fold(x, np.array(wrong), False)
