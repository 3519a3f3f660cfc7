"""Extremes and differences of host arrays in C: NumPy's numbers, or a refusal where bits of floats may differ."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from c_cases import PLAIN, functions_of, need_host_memory, use
from tricky_data import tricky

import gpuprims
from gpuprims.core import by_numpy
from gpuprims.core.by_numpy import ANY_SIZE, Switch
from gpuprims.core.program_cache import forget_calls
from gpuprims.primitives.extremes_in_c import EXTREMES
from gpuprims.primitives.map.diff import DIFFERENCES

DTYPES = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64")
# Less than a register, on both sides of four registers of bytes, and of a block of 16 KiB.
SIZES = (1, 3, 31, 32, 33, 127, 129, 300, 2048, 4099, 16_385, 40_000)
LEAST, MOST, CHECKED = 1, 2, 8
OPERATORS = ("min", "max", "nanmin", "nanmax", "argmin", "minmax", "ptp")


@pytest.fixture(scope="module")
def extremes() -> Any:
    """The search for extremes in C."""
    return functions_of(EXTREMES)


@pytest.fixture(scope="module", params=[(), (PLAIN,)], ids=["AVX2", "plain"])
def differences(request: pytest.FixtureRequest) -> Any:
    """Differences of neighbours in C, with vectors and without."""
    return functions_of(DIFFERENCES, *request.param)


def _is(found: Any, expected: Any, x: np.ndarray) -> bool:
    """Return True for NumPy's result, or if that is NaN, or a zero beside zeros of the other sign, for a refusal."""
    if found is not NotImplemented:
        return type(found) is type(expected) and found.tobytes() == expected.tobytes()
    signs = np.signbit(x[x == 0])
    return bool(np.isnan(x).any() or (signs.any() and not signs.all()))


@pytest.mark.parametrize("dtype", DTYPES)
def test_extremes_are_those_of_numpy(extremes: Any, rng: np.random.Generator, dtype: str) -> None:
    for size in SIZES:
        for name, x in tricky(rng, size, "int64" if dtype == "uint64" else dtype).items():
            x = x.view(dtype)
            least, most = x.min(), x.max()
            assert _is(extremes.find(x, LEAST | CHECKED), least, x), (name, size)
            assert _is(extremes.find(x, MOST | CHECKED), most, x), (name, size)
            both = extremes.find(x, LEAST | MOST | CHECKED)
            both = both if isinstance(both, tuple) else (both, both)
            assert _is(both[0], least, x), (name, size)
            assert _is(both[1], most, x), (name, size)
            for find, how in ((np.argmin, LEAST), (np.argmax, MOST)):
                place = extremes.place(x, how)
                assert place is NotImplemented if least != least else place == find(x), (name, size)


def test_extremes_beside_nan(extremes: Any, rng: np.random.Generator) -> None:
    for size in SIZES:
        x = rng.standard_normal(size).astype(np.float32)
        x[rng.random(size) < 0.5] = np.nan
        x[rng.integers(size)] = 0.25
        assert extremes.find(x, MOST) == np.nanmax(x)
        assert extremes.find(x, LEAST) == np.nanmin(x)
        for place in {0, size // 2, size - 1}:
            x = np.ones(size, np.float64)
            x[place] = np.nan
            assert extremes.find(x, MOST | CHECKED) is NotImplemented
            assert extremes.place(x, LEAST) is NotImplemented


def test_the_first_place_of_several(extremes: Any) -> None:
    for size in (300, 40_000):
        x = np.zeros(size, np.int32)
        for places in ((size - 1,), (size // 2, size - 1), (5, 6, size // 2), (0, 7)):
            x[:] = 0
            x[list(places)] = 9
            assert extremes.place(x, MOST) == places[0]
            assert extremes.place(-x, LEAST) == places[0]
    assert extremes.place(np.full(300, np.iinfo(np.int64).min), MOST) == 0
    assert extremes.place(np.float32([1, -0.0, 0.0]), LEAST) == 1


def test_zeros_of_one_sign_are_found(extremes: Any) -> None:
    x = np.ones(5000, np.float32)
    for zero in (0.0, -0.0):
        x[[3, 4000]] = zero
        assert np.signbit(extremes.find(x, LEAST | CHECKED)) == np.signbit(zero)
    x[3] = 0.0
    assert extremes.find(x, LEAST | CHECKED) is NotImplemented


@pytest.mark.parametrize("dtype", DTYPES)
def test_differences_are_those_of_numpy(differences: Any, rng: np.random.Generator, dtype: str) -> None:
    for shape in ((2,), (33,), (5, 70), (3, 1), (2, 3, 40), (20_000,)):
        x = rng.integers(0, 255, shape).astype(dtype) if dtype[0] != "f" else rng.standard_normal(shape).astype(dtype)
        found = differences.last_axis(x)
        assert found.dtype == x.dtype
        assert np.array_equal(found, np.diff(x))
    if dtype[0] == "f":
        assert differences.last_axis(np.array([1, np.inf, np.inf], dtype)) is NotImplemented


@pytest.mark.parametrize("given", [np.ones(6)[::2], np.ones(6, np.float16), np.ones(0), np.ones(3, ">f8"), [1.0], None])
def test_what_is_no_array_of_numbers_raises(extremes: Any, differences: Any, given: Any) -> None:
    calls: tuple[Callable[[], Any], ...] = (
        lambda: extremes.find(given, LEAST),
        lambda: extremes.place(given, MOST),
        lambda: differences.last_axis(given),
    )
    for call in calls:
        with pytest.raises(TypeError, match=r"an array of|a contiguous array"):
            call()
    for how in (0, 16, "1"):
        with pytest.raises(TypeError, match="how to search"):
            extremes.find(np.ones(3), how)


@pytest.mark.parametrize("op", ["argmax", *[pytest.param(op, marks=pytest.mark.whole) for op in OPERATORS]])
def test_calls_have_the_bits_of_kernels(
    device: gpuprims.Device,
    extremes: Any,
    differences: Any,
    rng: np.random.Generator,
    monkeypatch: pytest.MonkeyPatch,
    op: str,
) -> None:
    need_host_memory(device)
    use(monkeypatch, EXTREMES, extremes)
    use(monkeypatch, DIFFERENCES, differences)
    x = tricky(rng, 3000, "float32") | {"rows": rng.standard_normal((60, 50)).astype(np.float32)}
    for name in ("skewed", "NaN", "nothing but NaN", "often zero", "zeros", "infinities", "rows"):
        results = []
        for on in (True, False):
            monkeypatch.setattr(Switch, "on", on)
            forget_calls()
            found = [gpuprims.reduce(x[name], op=op, keepdims=op == "min", device=device) for _ in range(2)][-1]
            results.append(found if isinstance(found, tuple) else (found,))
        assert [one.tobytes() for one in results[0]] == [one.tobytes() for one in results[1]], name
        assert [one.shape for one in results[0]] == [one.shape for one in results[1]]
    forget_calls()
    monkeypatch.setattr(Switch, "on", True)
    for _ in range(2):
        assert np.array_equal(gpuprims.diff(x["rows"], device=device), np.diff(x["rows"]))
    forget_calls()


def test_one_core_computes_arrays_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0}, raising=False)
    assert by_numpy.alone_or(100).near == ANY_SIZE
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 3}, raising=False)
    assert by_numpy.alone_or(100) == by_numpy.Few(100, 100)
