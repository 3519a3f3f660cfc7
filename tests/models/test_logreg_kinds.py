"""The distinct rows of a matrix of integers, and the kind of each row."""

from __future__ import annotations

import numpy as np
import pytest

from gpuprims.models.logreg import distinct_rows as tables
from gpuprims.models.logreg.distinct_rows import few_kinds


def rows_of(texts: np.ndarray, dtype: str = "u4") -> np.ndarray:
    return texts.view(dtype).reshape(len(texts), -1)


def assert_found(rows: np.ndarray) -> None:
    found = few_kinds(rows)
    assert found is not None
    kinds, numbers = found
    np.testing.assert_array_equal(kinds[numbers], rows)
    assert len(np.unique(kinds, axis=0)) == len(kinds)


@pytest.mark.parametrize("dtype", ["u4", "u8"])
@pytest.mark.parametrize("count", [1, 2, 3, 100, 1999])
def test_rows_of_few_kinds(count: int, dtype: str, rng: np.random.Generator) -> None:
    texts = np.array([f"class {k:010d}" for k in range(count)])  # which share most columns
    assert_found(rows_of(texts[rng.integers(0, count, 70_001)], dtype))


@pytest.mark.parametrize("rare", ["positive", "negatives", "oegative", ""])
def test_a_kind_that_the_sample_lacks(rare: str) -> None:
    texts = np.full(50_000, "negative ")
    texts[[40_001, 49_999]] = rare  # the sample has every twelfth row
    assert_found(rows_of(texts))


def test_kinds_that_come_later(rng: np.random.Generator) -> None:
    texts = np.array(["a"] * 16_384 + ["b"] * 7)[rng.permutation(16_391)]
    some = np.where(np.arange(100_000) % 24 == 7, rng.integers(0, 300, 100_000), 1).astype(np.uint64)
    for rows in (rows_of(texts), some.reshape(-1, 1)):
        assert_found(rows)


@pytest.mark.parametrize("count", [2001, 9000])
def test_more_kinds_are_none(count: int) -> None:
    assert few_kinds(np.arange(count, dtype=np.uint64).repeat(2).reshape(-1, 1)) is None
    late = np.where(np.arange(24 * count) % 24 == 7, np.arange(24 * count), 1)  # where the sample does not look
    assert few_kinds(late.astype(np.uint64).reshape(-1, 1)) is None


def test_kinds_without_a_place_of_their_own_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.arange(300, dtype=np.uint32).reshape(-1, 3)
    assert_found(rows)
    monkeypatch.setattr(tables, "_MOST_BITS", 6)
    assert few_kinds(rows) is None
