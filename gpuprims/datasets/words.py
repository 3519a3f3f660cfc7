"""Invented mail: words of spam and ham by their frequency, and counts of them in hashed columns."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any

import numpy as np

from gpuprims.errors import ArgumentError, quoted

# Distinct words, the fewest and most words of a text, and the standard deviation of a word's log odds between the
# labels. With 1,024 features these give the test error of real mail, 3 to 5 %.
_VOCABULARY, _SHORTEST, _LONGEST, _ODDS = 20_000, 10, 120, 1.1
_KNUTH = np.uint64(2654435761)  # near 2^32 over the golden ratio


def drawn_mail(label: str, documents: int, spam_share: float, seed: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return a mask of the spam among the documents, and the numbers of each one's words.

    Words follow Zipf's law: the probability of word k is proportional to 1/k, times a random factor that differs
    between spam and ham. Raise ArgumentError unless there are documents of both.
    """
    if not (isinstance(documents, Integral) and isinstance(spam_share, Real)):
        got = f"{quoted(documents)} and {quoted(spam_share)}"
        raise ArgumentError(f"{label}: a number of documents and a share of spam; got {got}")
    if not isinstance(seed, Integral) or seed < 0:
        raise ArgumentError(f"{label}: seed= a whole number from 0 on; got {quoted(seed)}")
    spam = round(documents * spam_share)
    if not 0 < spam < documents:
        raise ArgumentError(f"{label}: documents of both labels; got {spam} spam of {documents}")
    rng = np.random.default_rng(seed)
    frequency = 1 / np.arange(1.0, _VOCABULARY + 1)
    odds = rng.normal(0, _ODDS, _VOCABULARY)
    drawn = [*_texts(rng, spam, frequency * np.exp(odds / 2))]
    drawn += _texts(rng, documents - spam, frequency * np.exp(-odds / 2))
    order = rng.permutation(documents)
    return order < spam, [drawn[k] for k in order]


def spam_counts(
    samples: int = 5000, features: int = 1024, *, spam_share: float = 0.368, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Generate word counts of spam and ham, in the shape and the shares of the thesis' data.

    Parameters
    ----------
    samples : int, default 5000
        The thesis trains on 4,500 of them.
    features : int, default 1024
        Columns that words are hashed to.
    spam_share : float, default 0.368
        Share of the samples that are spam.
    seed : int, default 0
        Equal seeds give equal counts.

    Returns
    -------
    (ndarray of float32 of shape (samples, features), ndarray of int32 of shape (samples,))
        Counts, and labels: 1 for spam.

    Raises
    ------
    ArgumentError
        No features, or a share that leaves no samples of a label.

    Notes
    -----
    The words are those of :func:`gpuprims.models.generated_mail`; a multiplicative hash of a word's number gives its
    column (D. E. Knuth, "The Art of Computer Programming", volume 3, section 6.4).

    Examples
    --------
    >>> from gpuprims.datasets import spam_counts
    >>> X, y = spam_counts()
    >>> X.shape, float(y.mean())
    ((5000, 1024), 0.368)
    """
    _check_features(features)
    spam, words = drawn_mail("spam_counts", samples, spam_share, seed)
    numbers = np.concatenate(words).astype(np.uint64)
    columns = ((numbers * _KNUTH & np.uint64(0xFFFFFFFF)) * np.uint64(features) >> np.uint64(32)).astype(np.intp)
    rows = np.repeat(np.arange(samples), [len(one) for one in words])
    counts = np.bincount(rows * features + columns, minlength=samples * features)
    return counts.reshape(samples, features).astype(np.float32), spam.astype(np.int32)


def _check_features(features: Any) -> None:
    if not isinstance(features, int | np.integer) or features < 1:
        raise ArgumentError(f"spam_counts: features= a whole number above 0; got {quoted(features)}")


def _texts(rng: np.random.Generator, documents: int, frequency: np.ndarray) -> Iterator[np.ndarray]:
    lengths = rng.integers(_SHORTEST, _LONGEST + 1, documents)
    words = rng.choice(len(frequency), lengths.sum(), p=frequency / frequency.sum())
    yield from np.split(words, np.cumsum(lengths)[:-1])
