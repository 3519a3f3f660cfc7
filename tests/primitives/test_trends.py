"""Indices of rows that rise or fall, in C: those of stable sorts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from c_cases import PLAIN, functions_of, need_host_memory, use

import gpuprims
from gpuprims.core.launch_plan import LaunchPlan
from gpuprims.core.program_cache import forget_calls
from gpuprims.primitives.few_orders import TRENDS

DTYPES = "?bBhHiIlLqQfd"


@pytest.fixture(scope="module", params=[(), (PLAIN,)], ids=["AVX2", "plain"])
def module(request: pytest.FixtureRequest) -> Any:
    """The module in C, with vectors and without."""
    return functions_of(TRENDS, *request.param)


def ordered(rng: np.random.Generator, dtype: str, shape: tuple[int, ...], *, few: bool) -> np.ndarray:
    """Return rows that rise, of values of the whole range or of a few."""
    one = np.dtype(dtype)
    x: np.ndarray
    if one.kind == "f":
        x = rng.integers(-3, 3, shape) * -0.0 if few else rng.standard_normal(shape) * 1e9  # zeros of both signs
    elif few or one.kind == "b":
        x = rng.integers(0, 2 if one.kind == "b" else 3, shape)
    else:
        info = np.iinfo(one)
        x = rng.integers(info.min, info.max, shape, one, endpoint=True)
    return np.sort(x.astype(one), -1)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("few", [False, True])
def test_indices_are_those_of_stable_sorts(module: Any, rng: np.random.Generator, dtype: str, *, few: bool) -> None:
    for shape in ((1,), (2,), (256,), (257,), (258,), (3000,), (5, 1), (7, 300), (2, 3, 5)):
        rising = ordered(rng, dtype, shape, few=few)
        falling = rising[..., ::-1].copy()
        places = np.unique(falling, return_inverse=True)[1].reshape(shape)  # fall, as numbers of any dtype do
        there = np.broadcast_to(np.arange(shape[-1]), shape)
        for keys, descending, expected in (
            (rising, False, there),
            (falling, True, there),
            (falling, False, np.argsort(places, -1, kind="stable")),
            (rising, True, np.argsort(places[..., ::-1].max() - places[..., ::-1], -1, kind="stable")),
        ):
            found = module.indices(keys, descending)
            assert found.dtype == np.int64
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", DTYPES[1:])
def test_other_rows_are_left(module: Any, dtype: str) -> None:
    for n in (4, 256, 257, 258, 600):
        for at in {1, n // 2, n - 2}:
            rows = np.ones((2, n), dtype)
            rows[1, 0], rows[1, at] = 0, 2  # 0 1 1 2 1 1
            for keys in (rows, rows[:, ::-1].copy()):
                for descending in (False, True):
                    assert module.indices(keys, descending) is NotImplemented


def test_rows_with_nan_are_left(module: Any) -> None:
    for at in (0, 1, 299):
        x = np.arange(300.0)
        x[at] = np.nan
        assert module.indices(x, False) is NotImplemented


def test_the_module_takes_nothing_else(module: Any) -> None:
    x = np.arange(9.0)
    assert module.indices(x[:0], False).shape == (0,)
    for wrong in (x[::2], x.astype("f2"), x.astype("F"), np.float64(2), [1, 2]):
        with pytest.raises(TypeError):
            module.indices(wrong, False)
    with pytest.raises(TypeError):
        module.indices(x)


CALLS: dict[str, Callable[..., Any]] = {
    "argsort": gpuprims.argsort,
    "argsort, descending": lambda x, **on: gpuprims.argsort(x, descending=True, **on),
    "argsort of all": lambda x, **on: gpuprims.argsort(x.reshape(2, -1), None, **on),
    "argsort of rows": lambda x, **on: gpuprims.argsort(x.reshape(2, -1), **on),
    "sort_by_key": lambda x, **on: gpuprims.sort_by_key(x, np.arange(x.size), **on),
}


@pytest.mark.usefixtures("numpy_computes")
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("n", [600, 140_000])
def test_sorted_arrays_launch_nothing(
    device: gpuprims.Device, module: Any, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, name: str, n: int
) -> None:
    need_host_memory(device)
    x = np.sort(rng.integers(0, n, n))
    expected = [CALLS[name](one, device="reference") for one in (x, x[::-1].copy())]
    use(monkeypatch, TRENDS, module)
    monkeypatch.setattr(LaunchPlan, "compiled", lambda self: pytest.fail("a kernel was compiled"))
    forget_calls()
    for one, wanted in zip((x, x[::-1].copy()), expected, strict=True):
        for _ in range(2):
            np.testing.assert_array_equal(CALLS[name](one, device=device), wanted)
    forget_calls()
