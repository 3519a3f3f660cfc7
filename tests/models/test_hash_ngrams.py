"""hash_counts with ngram_range=: of texts what HashingVectorizer counts, of ids scikit-learn's hash of their bytes."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from kernel_cases import on_device
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.utils import murmurhash3_32

import gpuprims
from gpuprims.errors import ArgumentError

RANGES = [(1, 1), (1, 2), (2, 2), (2, 4), (3, 16)]
TEXTS = [
    "Free money! FREE entry, win cash now",
    "",
    "one",
    "one two",
    "café naïve мир 你好 世界 and more words than three",
]


def hashed(ids: np.ndarray, n_features: int, sizes: tuple[int, int]) -> np.ndarray:
    """Return the row of one document: a hash of the bytes of each run of ids."""
    row = np.zeros(n_features, np.float32)
    for size in range(sizes[0], sizes[1] + 1):
        for at in range(len(ids) - size + 1):
            found = int(murmurhash3_32(ids[at : at + size].astype(np.int32).tobytes(), seed=0))
            row[abs(found) % n_features] += 1
    return row


@pytest.mark.parametrize("sizes", RANGES)
@pytest.mark.parametrize("n_features", [1, 7, 1024])
def test_texts(device: gpuprims.Device, n_features: int, sizes: tuple[int, int]) -> None:
    vectorizer = HashingVectorizer(n_features=n_features, alternate_sign=False, norm=None, ngram_range=sizes)
    found = gpuprims.hash_counts(TEXTS, n_features, ngram_range=sizes, device=device)
    np.testing.assert_array_equal(found, vectorizer.transform(TEXTS).toarray())


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "int64"])
@pytest.mark.parametrize("sizes", RANGES)
def test_ids(device: gpuprims.Device, rng: np.random.Generator, sizes: tuple[int, int], dtype: str) -> None:
    lengths = rng.integers(0, 20, 60)
    documents = [rng.integers(0, 99, length).astype(dtype) for length in lengths]
    expected = np.array([hashed(ids, 64, sizes) for ids in documents])
    for given in (documents, [one.tolist() for one in documents]):
        np.testing.assert_array_equal(gpuprims.hash_counts(given, 64, ngram_range=sizes, device=device), expected)


def test_arrays_of_a_device(device: gpuprims.Device, rng: np.random.Generator) -> None:
    words, offsets = rng.integers(-99, 99, 3000).astype(np.int32), np.array([0, 0, 5, 6, 2000, 2001, 3000])
    expected = np.array([hashed(words[begin:end], 32, (1, 3)) for begin, end in pairwise(offsets)])
    for ids, ends in ((words, offsets), (on_device(device, words), offsets)):
        found = gpuprims.hash_counts(ids, 32, segments=ends, ngram_range=(1, 3), device=device)
        np.testing.assert_array_equal(device.to_host(found), expected)


def test_documents_shorter_than_a_run(device: gpuprims.Device) -> None:
    short: list[list[list[int]]] = [[[1, 2], [3]], [[]], [[], []]]
    for documents in short:
        found = gpuprims.hash_counts(documents, 8, ngram_range=(3, 4), device=device)
        np.testing.assert_array_equal(found, np.zeros((len(documents), 8), np.float32))


ANALYZER = CountVectorizer(ngram_range=(1, 2)).build_analyzer()
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "an order": ({"ngram_range": (2, 1)}, "(least, largest), whole numbers from 1 to 16 in order; got (2, 1)"),
    "zero": ({"ngram_range": (0, 1)}, "got (0, 1)"),
    "a number": ({"ngram_range": 2}, "got 2"),
    "floats": ({"ngram_range": (1.0, 2.0)}, "got (1.0, 2.0)"),
    "an analyzer": ({"ngram_range": (1, 2), "analyzer": ANALYZER}, "without analyzer=, which returns n-grams itself"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_is_refused(device: gpuprims.Device, case: str) -> None:
    keywords, message = WRONG[case]
    with pytest.raises(ArgumentError, match=re.escape(message)):
        gpuprims.hash_counts(["a b"], 8, **keywords, device=device)
