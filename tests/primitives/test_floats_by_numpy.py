"""Folds and scans of few floats by NumPy: the bits are those of the kernels whose order they follow."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from kernel_cases import need
from tricky_data import tricky

import gpuprims
from gpuprims.core.by_numpy import ByNumPy, Few
from gpuprims.core.launch_plan import LaunchPlan
from gpuprims.core.program_cache import forget_calls
from gpuprims.core.registry import REGISTRY

# On both sides of what is folded one by one, of four elements a lane, of a run and of several.
SIZES = (129, 160, 255, 256, 257, 1000, 2047, 2048, 2049, 4096, 6177, 14_336, 32_768)
WHOLE = pytest.mark.whole
CALLS = [
    pytest.param("sum", "float32"),
    pytest.param("mean", "float64"),
    pytest.param("scan", "float32"),
    *[pytest.param(op, dtype, marks=WHOLE) for op, dtype in (("sum", "float64"), ("mean", "float32"))],
    *[pytest.param(op, dtype, marks=WHOLE) for op in ("prod",) for dtype in ("float32", "float64")],
    pytest.param("scan", "float64", marks=WHOLE),
]


@pytest.fixture
def host() -> gpuprims.Device:
    """A device whose launches wake threads."""
    for device in gpuprims.devices():
        if getattr(device.driver, "wakes_threads", None) and device.driver.shares_host_memory:
            return device
    pytest.skip("launches of the devices here take less time")


def call_of(name: str, device: gpuprims.Device) -> Any:
    return partial(gpuprims.scan if name == "scan" else partial(gpuprims.reduce, op=name), device=device)


def same(found: Any, expected: Any) -> None:
    assert (type(found), found.dtype, found.shape) == (type(expected), expected.dtype, expected.shape)
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize(("name", "dtype"), CALLS)
def test_floats_have_the_bits_of_the_kernel(
    host: gpuprims.Device, rng: np.random.Generator, numpy_computes: None, name: str, dtype: str
) -> None:
    need(host, "float64")
    call = call_of(name, host)
    for size in SIZES:
        x = (rng.standard_normal(size) * 10.0 ** rng.integers(-4, 4, size)).astype(dtype)
        given = [1 + x / 1e7 if name == "prod" else x, np.full(size, -0.0, dtype)]
        for one in given:
            expected = call(one, variant="cpu_chunks")
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(LaunchPlan, "compiled", lambda self: pytest.fail("a kernel was compiled"))
                for _ in range(3):
                    same(call(one), expected)


@pytest.mark.parametrize("name", ["sum", "scan"])
def test_floats_that_are_hard(host: gpuprims.Device, rng: np.random.Generator, numpy_computes: None, name: str) -> None:
    call = call_of(name, host)
    for x in tricky(rng, 3001, "float32").values():
        for one in (x, x[:1000], x[:900].reshape(30, 30)):
            same(call(one), call(one, variant="cpu_chunks"))


def test_axes_that_are_kept_and_another_dtype(
    host: gpuprims.Device, rng: np.random.Generator, numpy_computes: None
) -> None:
    x = rng.standard_normal((20, 30)).astype(np.float32)
    same(gpuprims.reduce(x, keepdims=True, device=host), gpuprims.reduce(x, device=host).reshape(1, 1))
    assert gpuprims.reduce(x, dtype="float64", device=host) == pytest.approx(x.sum(dtype=np.float64))


def test_numpy_follows_the_kernel_that_runs(
    host: gpuprims.Device, rng: np.random.Generator, numpy_computes: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, compute = rng.random(1000, dtype=np.float32), ByNumPy(lambda x: 0, Few(1, 1), "cpu_chunks")
    variants = {one.name: one for one in REGISTRY.variants("reduce", "opencl")}
    assert compute.follows(variants["cpu_chunks"], [x])
    assert not compute.follows(variants["cpu_chunks"].resized(items=512), [x])
    assert not compute.follows(variants["cpu_columns"], [x])
    monkeypatch.setattr(ByNumPy, "follows", lambda self, variant, arrays=(): self.variant is None)
    monkeypatch.setattr(ByNumPy, "compute", property(lambda self: pytest.fail("NumPy computes")))
    forget_calls()
    same(gpuprims.reduce(x, device=host), gpuprims.reduce(x, device=host, variant="cpu_chunks"))
