"""Partitions of rows in C: by one element each, with the order of the others kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from c_cases import PLAIN, functions_of, need_host_memory, use

import gpuprims
from gpuprims.core.by_numpy import Switch
from gpuprims.core.launch_plan import LaunchPlan
from gpuprims.core.program_cache import forget_calls
from gpuprims.primitives.few_orders import ORDERS
from gpuprims.primitives.parts_in_c import LONG, PARTS, sampled

DTYPES = "bBhHiIlLqQfd"


@pytest.fixture(scope="module", params=[(), (PLAIN,)], ids=["AVX2", "plain"])
def module(request: pytest.FixtureRequest) -> Any:
    """The module in C, with vectors and without."""
    return functions_of(PARTS, *request.param)


def drawn(rng: np.random.Generator, dtype: str, shape: tuple[int, ...], kind: str) -> np.ndarray:
    """Return elements of the whole range, or of a few values: among floats, zeros of both signs."""
    one = np.dtype(dtype)
    if kind == "few":
        few = np.array([-0.0, 0.0, 1, 2, 3]) if one.kind == "f" else np.arange(4)
        return rng.choice(few, shape).astype(one)
    if one.kind == "f":
        return (rng.standard_normal(shape) * 1e9).astype(one)
    info = np.iinfo(one)
    return rng.integers(info.min, info.max, shape, one, endpoint=True).astype(one)


def order_of(rows: np.ndarray, pivots: np.ndarray) -> np.ndarray:
    """Return the places of elements before, at and behind pivots, in order."""
    classes = (rows >= pivots).astype(int) + (rows > pivots)
    return np.argsort(classes, -1, kind="stable")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", ["whole", "few"])
def test_rows_keep_their_order(module: Any, rng: np.random.Generator, dtype: str, kind: str) -> None:
    for shape in ((1,), (7,), (8,), (9,), (1003,), (5, 70), (30, 3), (70_000,)):
        x = drawn(rng, dtype, shape, kind)
        for rank in {0, shape[-1] // 3, shape[-1] - 1}:
            pivots = np.sort(x)[..., rank : rank + 1].copy()
            order = order_of(x, pivots)
            places, parted = np.empty(shape, np.int64), np.empty(shape, dtype)
            assert module.part(x, pivots, places, True)
            np.testing.assert_array_equal(places, order)
            assert module.part(x, pivots, parted, False)
            assert parted.tobytes() == np.take_along_axis(x, order, -1).tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", ["whole", "few"])
def test_first_places(module: Any, rng: np.random.Generator, dtype: str, kind: str) -> None:
    for n in (1, 9, 70, 2003):
        x = drawn(rng, dtype, (n,), kind)
        for k in {1, n // 3 + 1, n}:
            for behind in (False, True):
                pivot = np.sort(x)[n - k : n - k + 1] if behind else np.sort(x)[k - 1 : k]
                places = np.empty(k, np.int64)
                count = module.firsts(x, pivot, behind, places)
                beyond = np.flatnonzero(x > pivot if behind else x < pivot)
                assert count == len(beyond)
                np.testing.assert_array_equal(places, np.concatenate([beyond, np.flatnonzero(x == pivot)])[:k])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", ["whole", "few"])
def test_elements_between_bounds(module: Any, rng: np.random.Generator, dtype: str, kind: str) -> None:
    for n in (1, 7, 8, 9, 70, 2003):
        x = drawn(rng, dtype, (n,), kind)
        for low, high in ((0, n - 1), (n // 3, n // 2), (n // 2, n // 2)):
            bounds = np.sort(x)[[low, high]]
            expected = x[(x >= bounds[0]) & (x <= bounds[1])]
            for spare in (0, 1, 20):
                room = np.empty(expected.size + spare, dtype)
                below, count = module.between(x, bounds, room)
                assert (below, count) == (np.count_nonzero(x < bounds[0]), expected.size)
                assert room[:count].tobytes() == expected.tobytes()
            if expected.size > 1:
                assert module.between(x, bounds, np.empty(expected.size - 1, dtype)) is None


@pytest.mark.parametrize("dtype", ["i", "q", "f", "d"])
def test_pivots_of_long_rows(module: Any, rng: np.random.Generator, dtype: str) -> None:
    n = LONG + 5
    even = drawn(rng, dtype, (n,), "whole")
    nan = even.copy()
    if even.dtype.kind == "f":
        nan[::9] = np.nan
    for name, x in {"even": even, "rising": np.sort(even), "few": drawn(rng, dtype, (n,), "few"), "nan": nan}.items():
        for rank in (0, 5, n // 3, n // 2, n - n // 4, n - 1):
            pivot = sampled(module, x, rank)
            if pivot is not None:
                np.testing.assert_array_equal(pivot, np.sort(x)[rank : rank + 1])
            elif name in ("even", "rising"):
                assert rank in (0, 5, n - 1)
    waves = np.resize(np.arange(16.0), n).astype(dtype)  # the sample has a few of the values alone
    pivot = sampled(module, waves, n // 2)
    assert pivot is None or pivot == np.sort(waves)[n // 2]


@pytest.mark.parametrize("dtype", ["f", "d"])
def test_nan_is_told(module: Any, rng: np.random.Generator, dtype: str) -> None:
    for n in (1, 5, 300):
        for at in {0, n // 2, n - 1}:
            x = rng.standard_normal(n).astype(dtype)
            x[at] = np.nan
            for pivot in (x[-1:].copy(), np.full(1, np.inf, dtype), np.full(1, np.nan, dtype)):
                for places in (False, True):
                    assert not module.part(x, pivot, np.empty(n, np.int64 if places else dtype), places)


def test_the_module_takes_nothing_else(module: Any) -> None:
    x, to = np.arange(9.0), np.zeros(9)
    wrong: list[tuple[Any, ...]] = [
        (x[::2], x[:1], to[:5], False),
        (x, x[:2], to, False),
        (x, x[:1].astype("f4"), to, False),
        (x, x[:1], to[:8], False),
        (x, x[:1], to, True),
        (x.astype("f2"), x[:1].astype("f2"), to.astype("f2"), False),
        (x > 1, x[:1] > 1, to > 1, False),
        (x[:0], x[:0], to[:0], False),
        (x, x[:1], to),
    ]
    to.flags.writeable = False
    wrong.append((x, x[:1], to, False))
    for one in wrong:
        with pytest.raises(TypeError):
            module.part(*one)
    for one in ((x[::2], x[:2], x.copy()), (x, x[:1], x.copy()), (x, x[:2], to), (x, x[:2], x[:0]), (x, x[:2])):
        with pytest.raises(TypeError):
            module.between(*one)
    places = np.empty(3, np.int64)
    for one in ((x, x[:2], True, places), (x, x[:1], True, to), (x, x[8:], True, places), (x, x[:1], True, places[:0])):
        with pytest.raises(TypeError):
            module.firsts(*one)


@pytest.mark.parametrize("name", ["partition", "argpartition"])
@pytest.mark.parametrize("dtype", ["float32", "uint8", "int64"])
def test_calls_have_the_bits_of_calls_without_c(
    device: gpuprims.Device,
    module: Any,
    rng: np.random.Generator,
    numpy_computes: None,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    dtype: str,
) -> None:
    need_host_memory(device)
    call = getattr(gpuprims, name)
    calls = [(drawn(rng, dtype, (40, 30), "few")[:, ::2], axis) for axis in (0, 1, None)]
    calls += [(drawn(rng, dtype, (n,), "whole"), 0) for n in (LONG - 1, LONG, 70_000)]
    use(monkeypatch, PARTS, None)
    monkeypatch.setattr(Switch, "on", False)
    expected = [call(x, x.shape[axis or 0] // 2 - 1, axis, device="reference") for x, axis in calls]
    monkeypatch.setattr(Switch, "on", True)
    use(monkeypatch, PARTS, module)
    use(monkeypatch, ORDERS, functions_of(ORDERS))  # short rows
    monkeypatch.setattr(LaunchPlan, "compiled", lambda self: pytest.fail("a kernel was compiled"))
    forget_calls()
    for (x, axis), wanted in zip(calls, expected, strict=True):
        found = call(x, x.shape[axis or 0] // 2 - 1, axis, device=device)
        assert (found.dtype, found.shape, found.tobytes()) == (wanted.dtype, wanted.shape, wanted.tobytes())
    forget_calls()


def test_top_k_takes_strided_rows(
    device: gpuprims.Device,
    module: Any,
    rng: np.random.Generator,
    numpy_computes: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    use(monkeypatch, PARTS, module)
    forget_calls()
    for x in (rng.permutation(18_000)[::2], rng.permutation(9000)[::-1]):
        values, places = gpuprims.top_k(x, 500, axis=0, device=device)
        np.testing.assert_array_equal(values, np.sort(x)[:-501:-1])
        np.testing.assert_array_equal(x[places], values)
    forget_calls()
