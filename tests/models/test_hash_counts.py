"""hash_counts: entry by entry what HashingVectorizer counts, and of integers what scikit-learn's hash makes of them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.utils import murmurhash3_32

import gpuprims
from gpuprims.errors import ArgumentError, ArrayError, DtypeError, NoVariantError, ShapeError, UnknownVariantError

TEXTS = [
    "Free money! FREE entry, win cash now",
    "",
    "café naïve Ελληνικά здравствуй мир 你好 世界",
    "a b c",  # of one letter each, which the default analyzer drops
    "mail " * 300 + "money",
    "\N{OLD ITALIC LETTER A}\N{OLD ITALIC LETTER BE} emoji \N{GRINNING FACE} x2",
]
LEAST = np.int32(-(2**31))


def vectorized(texts, n_features, **keywords):
    vectorizer = HashingVectorizer(n_features=n_features, alternate_sign=False, norm=None, **keywords)
    return vectorizer.transform(texts).toarray()


def hashed(ids, n_features):
    """The row of one document, from scikit-learn's hash of each integer, in the arithmetic of Python."""
    row = np.zeros(n_features, np.float32)
    for number in ids:
        row[abs(int(murmurhash3_32(int(number), seed=0))) % n_features] += 1
    return row


def whose_hash_is(target):
    """The integer of a hash: each step of MurmurHash3 of four bytes has an inverse."""
    mask = 2**32 - 1

    def times_inverse(x, factor):
        return x * pow(factor, -1, 2**32) & mask

    def unrotated(x, bits):
        return (x >> bits | x << (32 - bits)) & mask

    x = target & mask
    x ^= x >> 16
    x = times_inverse(x, 0xC2B2AE35)
    x ^= x >> 13 ^ x >> 26
    x = times_inverse(x, 0x85EBCA6B)
    x ^= x >> 16
    x = unrotated(times_inverse((x ^ 4) - 0xE6546B64, 5), 13)
    x = times_inverse(unrotated(times_inverse(x, 0x1B873593), 15), 0xCC9E2D51)
    return x - 2**32 if x >= 2**31 else x


@pytest.mark.parametrize("n_features", [1, 2, 7, 1000, 1024, 2**20])
def test_texts_are_counted_as_scikit_learn_counts_them(device, n_features):
    counts = gpuprims.hash_counts(TEXTS, n_features, device=device)
    assert (type(counts), counts.dtype) == (np.ndarray, np.float32)
    np.testing.assert_array_equal(counts, vectorized(TEXTS, n_features))


def test_many_documents_of_many_words(device, rng):
    words = np.array([f"word{k}" for k in range(3000)])
    texts = [" ".join(rng.choice(words, length)) for length in rng.integers(0, 40, 2000)]
    np.testing.assert_array_equal(gpuprims.hash_counts(texts, 1024, device=device), vectorized(texts, 1024))


def test_an_analyzer_of_the_callers(device):
    analyzer = CountVectorizer(ngram_range=(1, 2), stop_words=["cash"], lowercase=False).build_analyzer()
    found = gpuprims.hash_counts(TEXTS, 64, analyzer=analyzer, device=device)
    expected = vectorized(TEXTS, 64, ngram_range=(1, 2), stop_words=["cash"], lowercase=False)
    np.testing.assert_array_equal(found, expected)


@settings(max_examples=40)
@given(st.lists(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=30), min_size=1, max_size=6))
def test_any_texts(texts):
    np.testing.assert_array_equal(gpuprims.hash_counts(texts, 16, device="reference"), vectorized(texts, 16))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64"])
@pytest.mark.parametrize("n_features", [1, 5, 1024])
def test_integers_are_hashed_as_scikit_learn_hashes_them(device, rng, dtype, n_features):
    limits = np.iinfo(np.dtype(dtype))
    low, high = max(limits.min, -(2**31)), min(limits.max, 2**31 - 1)
    ids = [rng.integers(low, high, length, dtype=dtype, endpoint=True) for length in (0, 700, 1, 0, 33, 0)]
    ids[2][0], ids[4][:2] = low, (high, 0)
    found = gpuprims.hash_counts(ids, n_features, device=device)
    np.testing.assert_array_equal(found, [hashed(row, n_features) for row in ids])


