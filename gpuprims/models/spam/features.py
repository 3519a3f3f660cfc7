"""Features of texts: hashed words, marks, pairs of words, and runs of characters."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from gpuprims.core.device import Device
from gpuprims.errors import ArgumentError, quoted
from gpuprims.models.spam.hashing import checked_range, hash_counts

_TOKENS = re.compile(r"\w+|[^\w\s]")
_LONGEST = 16  # most characters of a run
# Most columns of a dense result. Wider results are sparse; they are counted for so many texts at a time.
_MOST_DENSE, _TEXTS_AT_ONCE = 4096, 512


@dataclass(frozen=True)
class TextOptions:
    r"""Features that :func:`text_features` counts besides words and punctuation marks.

    Parameters
    ----------
    word_pairs : bool, default False
        Count pairs of neighbouring words or marks too.
    characters : (int, int), optional
        Count runs of characters too. The pair is the length of the shortest and of the longest runs, at most 16. Texts
        are in lower case, with a space at each end. New words then share features with known ones.
    unit_length : bool, default False
        Scale each text's features to length 1, so that scores of short texts are as far from 0 as those of long ones.

    Examples
    --------
    >>> from gpuprims.models.spam import TextOptions
    >>> TextOptions(word_pairs=True).tokens("WIN now")
    ['win', 'now', 'win now']
    >>> TextOptions(characters=(3, 3)).tokens("no!")
    ['no', '!', '\x00 no', '\x00no!', '\x00o! ']
    """

    word_pairs: bool = False
    characters: tuple[int, int] | None = None
    unit_length: bool = False

    def __post_init__(self) -> None:
        for name in ("word_pairs", "unit_length"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise ArgumentError(f"spam: {name}= True or False; got {quoted(getattr(self, name))}")
        if self.characters is not None:
            object.__setattr__(self, "characters", checked_range("spam: characters", self.characters, _LONGEST))

    def tokens(self, text: str) -> list[str]:
        """Return the tokens of a text, which :func:`text_features` counts."""
        words = words_and_marks(text)
        found = list(words)
        if self.word_pairs:
            plain = _TOKENS.findall(text.lower())
            found += (f"{first} {second}" for first, second in pairwise(plain))
        if self.characters is not None:
            line = f" {' '.join(text.lower().split())} " if words else ""
            low, high = self.characters
            # A null character, which no text has, keeps a run apart from a word with the same letters.
            found += (
                f"\0{line[at : at + size]}" for size in range(low, high + 1) for at in range(len(line) - size + 1)
            )
        return found


PLAIN = TextOptions()


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
    # Telephone numbers differ, but their lengths are equal.
    return [*tokens, *(f"#{len(token)}" for token in tokens if token.isdigit())]


def text_features(
    texts: Sequence[str], n_features: int, *, options: TextOptions = PLAIN, device: str | Device | None = None
) -> Any:
    """Return a matrix of the hashed words and marks that each text contains.

    Parameters
    ----------
    texts : sequence of str
    n_features : int
        Number of columns.
    options : TextOptions, optional
        Further features to count.
    device : str or Device, optional
        Where to count. Default: the best device.

    Returns
    -------
    ndarray of float32, or from 4,097 features on a SciPy CSR array, of shape (texts, n_features)
        :func:`gpuprims.hash_counts` of the tokens, clipped at 1: whether a word occurs predicts better than how often,
        and long texts do not outweigh short ones.

    Examples
    --------
    >>> from gpuprims.models.spam import text_features
    >>> text_features(["win! win! win!", "at noon?"], 8, device="reference")
    array([[0., 0., 0., 0., 1., 0., 1., 0.],
           [0., 0., 1., 0., 0., 1., 0., 1.]], dtype=float32)
    """
    if not _many(n_features):
        return _dense(texts, n_features, options, device)
    parts = (texts[start : start + _TEXTS_AT_ONCE] for start in range(0, len(texts), _TEXTS_AT_ONCE))
    found = [sparse.csr_array(_dense(part, n_features, options, device)) for part in parts]
    return sparse.vstack(found, "csr") if found else sparse.csr_array((0, n_features), dtype=np.float32)


def _many(n_features: Any) -> bool:
    return isinstance(n_features, int | np.integer) and bool(n_features > _MOST_DENSE)


def _dense(texts: Sequence[str], n_features: int, options: TextOptions, device: str | Device | None) -> np.ndarray:
    counts = np.asarray(hash_counts(texts, n_features, analyzer=options.tokens, device=device))
    present: np.ndarray = np.minimum(counts, 1)
    if options.unit_length:
        number = present.sum(axis=1, keepdims=True)
        present /= np.sqrt(np.maximum(number, 1))
    return present
