"""Searches of few keys of the host in C, against NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from c_cases import functions_of, need_host_memory, use

import gpuprims
from gpuprims.core.launch_plan import LaunchPlan
from gpuprims.core.program_cache import forget_calls
from gpuprims.primitives.searchsorted import by_numpy
from gpuprims.primitives.searchsorted.by_numpy import PLACES


@pytest.fixture(scope="module")
def module() -> Any:
    """The module in C."""
    return functions_of(PLACES)


def drawn(rng: np.random.Generator, dtype: str, size: int) -> np.ndarray:
    """Return numbers, many of them equal; floats with NaN, infinities and both zeros."""
    found = rng.integers(-40, 40, size).astype(dtype)
    if found.dtype.kind == "f":
        for special in (np.nan, np.inf, -np.inf, -0.0, 0.0):
            found[rng.random(size) < 0.05] = special
    elif size:
        found[0], found[-1] = np.iinfo(dtype).min, np.iinfo(dtype).max
    return found


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_places_are_numpys(module: Any, rng: np.random.Generator, dtype: str) -> None:
    for size in (0, 1, 2, 3, 7, 64, 100, 1000):
        for count in (0, 1, 7, 8, 9, 300):
            elements, keys = np.sort(drawn(rng, dtype, size)), drawn(rng, dtype, count)
            for side in ("left", "right"):
                found = module.search(elements, keys, side == "right")
                assert found.dtype == np.int64
                np.testing.assert_array_equal(found, np.searchsorted(elements, keys, side))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_places_of_keys_that_rise(module: Any, rng: np.random.Generator, dtype: str) -> None:
    for size in (0, 1, 3, 100, 5000):
        elements = np.sort(drawn(rng, dtype, size))
        for count in (8, 16, 17, 300, 20_000):
            keys = np.sort(drawn(rng, dtype, count))
            far = np.sort(rng.integers(-(2**20), 2**20, count)).astype(dtype)
            for sought in (keys, far, np.concatenate([keys, far[::-1], keys]), elements.repeat(3)):
                for side in ("left", "right"):
                    np.testing.assert_array_equal(
                        module.search(elements, sought, side == "right"), np.searchsorted(elements, sought, side)
                    )


def test_the_module_takes_nothing_else(module: Any) -> None:
    x = np.arange(9.0)
    others = (x[::2], x), (x, x[::2]), (x, x.astype("f4")), (x.reshape(3, 3), x), (x.astype("u1"), x.astype("u1"))
    for elements, keys in others:
        with pytest.raises(TypeError):
            module.search(elements, keys, False)


def test_calls_on_few_keys_run_in_c(
    device: gpuprims.Device,
    module: Any,
    rng: np.random.Generator,
    numpy_computes: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    need_host_memory(device)
    use(monkeypatch, PLACES, module)
    monkeypatch.setattr(LaunchPlan, "compiled", lambda self: pytest.fail("a kernel was compiled"))
    forget_calls()
    elements, keys = np.sort(drawn(rng, "float32", 999)), drawn(rng, "float32", 1200).reshape(30, 40)
    many = np.sort(drawn(rng, "float32", 2**17 + 1))
    for there, sought in (
        (elements, keys),
        (elements, many),
        (many, keys),
        (elements.repeat(2)[::2], keys.T),
        (elements, keys[:, ::3]),
    ):
        for _ in range(2):
            found = gpuprims.searchsorted(there, sought, "right", device=device)
            np.testing.assert_array_equal(found, np.searchsorted(there, sought, "right"))
    forget_calls()


def test_many_keys_in_any_order_are_left_to_kernels(
    device: gpuprims.Device,
    module: Any,
    rng: np.random.Generator,
    numpy_computes: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    use(monkeypatch, PLACES, module)
    monkeypatch.setattr(by_numpy, "_FEW_IN_C", 500)
    forget_calls()
    elements = np.sort(drawn(rng, "float64", 999))
    for keys in (
        drawn(rng, "float64", 501),
        np.sort(drawn(rng, "float64", 600))[::-1],
        np.arange(600.0).reshape(6, -1).T,
    ):
        for _ in range(2):
            found = gpuprims.searchsorted(elements, keys, device=device)
            np.testing.assert_array_equal(found, np.searchsorted(elements, keys))
    forget_calls()
