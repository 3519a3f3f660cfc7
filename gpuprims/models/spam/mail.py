"""Labelled texts, read from lines ``label<TAB>text`` or generated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np

from gpuprims.errors import ArgumentError, quoted

_LABEL = "mail"
# Generated mail: distinct words, the fewest and most words of a text, and the standard deviation of a word's log odds
# between the labels. With 1,024 features these give the test error of real mail, 3 to 5 %.
_VOCABULARY, _SHORTEST, _LONGEST, _ODDS = 20_000, 10, 120, 1.1


@dataclass(frozen=True)
class Mail:
    """Texts with a label each.

    Parameters
    ----------
    labels : ndarray of str, of shape (n,)
    texts : tuple of str
    """

    labels: np.ndarray
    texts: tuple[str, ...]


def read_mail(path: str | PathLike[str]) -> Mail:
    r"""Read a UTF-8 file of lines ``label<TAB>text`` with two labels.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    Mail
        Without spaces and tabs around labels and texts; tabs within a text stay.

    Raises
    ------
    ArgumentError
        A file that cannot be read, a line of another form, a third label, or only one label.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from gpuprims.models import read_mail
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "mail.tsv"
    ...     _ = path.write_text("ham\tlunch at noon?\nspam\tfree prize\n", encoding="utf-8")
    ...     read_mail(path)
    Mail(labels=array(['ham', 'spam'], dtype='<U4'), texts=('lunch at noon?', 'free prize'))
    """
    try:
        lines = Path(path).read_bytes().splitlines()
    except OSError as error:
        raise ArgumentError(f"{_LABEL}: a readable file; got {str(path)!r} ({error.strerror})") from error
    labels: list[str] = []
    texts: list[str] = []
    known: set[str] = set()
    for where, line in decoded(lines, str(path)):
        label, tab, text = line.partition("\t")
        if not tab:
            raise ArgumentError(f"{where}: a label, a tab and a text; got no tab in {quoted(line[:40])}")
        if not label.strip():
            raise ArgumentError(f"{where}: a label before the tab; got {quoted(label)}")
        label = label.strip()
        known.add(label)
        if len(known) > 2:
            others = " and ".join(sorted(map(repr, known - {label})))
            raise ArgumentError(f"{where}: one of two labels, {others}; got {quoted(label)}")
        labels.append(label)
        texts.append(text.strip())
    if len(known) < 2:
        got = f"only {quoted(labels[0])}" if labels else "no lines"
        raise ArgumentError(f"{path}: lines with two labels; got {got}")
    return Mail(np.array(labels), tuple(texts))


def decoded(lines: Iterable[bytes], name: str) -> Iterator[tuple[str, str]]:
    """Yield each line's position, such as "mail.tsv, line 1", and text; raise ArgumentError unless it is UTF-8."""
    for number, line in enumerate(lines, 1):
        where = f"{name}, line {number}"
        try:
            yield where, line.decode("utf-8-sig").rstrip("\r\n")  # -sig: some editors write a byte order mark
        except UnicodeDecodeError as error:
            raise ArgumentError(
                f"{where}: text in UTF-8; got {quoted(error.object[error.start : error.end])}"
            ) from error


def generated_mail(documents: int = 5000, *, spam_share: float = 0.37, seed: int = 0) -> Mail:
    """Generate texts of invented words with the labels "spam" and "ham".

    Parameters
    ----------
    documents : int, default 5000
    spam_share : float, default 0.37
        Share of the texts that are spam.
    seed : int, default 0
        Equal seeds give equal texts.

    Raises
    ------
    ArgumentError
        Fewer than two documents, or a share that leaves no texts of one label.

    Notes
    -----
    Words follow Zipf's law: the k-th is drawn in proportion to 1/k, times a random factor that differs between spam and
    ham.

    Examples
    --------
    >>> from gpuprims.models import generated_mail
    >>> mail = generated_mail(100)
    >>> len(mail.texts), int((mail.labels == "spam").sum())
    (100, 37)
    """
    spam = round(documents * spam_share)
    if not 0 < spam < documents:
        raise ArgumentError(f"{_LABEL}: documents of both labels; got {spam} spam of {documents}")
    rng = np.random.default_rng(seed)
    frequency = 1 / np.arange(1.0, _VOCABULARY + 1)
    odds = rng.normal(0, _ODDS, _VOCABULARY)
    texts = [*_texts(rng, spam, frequency * np.exp(odds / 2))]
    texts += _texts(rng, documents - spam, frequency * np.exp(-odds / 2))
    labels = np.array(["spam"] * spam + ["ham"] * (documents - spam))
    order = rng.permutation(documents)
    return Mail(labels[order], tuple(texts[k] for k in order))


def _texts(rng: np.random.Generator, documents: int, frequency: np.ndarray) -> Iterator[str]:
    lengths = rng.integers(_SHORTEST, _LONGEST + 1, documents)
    words = rng.choice(len(frequency), lengths.sum(), p=frequency / frequency.sum())
    for part in np.split(words, np.cumsum(lengths)[:-1]):
        yield " ".join(f"word{number}" for number in part)
