"""hash_counts: documents to rows of hashed word counts, as a spam filter wants them."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.utils import murmurhash3_32

from gpuprims.core.device import Device, device_of
from gpuprims.core.interop import short
from gpuprims.core.operands import Operands, as_operands
from gpuprims.errors import ArgumentError, ArrayError, DtypeError, ShapeError, quoted
from gpuprims.expressions.masks import plain_array, refuse_masked
from gpuprims.primitives.histogram.binning import MOST_BINS, check_bins, direct
from gpuprims.primitives.histogram.counting import Weighing, count
from gpuprims.primitives.map import map as map_elements
from gpuprims.primitives.reduce import reduce
from gpuprims.primitives.scan import scan
from gpuprims.primitives.segments import Segments

_LABEL = "hash_counts"
_INT32, _FLOAT32 = np.dtype(np.int32), np.dtype(np.float32)


def hash_counts(
    documents: Any,
    n_features: int,
    *,
    segments: Any = None,
    analyzer: Callable[[Any], Iterable[str]] | None = None,
    device: str | Device | None = None,
    variant: str | None = None,
) -> Any:
    """Count the words of each document, in as many features as asked for, to which a hash assigns them.

    Parameters
    ----------
    documents : sequence of str, sequence of sequences of int, or array of int
        Texts; or the integers that stand for each document's words; or, with ``segments``, those of all documents one
        after the other, on the host or on a device. Integers are those that int32 holds.
    n_features : int
        Columns of the result.
    segments : array_like of int, optional
        Where each document begins in ``documents``, and after them where the last ends: row offsets as in CSR.
    analyzer : callable, optional
        From a text to its words; by default that of :class:`sklearn.feature_extraction.text.HashingVectorizer`. That
        class and CountVectorizer make others by ``build_analyzer()``.
    device : str or Device, optional
        Where to compute, for host arrays.
    variant : str, optional
        The kernel to use, of a histogram's, instead of the best one.

    Returns
    -------
    array of float32, of shape (documents, n_features)
        On the device, where the integers lie on one. Counts above 2^24 are rounded.

    Raises
    ------
    ArgumentError, ShapeError, DtypeError
        Words that are neither texts nor integers, more than 2^30 counts.
    ArrayError, DeviceMismatchError, NoVariantError
        As :func:`gpuprims.reduce`.

    Notes
    -----
    Of texts the result is that of ``HashingVectorizer(n_features, alternate_sign=False, norm=None)``, as a dense
    matrix: words are hashed by MurmurHash3 with seed 0, on the host and each distinct one once. An integer is hashed on
    the device, to what :func:`sklearn.utils.murmurhash3_32` makes of it as an int32.

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
    """
    features = _checked_features(n_features)
    if analyzer is not None and (segments is not None or not callable(analyzer)):
        raise ArgumentError(f"{_LABEL}: analyzer= a function of a text, and no segments=; got {short(analyzer)}")
    words, offsets, hashed = _laid_flat(documents, analyzer) if segments is None else (documents, segments, False)
    operands = as_operands(_LABEL, (words,), device)
    held = _held(operands)
    rows = Segments(_LABEL, offsets, operands, held.size)
    places = rows.count * features
    if places > MOST_BINS:
        raise ArgumentError(f"{_LABEL}: at most 2^30 counts, documents times n_features; got {rows.count} x {features}")
    keyed = as_operands(_LABEL, (_keys(operands, held, rows, features, hashed=hashed),), operands.device)
    counts = count(keyed, direct(places), (0,), Weighing("counts"), places, variant)
    table = counts.reshape(rows.count, features)
    return operands.finish(map_elements(lambda n: n.astype(_FLOAT32), table, device=operands.device))


def _checked_features(n_features: Any) -> int:
    whole = isinstance(n_features, int | np.integer) and not isinstance(n_features, bool)
    if not whole or not 1 <= n_features <= MOST_BINS:
        raise ArgumentError(f"{_LABEL}: n_features from 1 to 2^30; got {quoted(n_features)}")
    return int(n_features)


# words on the host ---------------------------------------------------------------------------------------------------


def _laid_flat(documents: Any, analyzer: Callable[[Any], Iterable[str]] | None) -> tuple[np.ndarray, Any, bool]:
    """Return the words of all documents, as integers, where each document begins, and whether these are hashes."""
    refuse_masked(_LABEL, documents)
    if device_of(documents) is not None:
        raise ArgumentError(f"{_LABEL}: segments= with an array of a device; got none")
    if isinstance(documents, str | bytes) or not isinstance(documents, Iterable):
        raise ArrayError(f"{_LABEL}: a sequence of documents; got {short(documents)}")
    rows = list(documents)
    texts = sum(isinstance(row, str) for row in rows)
    if texts < len(rows):
        if texts or analyzer is not None:
            raise ArrayError(f"{_LABEL}: texts alone, or integers alone and no analyzer=; got {texts} texts and more")
        return *_joined(rows), False
    return *_hashed(rows, analyzer or HashingVectorizer().build_analyzer()), True


class _Hashes(dict[Any, int]):
    """The hash of each word, computed when it is first met."""

    def __missing__(self, word: Any) -> int:
        if not isinstance(word, str | bytes):
            raise DtypeError(f"{_LABEL}: an analyzer= that gives words, of str or bytes; got {short(word)}")
        found = self[word] = int(murmurhash3_32(word, seed=0))
        return found


def _hashed(texts: Sequence[str], analyze: Callable[[Any], Iterable[str]]) -> tuple[np.ndarray, np.ndarray]:
    hashes = _Hashes()
    flat, offsets = array("i"), [0]
    for text in texts:
        flat.extend(hashes[word] for word in analyze(text))
        offsets.append(len(flat))
    return np.array(flat, _INT32), np.array(offsets)


def _joined(documents: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
    rows = [_row(k, document) for k, document in enumerate(documents)]
    dtype = np.result_type(_INT32, *(row.dtype for row in rows))
    return np.concatenate(rows, dtype=dtype), np.cumsum([0, *(row.size for row in rows)])


def _row(k: int, document: Any) -> np.ndarray:
    row = plain_array(_LABEL, document, f"integers of the host as document {k}")
    if row.ndim != 1:
        raise ShapeError(f"{_LABEL}: a sequence of integers as document {k}; got shape {row.shape}")
    if not row.size:  # of whatever dtype NumPy gives to nothing
        return row.astype(_INT32)
    if row.dtype.kind not in "iu":
        raise DtypeError(f"{_LABEL}: a text, or integers, as document {k}; got dtype {row.dtype}")
    return row


# words on the device -------------------------------------------------------------------------------------------------


def _held(operands: Operands) -> Any:
    """Return the words where kernels reach them, so that all that is made of them stays there, or raise."""
    words = operands.natives[0]
    if words.ndim != 1:
        raise ShapeError(f"{_LABEL}: an array of one dimension with segments=; got shape {words.shape}")
    if words.dtype.kind not in "iu" or words.dtype == np.uint64:
        raise DtypeError(f"{_LABEL}: integers that int32 holds; got dtype {words.dtype}")
    held = operands.driver.asarray(words) if operands.on_host and not operands.in_place else words
    if not np.can_cast(words.dtype, _INT32) and _any_lost(operands, held):
        raise ArgumentError(f"{_LABEL}: integers from -2^31 to 2^31 - 1, which int32 holds; got others")
    return held


def _any_lost(operands: Operands, words: Any) -> bool:
    lost = reduce(words, map=lambda x: x.astype(_INT32) != x, op="any", device=operands.device)
    return bool(operands.fetch(lost))


def _keys(operands: Operands, words: Any, rows: Segments, features: int, *, hashed: bool) -> Any:
    """Return, for each word, the number of its count in the table."""

    def key(word: Any, row: Any) -> Any:
        whole = word.astype(np.uint32)
        return row * features + _feature(whole if hashed else _murmurhash3(whole), features)

    return map_elements(key, words, _numbers(operands, rows), device=operands.device)


def _numbers(operands: Operands, rows: Segments) -> Any:
    """Return, for each word, the number of its document."""
    if operands.in_place:
        return np.repeat(np.arange(rows.count, dtype=_INT32), np.diff(rows.offsets))
    # On a device of its own, where a copy would cost more: how many documents have ended at each word, or before.
    ends = as_operands(_LABEL, (rows.offsets[1:],), operands.device)
    ended = count(ends, direct(check_bins(_LABEL, rows.size)), (0,), Weighing("counts"), rows.size, None)
    return scan(ended, dtype=_INT32, device=operands.device)


def _feature(hashed: Any, features: int) -> Any:
    """Return the magnitude of a signed hash, that of -2^31 included, modulo the number of features."""
    return (np.minimum(hashed, -hashed) % features).astype(_INT32)


def _murmurhash3(word: Any) -> Any:
    """Return MurmurHash3 (x86, 32 bits, seed 0) of the four bytes of a uint32; Austin Appleby, public domain."""
    mixed = _rotated(word * 0xCC9E2D51, 15) * 0x1B873593
    mixed = (_rotated(mixed, 13) * 5 + 0xE6546B64) ^ 4
    mixed = (mixed ^ (mixed >> 16)) * 0x85EBCA6B
    mixed = (mixed ^ (mixed >> 13)) * 0xC2B2AE35
    return mixed ^ (mixed >> 16)


def _rotated(word: Any, bits: int) -> Any:
    return (word << bits) | (word >> (32 - bits))
