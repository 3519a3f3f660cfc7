"""Orders of few elements of the host in C: stable sorts against NumPy's, and partitions that keep the order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from c_cases import functions_of, need_host_memory, use

import gpuprims
from gpuprims.core.by_numpy import Switch
from gpuprims.core.launch_plan import LaunchPlan
from gpuprims.core.program_cache import forget_calls
from gpuprims.primitives.few_orders import ORDERS, PACKS, indices_in_c

DTYPES = "?bBhHiIqQfd"
SPECIAL = (-0.0, 0.0, 1.0, -1.0, 2.5, np.inf, -np.inf, np.nan)


@pytest.fixture(scope="module")
def module() -> Any:
    """The module in C."""
    return functions_of(ORDERS)


@pytest.fixture(scope="module")
def packs(module: Any) -> Any:
    """The module in C that packs elements and their indices."""
    return functions_of(PACKS)


def drawn(rng: np.random.Generator, dtype: str, shape: Any, kind: str) -> np.ndarray:
    """Return elements of the whole range, few values of which zeros and NaN, or integers with the same bytes above."""
    one = np.dtype(dtype)
    if one.kind == "b":
        return rng.random(shape) < 0.5
    if one.kind == "f":
        many = rng.standard_normal(shape) * 100 if kind == "whole" else rng.choice(SPECIAL, shape)
        return many.astype(one)
    info = np.iinfo(one)
    if kind == "whole":
        return rng.integers(info.min, info.max, shape, one, endpoint=True)
    high = rng.integers(0, 3, shape).astype(one) << (one.itemsize * 8 - 4 if kind == "far" else 0)
    return (high + rng.integers(0, 100, shape).astype(one)).astype(one)


def ranks(x: np.ndarray) -> np.ndarray:
    """Return numbers in the order of elements, NaN last."""
    return np.unique(x, return_inverse=True)[1].reshape(x.shape)


@pytest.mark.parametrize("dtype", DTYPES)
def test_indices_are_those_of_stable_sorts(module: Any, rng: np.random.Generator, dtype: str) -> None:
    for kind in ("whole", "few", "far"):
        for shape in ((0,), (1,), (2,), (48,), (49,), (2049,), (7, 60), (3, 0), (2, 3, 5000)):
            x = drawn(rng, dtype, shape, kind)
            found = module.indices(x, False)
            assert found.dtype == np.int64
            np.testing.assert_array_equal(found, np.argsort(x, kind="stable"))
            np.testing.assert_array_equal(module.indices(x, True), np.argsort(-ranks(x), kind="stable"))


@pytest.mark.parametrize("dtype", DTYPES)
def test_packed_indices_are_those_of_stable_sorts(packs: Any, rng: np.random.Generator, dtype: str) -> None:
    for kind in ("whole", "few", "far"):
        for shape in ((0,), (1,), (2,), (49,), (5000,), (70_000,), (7, 60), (3, 0), (2, 3, 500)):
            x = drawn(rng, dtype, shape, kind)
            for descending, keys in ((False, x), (True, -ranks(x))):
                found = packs.indices(x, descending)
                assert found is NotImplemented or found.dtype == np.int64
                if found is not NotImplemented:
                    np.testing.assert_array_equal(found, np.argsort(keys, kind="stable"))
                else:  # keys of 64 bits that are alike in the high ones
                    assert (x.itemsize, kind) == (8, "far")


def near_one(rng: np.random.Generator, far: float, n: int) -> np.ndarray:
    """Return numbers that differ in their last bits alone, but for one."""
    return np.append(1 + rng.integers(0, 30, n) * np.finfo(float).eps, far)


def test_elements_that_lose_bits_are_sorted_by_all_of_them(packs: Any, rng: np.random.Generator) -> None:
    x = near_one(rng, -1e300, 12)
    np.testing.assert_array_equal(packs.indices(x, False), np.argsort(x, kind="stable"))
    assert packs.indices(near_one(rng, -1e300, 5000), False) is NotImplemented


def test_rows_that_do_not_pack_are_sorted_by_digits(
    device: gpuprims.Device, module: Any, packs: Any, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_host_memory(device)
    use(monkeypatch, ORDERS, module)
    use(monkeypatch, PACKS, packs)
    indices = indices_in_c(device, np.dtype(float))
    assert indices is not None
    for n in (12, 5000):
        x = near_one(rng, -1e300, n)
        np.testing.assert_array_equal(indices(x, False), np.argsort(x, kind="stable"))


@pytest.mark.parametrize("dtype", DTYPES)
def test_parts_keep_the_order_of_elements(module: Any, rng: np.random.Generator, dtype: str) -> None:
    for kind in ("whole", "few", "far"):
        for shape in ((1,), (300,), (4, 70), (70_000,)):  # sorts take rows of at most 2^16
            x = drawn(rng, dtype, shape, kind)
            for places in ([0], [shape[-1] // 2], [0, shape[-1] // 3, shape[-1] - 1]):
                given = ranks(x)
                bounds = np.sort(given)[..., places]
                classes = (given[..., None] >= bounds[..., None, :]) * 1 + (given[..., None] > bounds[..., None, :])
                expected = np.argsort(classes.sum(-1), kind="stable")
                np.testing.assert_array_equal(module.parts(x, np.sort(x)[..., places].copy()), expected)


def test_the_modules_take_nothing_else(module: Any, packs: Any) -> None:
    x = np.arange(9.0)
    for wrong in (x[::2], x.astype("f2"), x.astype("F"), np.float64(2), [1, 2], np.zeros(65537, "u1")):
        with pytest.raises(TypeError):
            module.indices(wrong, False)
    for wrong in (x[::2], x.astype("f2"), [1, 2]):
        with pytest.raises(TypeError):
            packs.indices(wrong, False)
        with pytest.raises(TypeError):
            module.parts(wrong, x[:1])
    for pivots in (x[:0], x[:1].astype("f4"), x.reshape(3, 3), np.zeros(17)):
        with pytest.raises(TypeError):
            module.parts(x, pivots)
    for indices in (module.indices, packs.indices):
        with pytest.raises(TypeError):
            indices(x)


CALLS: dict[str, Callable[..., Any]] = {
    "argsort": gpuprims.argsort,
    "argsort, descending": lambda x, **on: gpuprims.argsort(x, axis=0, descending=True, **on),
    "sort_by_key": lambda x, **on: gpuprims.sort_by_key(x.ravel(), np.arange(x.size), **on),
    "lexsort": lambda x, **on: gpuprims.lexsort(x, **on),
    "top_k": lambda x, **on: gpuprims.top_k(np.nan_to_num(x).ravel(), 5, **on),
    "partition": lambda x, **on: gpuprims.partition(x, [1, 5], axis=0, **on),
    "argpartition": lambda x, **on: gpuprims.argpartition(x, 3, **on),
    "unique": lambda x, **on: gpuprims.unique(np.nan_to_num(x), True, True, True, **on),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_have_the_bits_of_calls_without_c(
    device: gpuprims.Device,
    module: Any,
    rng: np.random.Generator,
    numpy_computes: None,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    need_host_memory(device)
    x = np.asfortranarray(drawn(rng, "f", (12, 25), "few"))
    use(monkeypatch, ORDERS, None)
    monkeypatch.setattr(Switch, "on", False)
    expected = CALLS[name](x, device="reference")
    monkeypatch.setattr(Switch, "on", True)
    use(monkeypatch, ORDERS, module)
    monkeypatch.setattr(LaunchPlan, "compiled", lambda self: pytest.fail("a kernel was compiled"))
    forget_calls()
    for _ in range(2):
        found = CALLS[name](x, device=device)
        several = isinstance(found, tuple)
        for one, other in zip(found if several else [found], expected if several else [expected], strict=True):
            assert (one.dtype, one.shape) == (other.dtype, other.shape)
            assert one.tobytes() == other.tobytes()
    forget_calls()
