"""Labelled texts, read from lines ``label<TAB>text`` or generated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np

from gpuprims.datasets.words import drawn_mail
from gpuprims.errors import ArgumentError, quoted

_LABEL = "mail"


@dataclass(frozen=True)
class Mail:
    """Labelled texts.

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
        Labels and texts are stripped of spaces and tabs at their ends; tabs within a text stay.

    Raises
    ------
    ArgumentError
        The file cannot be read, a line has another form, or there are not exactly two labels.

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
        There are fewer than two documents, or the share leaves a label without texts.

    Notes
    -----
    Words follow Zipf's law: the probability of word k is proportional to 1/k, times a random factor that differs
    between spam and ham.

    Examples
    --------
    >>> from gpuprims.models import generated_mail
    >>> mail = generated_mail(100)
    >>> len(mail.texts), int((mail.labels == "spam").sum())
    (100, 37)
    """
    spam, drawn = drawn_mail(_LABEL, documents, spam_share, seed)
    texts = (" ".join(f"word{number}" for number in words) for words in drawn)
    return Mail(np.where(spam, "spam", "ham"), tuple(texts))
