"""A spam filter: text features, a logistic regression, and one file for both."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from numbers import Real
from os import PathLike
from typing import Any, Self

import numpy as np
from scipy.special import expit, logit

from gpuprims.core.device import Device
from gpuprims.errors import ArgumentError, quoted
from gpuprims.expressions.masks import refuse_masked
from gpuprims.models.archives import Archive, open_archive, write_archive
from gpuprims.models.files import MODEL_ARRAYS, SPAM_ARRAY, model_arrays, model_of
from gpuprims.models.logreg import LogReg
from gpuprims.models.spam.features import PLAIN, TextOptions, text_features

# The kind of features, as a file names it. A release with other features refuses the file.
_KIND = "words, marks and lengths of numbers, clipped at 1"


def positive_probabilities(model: Any, samples: Any, positive: str) -> np.ndarray:
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
    """A trained spam filter; :func:`gpuprims.models.train_filter` returns one.

    Parameters
    ----------
    model : LogReg
        A fitted classifier with two labels.
    n_features : int
        Number of columns that words are hashed to.
    threshold : float
        Texts with this probability or more get the positive label.
    positive : str, default "spam"
        The positive label.
    device : str or Device, optional
        Where to count words. Default: the best device.
    options : TextOptions, optional
        Features to count besides words and punctuation marks.
    calibration : (float, float), optional
        Slope and constant of the calibration: the model's log odds are multiplied by the slope, and the constant is
        added.

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
    options: TextOptions = PLAIN
    calibration: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        check_threshold(self.threshold)
        names = np.asarray(getattr(self.model, "classes_", [])).tolist()
        if len(names) != 2 or self.positive not in names:
            got = " and ".join(map(repr, names[:3])) or "none, as it is not fitted"
            raise ArgumentError(f"spam: a model of the label {quoted(self.positive)} and one other; got {got}")

    def label(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return each text's label and its probability of being positive."""
        if not texts:
            return self.model.classes_[:0], np.zeros(0)
        features = text_features(texts, self.n_features, options=self.options, device=self.device)
        probabilities = self.probabilities(features)
        return self.labels_from(probabilities), probabilities

    def probabilities(self, features: Any) -> np.ndarray:
        """Return the probability that each row of :func:`text_features` is positive, calibrated if the filter is."""
        found = positive_probabilities(self.model, features, self.positive)
        return found if self.calibration is None else calibrated(found, self.calibration)

    def labels_from(self, probabilities: np.ndarray) -> np.ndarray:
        """Return the label for each probability of being positive."""
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
            The path has another suffix, the file cannot be written, or the model is not a :class:`LogReg`.
        """
        label = "SpamFilter.save"
        if not isinstance(self.model, LogReg):
            raise ArgumentError(f"{label}: a filter whose model is a LogReg; got a {type(self.model).__name__}")
        settings = {"features": _KIND, "n_features": int(self.n_features), "threshold": float(self.threshold)}
        settings["positive"] = str(self.positive)
        if self.options != PLAIN:
            settings["options"] = asdict(self.options)
        if self.calibration is not None:
            settings["calibration"] = list(map(float, self.calibration))
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
            Replaces the saved threshold.
        device : str or Device, optional
            Where to compute. Default: the best device.

        Raises
        ------
        ModelFileError
            The file is not a filter, is damaged, has another release's features, is a directory, or cannot be read.
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


def calibrated(probabilities: np.ndarray, calibration: tuple[float, float]) -> np.ndarray:
    """Multiply the log odds of probabilities by a slope, add a constant, and return the new probabilities.

    Source: J. Platt, "Probabilistic outputs for support vector machines", 1999.
    """
    slope, constant = calibration
    found: np.ndarray = expit(slope * log_odds(probabilities) + constant)
    return found


def log_odds(probabilities: np.ndarray) -> np.ndarray:
    """Return the log odds of probabilities; those of 0 and 1 are finite, too."""
    smallest = np.finfo(np.float64).eps
    found: np.ndarray = logit(np.clip(probabilities, smallest, 1 - smallest))
    return found


def check_threshold(threshold: float) -> None:
    """Raise ArgumentError unless a threshold is a probability."""
    if not isinstance(threshold, Real) or not 0 <= threshold <= 1:
        raise ArgumentError(f"spam: a threshold from 0 to 1; got {quoted(threshold)}")


def _settings(archive: Archive) -> dict[str, Any]:
    """Check the settings of a filter and return them."""
    settings = archive.json(SPAM_ARRAY)
    kind = settings.pop("features", None)
    archive.check(kind == _KIND, "its features differ from this release's; train it again")
    keys = {"n_features", "threshold", "positive"}
    allowed = keys | {"options", "calibration"}
    archive.check(keys <= settings.keys() <= allowed, f"{SPAM_ARRAY} has unknown or missing keys")
    archive.check(type(settings["n_features"]) is int, "n_features is not an integer")
    threshold = settings["threshold"]
    archive.check(type(threshold) in (int, float) and 0 <= threshold <= 1, "threshold is not from 0 to 1")
    archive.check(type(settings["positive"]) is str, "positive is not a string")
    if "options" in settings:
        settings["options"] = _options(archive, settings["options"])
    if "calibration" in settings:
        given = settings["calibration"]
        numbers = isinstance(given, list) and [type(one) for one in given] == [float, float]
        archive.check(numbers and bool(np.isfinite(given).all()), "calibration is not two numbers")
        settings["calibration"] = tuple(given)
    return settings


def _options(archive: Archive, given: Any) -> TextOptions:
    """Check the text options of a filter and return them."""
    archive.check(isinstance(given, dict) and given.keys() == asdict(PLAIN).keys(), "its options are unknown")
    try:
        return TextOptions(**given)
    except ArgumentError as error:
        archive.check(False, f"its options are wrong ({error})")
        raise
