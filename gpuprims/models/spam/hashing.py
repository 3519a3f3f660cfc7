"""hash_counts: hashed word counts of documents."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any, Never

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.utils import murmurhash3_32

from gpuprims.core.device import Device, device_of
from gpuprims.core.interop import short
from gpuprims.core.keywords import keywords_of, named_keywords, refuse_keywords
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.outputs import as_out
from gpuprims.errors import ArgumentError, ArrayError, DtypeError, ShapeError, quoted
from gpuprims.expressions.masks import plain_array, refuse_masked
from gpuprims.primitives.beginnings import to_out
from gpuprims.primitives.histogram.binning import MOST_BINS, direct
from gpuprims.primitives.histogram.plan import count
from gpuprims.primitives.map import map as map_elements
from gpuprims.primitives.reduce import reduce
from gpuprims.primitives.segments.offsets import Segments
from gpuprims.primitives.segments.rows import rows_of

_LABEL = "hash_counts"
_INT32 = np.dtype(np.int32)
_LONGEST = 16  # most words that are hashed together


@named_keywords
def hash_counts(
    documents: Any,
    n_features: int,
    *,
    segments: Any = None,
    analyzer: Callable[[Any], Iterable[str]] | None = None,
    ngram_range: tuple[int, int] = (1, 1),
    out: Any = None,
    device: str | Device | None = None,
    variant: str | None = None,
    **unknown: Never,
) -> Any:
    """Count the words of each document in columns chosen by a hash of the word.

    Parameters
    ----------
    documents : sequence of str, sequence of sequences of int, or array of int
        Texts; or a sequence of word ids for each document; or, with ``segments``, the word ids of all documents in one
        array on the host or a device. Ids must fit int32.
    n_features : int
        Columns of the result.
    segments : array_like of int, optional
        Where each document begins in ``documents``, and where the last one ends: row offsets as in CSR.
    analyzer : callable, optional
        Function that splits a text into words. Default: the analyzer of
        :class:`sklearn.feature_extraction.text.HashingVectorizer`. ``build_analyzer()`` of that class and of
        CountVectorizer returns others.
    ngram_range : (int, int), default (1, 1)
        The least and the largest number of neighbouring words that are counted together, from 1 to 16. Not with
        ``analyzer``, which returns n-grams itself.
    out : array of float32, optional
        Array to write to, with the result's shape, on the device of the word ids. By default a new one.
    device : str or Device, optional
        Where to compute, for host arrays.
    variant : str, optional
        The histogram kernel to use instead of the best one.

    Returns
    -------
    array of float32, of shape (documents, n_features)
        ``out``, or a new array on the device of the word ids. Counts above 2^24 are rounded.

    Raises
    ------
    ArgumentError, ShapeError, DtypeError
        Words are neither texts nor integers, there are more than 2^30 counts, or ``ngram_range`` is invalid.
    ArrayError, DeviceMismatchError, NoVariantError
        As for :func:`gpuprims.reduce`.

    Notes
    -----
    For texts, the result equals ``HashingVectorizer(n_features, alternate_sign=False, norm=None)`` as a dense matrix.
    The host hashes each distinct word once, by MurmurHash3 with seed 0. The device hashes word ids, with the result of
    :func:`sklearn.utils.murmurhash3_32` for int32, or for the bytes of neighbouring ids.

    Examples
    --------
    >>> import gpuprims
    >>> gpuprims.hash_counts(["free money, free", "see you at home"], 8, device="reference")
    array([[0., 0., 1., 0., 0., 0., 2., 0.],
           [1., 0., 0., 1., 1., 1., 0., 0.]], dtype=float32)
    >>> gpuprims.hash_counts([[7, 7, 1], [], [1]], 4, device="reference")
    array([[0., 2., 1., 0.],
           [0., 0., 0., 0.],
           [0., 0., 1., 0.]], dtype=float32)
    >>> gpuprims.hash_counts([[7, 7, 1], [], [1]], 4, ngram_range=(2, 2), device="reference")
    array([[0., 1., 1., 0.],
           [0., 0., 0., 0.],
           [0., 0., 0., 0.]], dtype=float32)
    """
    if unknown:
        refuse_keywords("hash_counts", keywords_of(hash_counts), unknown)
    features = _checked_features(n_features)
    if analyzer is not None and (segments is not None or not callable(analyzer)):
        raise ArgumentError(f"{_LABEL}: analyzer= a function of a text, without segments=; got {short(analyzer)}")
    sizes = _checked_sizes(ngram_range, analyzer)
    words, offsets, hashed = documents, segments, False
    if segments is None:
        words, offsets, hashed = _flatten(documents, analyzer, ngram_range)
    operands = as_operands(_LABEL, (words,), device)
    written = as_out(operands, out)
    ids = _checked_ids(operands)
    rows = Segments(offsets, operands)
    rows.check()
    size = rows.count * features
    if size > MOST_BINS:
        raise ArgumentError(f"{_LABEL}: documents times n_features up to 2^30; got {rows.count} x {features}")
    flat = _keys(operands, ids, rows, features, range(1, 2) if hashed else sizes, hashed=hashed)
    keys = as_operands(_LABEL, (flat,), operands.device)
    counts = count(keys, direct(size), size, 0, variant=variant).sums
    counts = counts.reshape(rows.count, features)
    found = map_elements(lambda n: n.astype(np.float32), counts, device=operands.device)
    return to_out(operands, (found,), written, (None,))[0]


def _checked_features(n_features: Any) -> int:
    whole = isinstance(n_features, int | np.integer) and not isinstance(n_features, bool)
    if not whole or not 1 <= n_features <= MOST_BINS:
        raise ArgumentError(f"{_LABEL}: n_features from 1 to 2^30; got {quoted(n_features)}")
    return int(n_features)


def _checked_sizes(ngram_range: Any, analyzer: Any) -> range:
    """Return the numbers of neighbouring words that are counted together."""
    low, high = checked_range(f"{_LABEL}: ngram_range", ngram_range, _LONGEST)
    if analyzer is not None and high > 1:
        rule = f"{_LABEL}: ngram_range= without analyzer=, which returns n-grams itself"
        raise ArgumentError(f"{rule}; got both (pass ngram_range to the vectorizer that builds the analyzer)")
    return range(low, high + 1)


def checked_range(label: str, given: Any, longest: int) -> tuple[int, int]:
    """Return two whole numbers from 1 to ``longest``, in order; raise ArgumentError for anything else."""
    try:
        low, high = (operator.index(one) for one in given)
        fits = 1 <= low <= high <= longest
    except (TypeError, ValueError):
        fits = False
    if not fits:
        rule = f"{label}=(least, largest), whole numbers from 1 to {longest} in order"
        raise ArgumentError(f"{rule}; got {quoted(given)}")
    return low, high


# words on the host ---------------------------------------------------------------------------------------------------


def _flatten(
    documents: Any, analyzer: Callable[[Any], Iterable[str]] | None, ngram_range: tuple[int, int]
) -> tuple[np.ndarray, Any, bool]:
    """Return the words of all documents as integers, row offsets, and True if the integers are hashes."""
    refuse_masked(_LABEL, documents)
    if device_of(documents) is not None:
        raise ArgumentError(f"{_LABEL}: segments= with an array on a device; got none")
    whole = isinstance(documents, str | bytes) or getattr(documents, "shape", None) == ()
    if whole or not isinstance(documents, Iterable):
        raise ArrayError(f"{_LABEL}: a sequence of documents; got {short(documents)} (pass a list of texts)")
    rows = list(documents)
    texts = sum(isinstance(row, str) for row in rows)
    hashed = texts == len(rows)
    if hashed:
        analyze = analyzer or HashingVectorizer(ngram_range=ngram_range).build_analyzer()
        hashes = _Hashes()
        parts = [np.fromiter(map(hashes.__getitem__, analyze(text)), _INT32) for text in rows]
    elif texts or analyzer is not None:
        raise ArrayError(f"{_LABEL}: only texts, or only integers and no analyzer=; got {texts} texts of {len(rows)}")
    else:
        parts = [_row(k, document) for k, document in enumerate(rows)]
    dtype = np.result_type(_INT32, *{part.dtype for part in parts})
    words = np.concatenate([np.zeros(0, _INT32), *parts], dtype=dtype)
    return words, np.cumsum([0, *(part.size for part in parts)]), hashed


class _Hashes(dict[Any, int]):
    """The hash of each word, computed once."""

    def __missing__(self, word: Any) -> int:
        if not isinstance(word, str | bytes):
            raise DtypeError(f"{_LABEL}: an analyzer= that returns words as str or bytes; got {short(word)}")
        found = self[word] = int(murmurhash3_32(word, seed=0))
        return found


def _row(k: int, document: Any) -> np.ndarray:
    row = plain_array(_LABEL, document, f"integers on the host as document {k}")
    if row.ndim != 1:
        got = f"shape {row.shape}" if row.ndim else short(document)
        raise ShapeError(f"{_LABEL}: a text, or a sequence of integers, as document {k}; got {got}")
    if not row.size:  # the dtype of an empty list means nothing
        return row.astype(_INT32)
    if row.dtype.kind not in "iu":
        raise DtypeError(f"{_LABEL}: a text, or integers, as document {k}; got dtype {row.dtype}")
    return row


# words on the device -------------------------------------------------------------------------------------------------


def _checked_ids(operands: Operands) -> Any:
    """Return the word ids on the device after checking them."""
    words = operands.natives[0]
    if words.ndim != 1:
        raise ShapeError(f"{_LABEL}: a one-dimensional array with segments=; got shape {words.shape}")
    if words.dtype.kind not in "iu" or words.dtype == np.uint64:
        raise DtypeError(f"{_LABEL}: integers that fit int32; got dtype {words.dtype}")
    ids = operands.driver.asarray(words) if operands.on_host and not operands.in_place else words
    if not np.can_cast(words.dtype, _INT32):
        changed = reduce(ids, map=lambda x: x.astype(_INT32) != x, op="any", device=operands.device)
        if bool(operands.to_host(changed)):
            raise ArgumentError(f"{_LABEL}: integers from -2^31 to 2^31 - 1, which fit int32; got others")
    return ids


def _keys(operands: Operands, words: Any, rows: Segments, features: int, sizes: range, *, hashed: bool) -> Any:
    """Return each run's index in the flat table of counts; -1 for runs of words of two documents.

    Runs of each of ``sizes`` come one after the other.
    """
    row = rows_of(operands, rows)
    lengths = [max(rows.size - size + 1, 0) for size in sizes]
    keys, first = operands.empty((sum(lengths),), _INT32), 0
    for size, length in zip(sizes, lengths, strict=True):
        if length:
            views = [words[at : at + length] for at in range(size)]
            part = operands.cut(keys, first, (length,))
            key = _one_key(features, hashed=hashed) if size == 1 else _run_key(features)
            ends = [row[:length], row[size - 1 : size - 1 + length]][: min(size, 2)]
            map_elements(key, *ends, *views, out=part, device=operands.device)
        first += length
    return keys


def _one_key(features: int, *, hashed: bool) -> Callable[..., Any]:
    def key(row: Any, word: Any) -> Any:
        bits = word.astype(np.uint32)
        return _place(row, bits if hashed else _murmurhash3(bits), features)

    return key


def _run_key(features: int) -> Callable[..., Any]:
    def key(row: Any, last: Any, *words: Any) -> Any:
        place = _place(row, _murmurhash3(*[word.astype(np.uint32) for word in words]), features)
        return np.where(row == last, place, -1)

    return key


def _place(row: Any, hash_: Any, features: int) -> Any:
    magnitude = np.minimum(hash_, -hash_)  # of a signed hash, also of -2^31
    return row.astype(_INT32) * features + (magnitude % features).astype(_INT32)


def _murmurhash3(*words: Any) -> Any:
    """Return MurmurHash3 (x86, 32 bits, seed 0) of the bytes of uint32 words; Austin Appleby, public domain."""
    mixed = words[0] * 0
    for word in words:
        mixed = mixed ^ (_rotated(word * 0xCC9E2D51, 15) * 0x1B873593)
        mixed = _rotated(mixed, 13) * 5 + 0xE6546B64
    mixed = mixed ^ (4 * len(words))
    mixed = (mixed ^ (mixed >> 16)) * 0x85EBCA6B
    mixed = (mixed ^ (mixed >> 13)) * 0xC2B2AE35
    return mixed ^ (mixed >> 16)


def _rotated(word: Any, bits: int) -> Any:
    return (word << bits) | (word >> (32 - bits))