@settings(max_examples=40)
@given(st.lists(st.lists(st.integers(-(2**31), 2**31 - 1), max_size=8), max_size=6), st.integers(1, 50))
def test_any_integers(ids, n_features):
    found = gpuprims.hash_counts(ids, n_features, device="reference")
    np.testing.assert_array_equal(found, np.reshape([hashed(row, n_features) for row in ids], (len(ids), n_features)))


@pytest.mark.parametrize("n_features", [1, 3, 2**20 - 1, 2**20])
def test_the_hash_without_a_magnitude(device, n_features):
    number = whose_hash_is(-(2**31))
    assert murmurhash3_32(np.array([number], np.int32), seed=0)[0] == LEAST
    found = gpuprims.hash_counts([[number]], n_features, device=device)
    assert found[0, 2**31 % n_features] == found.sum() == 1
    word = np.array([number], np.int32).tobytes()  # of the same four bytes, and so of the same hash
    found = gpuprims.hash_counts(["text"], n_features, analyzer=lambda text: [word], device=device)
    np.testing.assert_array_equal(found, vectorized(["text"], n_features, analyzer=lambda text: [word]))


@pytest.mark.parametrize("documents", [[], [""], ["", ""], [[]], [[], []], np.empty((3, 0), np.int32)])
def test_nothing_to_count(device, documents):
    found = gpuprims.hash_counts(documents, 6, device=device)
    np.testing.assert_array_equal(found, np.zeros((len(documents), 6), np.float32))
    assert found.dtype == np.float32


@pytest.mark.parametrize("offsets", [[0, 3, 3, 50, 1000], [0, 0, 1000, 1000], [0, 1000]])
@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64"])
def test_segments_of_an_array_on_the_host_and_on_the_device(device, rng, offsets, dtype):
    ids = rng.integers(0, 2**31, 1000, dtype=dtype)
    expected = [hashed(ids[first:last], 32) for first, last in pairwise(offsets)]
    found = gpuprims.hash_counts(ids, 32, segments=offsets, device=device)
    assert isinstance(found, np.ndarray)
    np.testing.assert_array_equal(found, expected)
    there = device.asarray(ids)
    for segments in (offsets, np.array(offsets, np.int32), device.asarray(np.array(offsets))):
        found = gpuprims.hash_counts(there, 32, segments=segments)
        assert type(found) is type(there)
        np.testing.assert_array_equal(device.to_host(found), expected)


@pytest.mark.parametrize("documents", [0, 3])
def test_an_array_of_a_device_without_words(device, documents):
    empty = device.asarray(np.empty(0, np.int32))
    found = gpuprims.hash_counts(empty, 4, segments=[0] * (documents + 1), device=device)
    np.testing.assert_array_equal(device.to_host(found), np.zeros((documents, 4)))


def test_rows_of_a_matrix_are_documents_and_backward_arrays_are_read_as_they_are(device, rng):
    ids = rng.integers(0, 2**31, (4, 60), dtype=np.int64)
    expected = [hashed(row, 100) for row in ids]
    np.testing.assert_array_equal(gpuprims.hash_counts(ids, 100, device=device), expected)
    flat = np.ascontiguousarray(ids.ravel()[::-1])[::-1]
    found = gpuprims.hash_counts(flat, 100, segments=[0, 60, 120, 180, 240], device=device)
    np.testing.assert_array_equal(found, expected)


