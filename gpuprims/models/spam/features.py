"""Features of a spam filter: the hashed words and marks of each text."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from gpuprims.core.device import Device
from gpuprims.models.spam.hashing import hash_counts

_TOKENS = re.compile(r"\w+|[^\w\s]")


def words_and_marks(text: str) -> list[str]:
    """Return the words of a text in lower case, its punctuation marks, and the lengths of its numbers.

    Parameters
    ----------
    text : str

    Examples
    --------
    >>> from gpuprims.models.spam import words_and_marks
    >>> words_and_marks("FREE! Call 08001234")
    ['free', '!', 'call', '08001234', '#8']
    """
    tokens = _TOKENS.findall(text.lower())
    # Telephone numbers differ, but have equal lengths.
    return [*tokens, *(f"#{len(token)}" for token in tokens if token.isdigit())]


def text_features(texts: Sequence[str], n_features: int, *, device: str | Device | None = None) -> np.ndarray:
    """Return which hashed words and marks each text contains.

    Parameters
    ----------
    texts : sequence of str
    n_features : int
        Columns of the result.
    device : str or Device, optional
        Where to count. Default: the best device.

    Returns
    -------
    ndarray of float32, of shape (texts, n_features)
        :func:`gpuprims.hash_counts` of :func:`words_and_marks`, clipped at 1: whether a word occurs predicts better
        than how often, and long texts do not outweigh short ones.

    Examples
    --------
    >>> from gpuprims.models.spam import text_features
    >>> text_features(["win! win! win!", "at noon?"], 8, device="reference")
    array([[0., 0., 0., 0., 1., 0., 1., 0.],
           [0., 0., 1., 0., 0., 1., 0., 1.]], dtype=float32)
    """
    counts = hash_counts(texts, n_features, analyzer=words_and_marks, device=device)
    clipped: np.ndarray = np.minimum(counts, 1)
    return clipped
