"""Labelled texts: read from lines of ``label<TAB>text``, or generated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np

from gpuprims.errors import ArgumentError, quoted

_LABEL = "mail"
# Generated mail: words that there are, the least and most of a text, and how far apart the two labels lie: the standard
# deviation of a word's log odds. At 1,024 features it makes a test error of the 3 to 5 % of real mail.
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
    r"""Read a file of lines ``label<TAB>text``, in UTF-8, of two labels.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    Mail
        Spaces and tabs around a text are left out; tabs within it stay.

    Raises
    ------
    ArgumentError
        A file that cannot be read, a line that is not of this form, a third label, or one label alone.

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
        raise ArgumentError(f"{_LABEL}: a file that can be read; got {str(path)!r} ({error.strerror})") from error
    labels: list[str] = []
    texts: list[str] = []
    known: set[str] = set()
    for where, line in decoded(lines, str(path)):
        label, text = _parted(where, line)
        known.add(label)
        if len(known) > 2:
            others = " and ".join(sorted(map(repr, known - {label})))
            raise ArgumentError(f"{where}: a label that is {others}; got {quoted(label)}")
        labels.append(label)
        texts.append(text)
    if len(known) < 2:
        got = f"{quoted(labels[0])} alone" if labels else "no lines"
        raise ArgumentError(f"{path}: lines of two labels; got {got}")
    return Mail(np.array(labels), tuple(texts))


def decoded(lines: Iterable[bytes], name: str) -> Iterator[tuple[str, str]]:
    """Yield, for each line, where it stands and its text.

    Parameters
    ----------
    lines : iterable of bytes
    name : str
        What they are read from, for messages.

    Raises
    ------
    ArgumentError
        A line that is not UTF-8.
    """
    for number, line in enumerate(lines, 1):
        where = f"{name}, line {number}"
        try:
            yield where, line.decode("utf-8-sig").rstrip("\r\n")  # -sig: a mark that editors leave before the first
        except UnicodeDecodeError as error:
            raise ArgumentError(
                f"{where}: text in UTF-8; got {quoted(error.object[error.start : error.end])}"
            ) from error


def _parted(where: str, line: str) -> tuple[str, str]:
    label, tab, text = line.partition("\t")
    if not tab:
        raise ArgumentError(f"{where}: a label, a tab and a text; got no tab in {quoted(line[:40])}")
    if not label.strip():
        raise ArgumentError(f"{where}: a label before the tab; got {quoted(label)}")
    return label.strip(), text.strip()


def generated_mail(documents: int = 5000, *, spam_share: float = 0.37, seed: int = 0) -> Mail:
    """Generate texts of made-up words, "spam" and "ham", that no file is needed for.

    Parameters
    ----------
    documents : int, default 5000
    spam_share : float, default 0.37
        Share of the texts that are spam.
    seed : int, default 0
        The same seed gives the same texts.

    Raises
    ------
    ArgumentError
        Fewer than two documents, or a share that leaves one label without any.

    Notes
    -----
    Words are as frequent as in a language, the k-th in proportion to 1/k; some are more frequent in spam, others in
    ham, by factors that vary around 1.

    Examples
    --------
    >>> from gpuprims.models import generated_mail
    >>> mail = generated_mail(100)
    >>> len(mail.texts), int((mail.labels == "spam").sum())
    (100, 37)
    """
    spam = round(documents * spam_share)
    if not 0 < spam < documents:
        raise ArgumentError(f"{_LABEL}: documents of both labels; got {spam} of {documents} that are spam")
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