def test_five_million_counts(device, rng):
    ids = rng.integers(-(2**31), 2**31, 200_000, dtype=np.int32)
    offsets = np.sort(rng.integers(0, ids.size, 4999))
    offsets = np.concatenate([[0], offsets, [ids.size]])
    found = gpuprims.hash_counts(ids, 1024, segments=offsets, device=device)
    hashes = np.abs(murmurhash3_32(ids, seed=0).astype(np.int64)) % 1024
    keys = np.repeat(np.arange(5000), np.diff(offsets)) * 1024 + hashes
    np.testing.assert_array_equal(found.ravel(), np.bincount(keys, minlength=5000 * 1024))


def test_a_kernel_by_name(device):
    for variant, _ in gpuprims.explain("histogram", device).refusals:
        try:
            found = gpuprims.hash_counts(TEXTS, 256, device=device, variant=variant.name)
        except NoVariantError:  # it refuses, as `explain` says
            continue
        np.testing.assert_array_equal(found, vectorized(TEXTS, 256))
    with pytest.raises(UnknownVariantError, match="abacus"):
        gpuprims.hash_counts(TEXTS, 256, device=device, variant="abacus")


@pytest.mark.parametrize(
    ("arguments", "keywords", "error", "message"),
    [
        (("free money", 4), {}, ArrayError, "sequence of documents; got"),
        ((7, 4), {}, ArrayError, "sequence of documents; got"),
        ((["free", [1, 2]], 4), {}, ArrayError, "only texts, or only integers"),
        (([[1, 2]], 4), {"analyzer": str.split}, ArrayError, "only texts, or only integers"),
        ((["free"], 4), {"analyzer": lambda text: [1]}, DtypeError, "returns words as str or bytes; got int 1"),
        (([b"free"], 4), {}, ShapeError, "document 0; got bytes b'free'"),
        (([[1], [0.5]], 4), {}, DtypeError, "document 1; got dtype float64"),
        (([[1], [True]], 4), {}, DtypeError, "document 1; got dtype bool"),
        (([["free"]], 4), {}, DtypeError, "document 0; got dtype <U4"),
        (([[[1], [2, 3]]], 4), {}, ArrayError, "document 0; got"),
        (([1, 2], 4), {}, ShapeError, "document 0; got int 1"),
        (([[1, 2**31]], 4), {}, ArgumentError, r"2\^31 - 1, which fit int32; got others"),
        (([np.uint32([2**31])], 4), {}, ArgumentError, "which fit int32; got others"),
        (([[2**63]], 4), {}, DtypeError, "integers that fit int32; got dtype"),
        (([[1]], 0), {}, ArgumentError, r"n_features from 1 to 2\^30; got 0"),
        (([[1]], 2.0), {}, ArgumentError, "got 2.0"),
        (([[1]], True), {}, ArgumentError, "got True"),
        (([[1]] * 5, 2**28), {}, ArgumentError, r"documents times n_features up to 2\^30; got 5 x 268435456"),
        ((["free"] * 5, 2**30), {}, ArgumentError, r"documents times n_features up to 2\^30; got 5 x 1073741824"),
        ((np.arange(3), 4), {"segments": [0, 2]}, ArgumentError, "hash_counts: segments= from 0 to 3"),
        (
            (np.ones((2, 2), int), 4),
            {"segments": [0, 4]},
            ShapeError,
            r"one-dimensional array with segments=; got .*2, 2",
        ),
        ((np.ones(3), 4), {"segments": [0, 3]}, DtypeError, "got dtype float64"),
    ],
)
def test_an_error_says_what_was_got(device, arguments, keywords, error, message):
    with pytest.raises(error, match=message) as caught:
        gpuprims.hash_counts(*arguments, device=device, **keywords)
    assert str(caught.value).startswith("hash_counts: ")


def test_an_array_of_a_device_needs_segments(device):
    if device.backend == "reference":
        pytest.skip("arrays of the reference device are NumPy's")
    with pytest.raises(ArgumentError, match="hash_counts: segments= with an array on a device; got none"):
        gpuprims.hash_counts(device.asarray(np.arange(3)), 4)
    with pytest.raises(TypeError, match=r"hash_counts: .* as document 0; got"):
        gpuprims.hash_counts([device.asarray(np.arange(3))], 4)
