"""A spam filter: text features, a logistic regression, and one file for both."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, Self

import numpy as np

from gpuprims.core.device import Device
from gpuprims.errors import ArgumentError
from gpuprims.expressions.masks import refuse_masked
from gpuprims.models.archives import Archive, open_archive, write_archive
from gpuprims.models.files import MODEL_ARRAYS, SPAM_ARRAY, model_arrays, model_of
from gpuprims.models.logreg import LogReg
from gpuprims.models.spam.hashing import hash_counts

# The kind of features in a file. A release with other features cannot use it.
_KIND = "words, marks and lengths of numbers, clipped at 1"
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
    return np.asarray(np.minimum(counts, 1))


def positive_probabilities(model: Any, samples: np.ndarray, positive: str) -> np.ndarray:
    """Return a fitted classifier's probabilities of one class, of shape (n,), in float64.

    Examples
    --------
    >>> import numpy as np
    >>> from gpuprims.models import LogReg
    >>> from gpuprims.models.spam import positive_probabilities
    >>> samples = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> model = LogReg("reference").fit(samples, ["spam", "spam", "ham", "ham"])
    >>> (positive_probabilities(model, samples, "spam") > 0.5).tolist()
    [True, True, False, False]
    """
    column = model.classes_.tolist().index(positive)
    return np.asarray(model.predict_proba(samples), np.float64)[:, column]


@dataclass(frozen=True)
class SpamFilter:
    """A trained filter, as :func:`gpuprims.models.train_filter` makes it.

    Parameters
    ----------
    model : LogReg
        A fitted classifier of two labels.
    n_features : int
        Columns that words are hashed to.
    threshold : float
        A text is positive from this probability on.
    positive : str, default "spam"
        The positive label.
    device : str or Device, optional
        Where to count words. Default: the best device.

    Examples
    --------
    >>> from gpuprims.models import LogReg, SpamFilter
    >>> from gpuprims.models.spam import text_features
    >>> texts = ["win a prize!", "free prize!", "lunch at noon?", "see you at home"]
    >>> features = text_features(texts, 64, device="reference")
    >>> model = LogReg("reference").fit(features, ["spam", "spam", "ham", "ham"])
    >>> labels, probabilities = SpamFilter(model, 64, 0.5, device="reference").label(["a prize!", "home at noon"])
    >>> labels.tolist()
    ['spam', 'ham']
    """

    model: Any
    n_features: int
    threshold: float
    positive: str = "spam"
    device: str | Device | None = None

    def __post_init__(self) -> None:
        check_threshold(self.threshold)

    def label(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return the label of each text and its probability of being positive."""
        if not texts:
            return self.model.classes_[:0], np.zeros(0)
        features = text_features(texts, self.n_features, device=self.device)
        probabilities = positive_probabilities(self.model, features, self.positive)
        return self.labels_from(probabilities), probabilities

    def labels_from(self, probabilities: np.ndarray) -> np.ndarray:
        """Return the labels for probabilities of the positive one."""
        refuse_masked("spam: probabilities", probabilities)
        (other,) = (name for name in self.model.classes_.tolist() if name != self.positive)
        return np.where(probabilities >= self.threshold, self.positive, other)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model and the settings to one file atomically, without pickle.

        Parameters
        ----------
        path : str or path
            Must end in ``.npz``. ``LogReg.load`` reads the model alone.

        Raises
        ------
        ArgumentError
            Another suffix, a file that cannot be written, or a model that is not a :class:`LogReg`.
        """
        label = "SpamFilter.save"
        if not isinstance(self.model, LogReg):
            raise ArgumentError(f"{label}: a filter whose model is a LogReg; got a {type(self.model).__name__}")
        settings = {"features": _KIND, "n_features": int(self.n_features), "threshold": float(self.threshold)}
        settings["positive"] = str(self.positive)
        write_archive(label, path, {**model_arrays(label, self.model), SPAM_ARRAY: np.array(json.dumps(settings))})

    @classmethod
    def load(
        cls, path: str | PathLike[str], *, threshold: float | None = None, device: str | Device | None = None
    ) -> Self:
        """Read a filter that :meth:`save` wrote.

        Files from untrusted sources are safe to load, as with :meth:`LogReg.load`.

        Parameters
        ----------
        path : str or path
        threshold : float, optional
            Replaces the saved one.
        device : str or Device, optional
            Where to compute. Default: the best device.

        Raises
        ------
        ModelFileError
            No filter, a damaged file, features of another release, a directory, or a file that cannot be read.
        FileNotFoundError
            The file does not exist.
        """
        with open_archive("SpamFilter.load", path, (*MODEL_ARRAYS, SPAM_ARRAY)) as archive:
            settings = _settings(archive)
            model = model_of(archive, LogReg, device)
            fits = settings["n_features"] == model.n_features_in_
            archive.check(fits, f"n_features is {settings['n_features']}, and the model has {model.n_features_in_}")
            names = model.classes_.tolist()
            known = len(names) == 2 and settings["positive"] in names
            archive.check(known, f"positive is {settings['positive']!r}, which is not one of two classes")
        if threshold is not None:
            settings["threshold"] = threshold
        return cls(model, **settings, device=device)


def check_threshold(threshold: float) -> None:
    """Raise ArgumentError unless a threshold is a probability."""
    if not 0 <= threshold <= 1:
        raise ArgumentError(f"spam: a threshold from 0 to 1; got {threshold}")


def _settings(archive: Archive) -> dict[str, Any]:
    """Check the settings of a filter and return them."""
    settings = archive.json(SPAM_ARRAY)
    kind = settings.pop("features", None)
    archive.check(kind == _KIND, "its features differ from this release's; train it again")
    keys = {"n_features", "threshold", "positive"}
    archive.check(settings.keys() == keys, f"{SPAM_ARRAY} has unknown or missing keys")
    archive.check(type(settings["n_features"]) is int, "n_features is not an integer")
    threshold = settings["threshold"]
    archive.check(type(threshold) in (int, float) and 0 <= threshold <= 1, "threshold is not from 0 to 1")
    archive.check(type(settings["positive"]) is str, "positive is not a string")
    return settings
