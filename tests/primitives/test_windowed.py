"""Calls at the level "order" by numbers of a window: the bits of the calls by all words, for any data and division."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from kernel_cases import bits

import gpuprims
from gpuprims.core.program_cache import forget_calls
from gpuprims.operators.exact_limbs import Limbs
from gpuprims.operators.exact_pairs import Pair
from gpuprims.operators.exact_windows import Window
from gpuprims.primitives import windowed

SIZE = 1200
Call = Callable[..., Any]


def _offsets() -> np.ndarray:
    return np.unique(np.r_[0, np.random.default_rng(1).integers(1, SIZE, 60), SIZE])


def _keys() -> np.ndarray:
    return np.random.default_rng(2).integers(0, 30, SIZE).astype(np.int32)


# Calls on a flat array; arrays with axes have 24 rows of 50.
CALLS: dict[str, Call] = {
    "scan": gpuprims.scan,
    "exclusive": lambda x, **how: gpuprims.scan(x, inclusive=False, **how),
    "reversed": lambda x, **how: gpuprims.scan(x, reverse=True, **how),
    "mean": lambda x, **how: gpuprims.scan(x, op="mean", **how),
    "map": lambda x, **how: gpuprims.scan(x, x[::-1], map="x * y + 0.1", **how),
    "mask": lambda x, **how: gpuprims.scan(x, where=np.arange(SIZE) % 3 > 0, **how),
    "columns": lambda x, **how: gpuprims.scan(x.reshape(24, 50), axis=0, **how),
    "rows": lambda x, **how: gpuprims.scan(x.reshape(24, 50), axis=-1, **how),
    "parts of complex numbers": lambda x, **how: gpuprims.scan(x[: SIZE // 2] + 1j * x[SIZE // 2 :], **how),
    "sums of segments": lambda x, **how: gpuprims.reduce(x, segments=_offsets(), **how),
    "means of segments": lambda x, **how: gpuprims.reduce(x, segments=_offsets(), op="mean", **how),
    "segments along an axis": lambda x, **how: gpuprims.reduce(
        x.reshape(24, 50), segments=[0, 9, 9, 24], axis=0, **how
    ),
    "scans of segments": lambda x, **how: gpuprims.scan(x, segments=_offsets(), **how),
    "sums by key": lambda x, **how: gpuprims.reduce(x, by=_keys(), **how),
    "scans by key": lambda x, **how: gpuprims.scan(x, by=_keys(), **how),
}
FEW = ("scan", "sums of segments")  # with kernels of their own, that CPUs compile
SOME = (*FEW, "mean", "columns")


def data(rng: np.random.Generator, dtype: Any) -> Iterator[np.ndarray]:
    """Elements of narrow windows, of wide ones, and that have none."""
    x = rng.standard_normal(SIZE).astype(dtype)
    yield x
    yield np.round(100 * x)
    for spread in (30, 40, 60) if dtype == np.float32 else (15, 30, 60):  # pairs that carry, limbs, and words
        yield (x * 2.0 ** rng.integers(-spread, spread, SIZE)).astype(dtype)
    yield (x * np.finfo(dtype).smallest_subnormal * 1e3).astype(dtype)
    yield np.where(rng.random(SIZE) < 0.5, -0.0, 0.0).astype(dtype)
    special = x.copy()
    special[[700, 900]] = np.inf, -np.inf
    yield special
    special[10] = np.nan
    yield special


@contextmanager
def least(monkeypatch: pytest.MonkeyPatch, elements: int) -> Iterator[None]:
    """Let calls on so many elements look for the window."""
    with monkeypatch.context() as patch:
        patch.setattr(windowed, "_least", lambda *call, **how: elements)
        forget_calls()
        yield
    forget_calls()


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> list[Window | None]:
    """The windows that calls found."""
    found, choose = list[Window | None](), windowed.window_of

    def noted(*given: Any) -> Window | None:
        found.append(choose(*given))
        return found[-1]

    monkeypatch.setattr(windowed, "window_of", noted)
    return found


def test_few_elements_take_words(device: gpuprims.Device, rng: np.random.Generator, windows: list[Any]) -> None:
    """More float32 than float64 do: fewer words add up in shorter time."""
    for dtype, size, looks in (("f8", 50, False), ("f8", 300, True), ("f4", 300, False), ("f4", 40_000, True)):
        windows.clear()
        gpuprims.scan(rng.standard_normal(size).astype(dtype), device=device, determinism="order")
        assert len(windows) == looks, (dtype, size)


@pytest.mark.parametrize("name", SOME)
def test_bits_are_those_of_words(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, windows: list[Any], name: str
) -> None:
    assert_bits_of_words(rng, monkeypatch, windows, name, np.float32)


@pytest.mark.whole
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", CALLS)
def test_all_bits_are_those_of_words(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, windows: list[Any], name: str, dtype: Any
) -> None:
    assert_bits_of_words(rng, monkeypatch, windows, name, dtype)


def assert_bits_of_words(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, windows: list[Any], name: str, dtype: Any
) -> None:
    """Compare a call that looks for a window with the same one by all words."""
    for x in data(rng, dtype):
        with np.errstate(all="ignore"):
            with least(monkeypatch, 1):
                narrow = [CALLS[name](x, device="reference", determinism="order") for _ in range(2)]
            with least(monkeypatch, 1 << 60):
                wide = CALLS[name](x, device="reference", determinism="order")
        assert bits(narrow[0]) == bits(narrow[1]) == bits(wide)
    assert None in windows
    assert any(isinstance(window, Limbs) for window in windows)
    assert any(isinstance(window, Pair) for window in windows)


@pytest.mark.parametrize("name", FEW)
def test_devices_have_the_bits_of_the_reference(
    device: gpuprims.Device, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, windows: list[Any], name: str
) -> None:
    with least(monkeypatch, 1):
        for scale, spread in itertools.product((1.0, 2.0**-80, 2.0**80), (14, 14, 30)):
            x = (rng.standard_normal(SIZE) * scale * 2.0 ** rng.integers(-spread, spread, SIZE)).astype(np.float32)
            expected = CALLS[name](x, device="reference", determinism="order")
            assert bits(CALLS[name](x, device=device, determinism="order")) == bits(expected)
    assert {isinstance(window, Pair) and window.carries for window in windows} == {False, True}


@pytest.mark.whole
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", [name for name in CALLS if name not in FEW])
def test_all_calls_on_devices(
    device: gpuprims.Device, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, name: str, dtype: Any
) -> None:
    with least(monkeypatch, 1):
        for x in data(rng, dtype):
            with np.errstate(all="ignore"):
                expected = CALLS[name](x, device="reference", determinism="order")
                assert bits(CALLS[name](x, device=device, determinism="order")) == bits(expected)


def test_plans_and_places_of_results(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan chooses anew for each array; ``out=`` may be the array itself."""
    x = rng.standard_normal(SIZE).astype(np.float32)
    spread = (x * 2.0 ** rng.integers(-60, 60, SIZE)).astype(np.float32)
    with least(monkeypatch, 1), gpuprims.use_determinism("order"):
        plan = gpuprims.plan("scan", x, device="reference")
        wide = [gpuprims.scan(one[: SIZE - 1], device="reference") for one in (x, spread)]
        for one, expected in zip((x, spread, x), (*wide, wide[0]), strict=True):
            assert bits(plan(one)[:-1]) == bits(expected)
            out = np.empty_like(one)
            for _ in range(2):
                assert plan(one, out=out) is out
                assert bits(out[:-1]) == bits(expected)
        own = x.copy()
        assert gpuprims.scan(own, out=own, device="reference") is own
        assert bits(own[:-1]) == bits(wide[0])


def test_calls_that_keep_all_words(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, windows: list[Any]
) -> None:
    """Maps of the index see other numbers in a reversed scan; other levels and few elements look for no window."""
    x = rng.standard_normal(SIZE).astype(np.float32)
    with least(monkeypatch, 1):
        gpuprims.scan(x, device="reference", determinism="device")
        gpuprims.scan(x, op="max", device="reference", determinism="order")
        gpuprims.scan(np.arange(SIZE), device="reference", determinism="order")
    gpuprims.scan(x, device="reference", determinism="order")
    assert not windows


def test_chunks_and_permutations_agree(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last element of a scan is the sum of all, whatever their order, and whatever window they are in."""
    x = rng.standard_normal(SIZE).astype(np.float32)
    total = gpuprims.reduce(x, device="reference", determinism="order")
    with least(monkeypatch, 1):
        for _ in range(20):
            mixed = rng.permutation(x)
            assert gpuprims.scan(mixed, device="reference", determinism="order")[-1] == total
            assert gpuprims.reduce(mixed, segments=[0, SIZE], device="reference", determinism="order")[0] == total
