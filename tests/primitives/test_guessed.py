"""Running sums at the level "order" by a guessed window: the bits of sums by words, whether the guess holds or not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from kernel_cases import bits

import gpuprims
from gpuprims.core.program_cache import forget_calls
from gpuprims.operators.exact_pairs import Guess
from gpuprims.primitives import guessed, windowed

SIZE = 20_000


@pytest.fixture
def guesses(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Guess | None]]:
    """Let short calls guess, and give the guesses that they made."""
    made, guess_of = list[Guess | None](), guessed.guess_of

    def noted(*given: Any) -> Guess | None:
        made.append(guess_of(*given))
        return made[-1]

    for name, value in {"_LEAST": 1000, "_SAMPLED": 64, "guess_of": noted}.items():
        monkeypatch.setattr(guessed, name, value)
    monkeypatch.setattr(windowed, "_LEAST_OF_ONE", (1000, 1000))  # of GPUs: shorter calls look for no window
    forget_calls()
    yield made
    forget_calls()


@pytest.fixture
def there(device: gpuprims.Device) -> gpuprims.Device:
    """Give a device with arrays of its own; those of the host do not guess."""
    if device.backend == "reference":
        pytest.skip("has no arrays of its own")
    return device


def normal(rng: np.random.Generator, dtype: Any = np.float32) -> np.ndarray:
    """Return normal numbers; as float64 they are whole, since others spread too far for a pair."""
    x = rng.standard_normal(SIZE)
    return x.astype(dtype) if dtype == np.float32 else np.round(99 * x)


def assert_bits(there: gpuprims.Device, x: np.ndarray, native: Any = None, **how: Any) -> None:
    """Compare a scan, with and without memory for its results, with the reference."""
    native = there.asarray(x) if native is None else native
    with np.errstate(all="ignore"):
        expected = gpuprims.scan(x, device="reference", determinism="order", **how)
    out = there.asarray(np.zeros_like(expected))
    for result in (gpuprims.scan(native, determinism="order", **how) for _ in range(2)):
        assert bits(there.to_host(result)) == bits(expected)
    gpuprims.scan(native, out=out, determinism="order", **how)
    assert bits(there.to_host(out)) == bits(expected)


@pytest.mark.parametrize("how", [{}, {"inclusive": False}, {"reverse": True}], ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_guess_that_holds_gives_the_bits_of_words(
    there: gpuprims.Device, rng: np.random.Generator, guesses: list[Any], dtype: Any, how: dict[str, Any]
) -> None:
    if dtype == np.float64 and not there.capabilities.fp64:
        pytest.skip("has no float64")
    assert_bits(there, normal(rng, dtype), **how)
    assert len(guesses) >= 3  # each call of the same plan guesses again
    assert None not in guesses


@pytest.mark.parametrize("other", [1e30, 2.0**-90, np.inf, -np.inf, np.nan])
def test_one_element_outside_is_found(
    there: gpuprims.Device, rng: np.random.Generator, guesses: list[Any], other: float
) -> None:
    """Between those that a sample looks at."""
    for place in (1, SIZE // 2 + 1, SIZE - 1):
        x = normal(rng)
        x[place] = other
        assert_bits(there, x)
    assert guesses
    assert None not in guesses


def test_a_plan_whose_guess_did_not_hold_guesses_no_more(
    there: gpuprims.Device, rng: np.random.Generator, guesses: list[Any]
) -> None:
    x = normal(rng)
    x[1] = 1e30
    native = there.asarray(x)
    for _ in range(3):
        gpuprims.scan(native, determinism="order")
    assert len(guesses) == 1


def test_results_in_place_of_elements_are_not_guessed(
    there: gpuprims.Device, rng: np.random.Generator, guesses: list[Any]
) -> None:
    x = normal(rng)
    x[SIZE - 1] = np.inf
    native = there.asarray(x)
    gpuprims.scan(native, out=native, determinism="order")
    expected = gpuprims.scan(x, device="reference", determinism="order")
    assert bits(there.to_host(native)) == bits(expected)
    assert not guesses


def test_a_map_of_arrays_that_broadcast_is_sampled(
    there: gpuprims.Device, rng: np.random.Generator, guesses: list[Any]
) -> None:
    x, y = rng.standard_normal((40, 500)).astype(np.float32), rng.standard_normal(500).astype(np.float32)
    expected = gpuprims.scan(x, y, map="x * y", device="reference", determinism="order")
    got = gpuprims.scan(*map(there.asarray, (x, y)), map="x * y", determinism="order")
    assert bits(there.to_host(got)) == bits(expected)
    assert None not in guesses
    assert guesses


@pytest.mark.parametrize("how", [{"op": "mean"}, {"axis": 0}, {"initial": 3}], ids=str)
def test_results_that_do_not_end_with_the_sum_are_not_guessed(
    there: gpuprims.Device, rng: np.random.Generator, guesses: list[Any], how: dict[str, Any]
) -> None:
    x = normal(rng).reshape(200, 100)
    gpuprims.scan(there.asarray(x), determinism="order", **how)
    assert not guesses
