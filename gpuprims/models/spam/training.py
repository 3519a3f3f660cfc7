"""Training of a spam filter: the split, cross-validation of its settings, and its error rates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Integral
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict, train_test_split

from gpuprims.core.device import Device
from gpuprims.errors import ArgumentError, quoted
from gpuprims.models.logreg import LogReg
from gpuprims.models.metrics import Rates, rates_table
from gpuprims.models.spam.features import PLAIN, TextOptions, text_features
from gpuprims.models.spam.filter import SpamFilter, calibrated, check_threshold, log_odds
from gpuprims.models.spam.mail import Mail

_LABEL = "spam"
_FOLDS = 5
# Candidates of C. For the SMS Spam Collection's 5,574 messages cross-validation chooses 1 or 3 for every split.
_STRENGTHS = (0.3, 1.0, 3.0, 10.0)
_THRESHOLDS = np.arange(1, 20) / 20


@dataclass(frozen=True)
class Training:
    """A trained filter with its error rates; ``str`` formats a report.

    Parameters
    ----------
    filter : SpamFilter
    C : float
        Inverse of the penalty, chosen by cross-validation.
    parts : dict of str to Rates
        Rates on the training texts, ``"train"``, and on the test texts, ``"test"``.
    seconds : dict of str to float
        Time of each stage.
    """

    filter: SpamFilter
    C: float
    parts: dict[str, Rates]
    seconds: dict[str, float]

    def __str__(self) -> str:
        """Return the settings, the table of rates and the times."""
        chosen = f"{self.filter.n_features:,} features, C = {self.C:g}, {self.filter.positive} from probability"
        times = [f"{stage:16} {1e3 * taken:8.1f} ms" for stage, taken in self.seconds.items()]
        return "\n".join([f"{chosen} {self.filter.threshold:g}", "", rates_table(self.parts), "", *times])


def train_filter(
    mail: Mail,
    *,
    n_features: int = 1024,
    test_share: float = 0.2,
    seed: int = 0,
    threshold: float | None = None,
    positive: str = "spam",
    device: str | Device | None = None,
    estimator: Any = None,
    options: TextOptions = PLAIN,
    calibrate: bool = False,
) -> Training:
    """Train a spam filter on one part of labelled texts and test it on the other.

    Parameters
    ----------
    mail : Mail
        Texts with two labels.
    n_features : int, default 1024
        Number of columns that words are hashed to.
    test_share : float, default 0.2
        Share of the texts to test on, stratified by label.
    seed : int, default 0
        Seed of the split and of the folds.
    threshold : float, optional
        Texts with this probability or more get the positive label. Default: the threshold with the fewest errors in
        cross-validation.
    positive : str, default "spam"
        The positive label.
    device : str or Device, optional
        Where to compute. Default: the best device.
    estimator : classifier, optional
        With scikit-learn's interface and a parameter ``C``. Default: a :class:`LogReg`.
    options : TextOptions, optional
        Features to count besides words and punctuation marks, and their scale.
    calibrate : bool, default False
        Fit a slope and a constant of the log odds to the held-out probabilities of cross-validation. Of all texts with
        probability p, about a share p is then positive.

    Returns
    -------
    Training

    Raises
    ------
    ArgumentError
        No text has the label ``positive``, a share or threshold is out of range, or a label has too few texts.

    Notes
    -----
    :func:`gpuprims.models.spam.text_features` describes the features. Cross-validation with five folds of the training
    texts chooses the ``C`` with the least log loss among 0.3, 1, 3 and 10 (for features of unit length, among a hundred
    times these), and the threshold with the fewest errors among 0.05, 0.1, ..., 0.95.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from gpuprims.models import generated_mail, train_filter
    >>> training = train_filter(generated_mail(500), device="reference", estimator=LogisticRegression())
    >>> sorted(training.parts), training.parts["test"].samples
    (['test', 'train'], 100)
    """
    task = Task(mail, n_features, threshold, positive, device, estimator, options, calibrate)
    parts = split(mail.labels, test_share, seed)
    seconds: dict[str, float] = {}
    return task.trained(task.hashed(seconds), parts, seed, seconds)


@dataclass(frozen=True)
class Task:
    """Texts and the checked settings of :func:`train_filter`. Several trainings may share the hashed texts."""

    mail: Mail
    n_features: int
    threshold: float | None
    positive: str
    device: str | Device | None
    estimator: Any
    options: TextOptions
    calibrate: bool

    def __post_init__(self) -> None:
        rules = {
            "mail, a Mail of labels and texts": (self.mail, isinstance(self.mail, Mail)),
            "options= a TextOptions": (self.options, isinstance(self.options, TextOptions)),
            "estimator= a classifier with a parameter C": (
                self.estimator,
                self.estimator is None or "C" in getattr(self.estimator, "get_params", dict)(),
            ),
        }
        for rule, (given, holds) in rules.items():
            if not holds:
                raise ArgumentError(f"{_LABEL}: {rule}; got {quoted(given)}")
        _check_labels(self.mail, self.positive)
        if self.threshold is not None:
            check_threshold(self.threshold)

    def hashed(self, seconds: dict[str, float]) -> Any:
        """Return the features of all texts, and record the time."""
        with _timed(seconds, "hashing"):
            return text_features(self.mail.texts, self.n_features, options=self.options, device=self.device)

    def trained(self, features: Any, parts: dict[str, np.ndarray], seed: int, seconds: dict[str, float]) -> Training:
        """Train and test on parts of the texts."""
        labels, positive = self.mail.labels[parts["train"]], self.positive
        samples = features[parts["train"]]
        fresh = LogReg(self.device, max_iter=1000) if self.estimator is None else self.estimator
        with _timed(seconds, "cross-validation"):
            tried = [100 * one for one in _STRENGTHS] if self.options.unit_length else _STRENGTHS
            strength, held_out = _chosen_strength(fresh, samples, labels, positive, seed, tried)
            calibration = _calibration(held_out, labels == positive) if self.calibrate else None
            held_out = held_out if calibration is None else calibrated(held_out, calibration)
        with _timed(seconds, "training"):
            model = clone(fresh).set_params(C=strength).fit(samples, labels)
        chosen = _least_error(labels == positive, held_out) if self.threshold is None else self.threshold
        made = SpamFilter(model, self.n_features, chosen, positive, self.device, self.options, calibration)
        rates = {}
        with _timed(seconds, "testing"):
            for part, places in parts.items():
                guesses = made.labels_from(made.probabilities(features[places]))
                rates[part] = Rates.of(self.mail.labels[places], guesses, positive=positive)
        return Training(made, strength, rates, seconds)


def _check_labels(mail: Mail, positive: str) -> None:
    known, counts = np.unique(mail.labels, return_counts=True)
    names = known.tolist()
    if len(names) != 2 or positive not in names:
        got = " and ".join(map(repr, names[:3])) or "no texts"
        raise ArgumentError(f"{_LABEL}: texts of the label {quoted(positive)} and one other; got {got}")
    if counts.min() <= _FOLDS:
        got = f"{counts.min()} of {quoted(names[counts.argmin()])}"
        raise ArgumentError(f"{_LABEL}: more than {_FOLDS} texts of each label for cross-validation; got {got}")


def split(labels: np.ndarray, test_share: float, seed: int) -> dict[str, np.ndarray]:
    """Return the indices of the training and test texts."""
    if not isinstance(seed, Integral) or not 0 <= seed < 2**32:
        raise ArgumentError(f"{_LABEL}: a seed from 0 to 2^32 - 1; got {quoted(seed)}")
    rule = f"a test share from 0 to 1 that takes texts of both labels and leaves {_FOLDS} of each for training"
    refusal = ArgumentError(f"{_LABEL}: {rule}; got {quoted(test_share)} of {len(labels)}")
    places = np.arange(len(labels))
    try:
        train, test = train_test_split(places, test_size=float(test_share), random_state=seed, stratify=labels)
    except ValueError as error:
        raise refusal from error
    if np.unique(labels[train], return_counts=True)[1].min() < _FOLDS or len(np.unique(labels[test])) < 2:
        raise refusal
    return {"train": train, "test": test}


def _chosen_strength(
    estimator: Any, samples: Any, labels: np.ndarray, positive: str, seed: int, strengths: Sequence[float]
) -> tuple[float, np.ndarray]:
    """Return the C with the least log loss, and its out-of-fold probabilities of the positive label."""
    folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=seed)
    column = np.unique(labels).tolist().index(positive)
    tried = {}
    for strength in strengths:
        model = clone(estimator).set_params(C=strength)
        found = cross_val_predict(model, samples, labels, cv=folds, method="predict_proba")
        tried[strength] = np.asarray(found, np.float64)[:, column]
    best = min(tried, key=lambda strength: float(log_loss(labels == positive, tried[strength])))
    return best, tried[best]


def _calibration(probabilities: np.ndarray, positive: np.ndarray) -> tuple[float, float]:
    """Return the slope and the constant of the log odds that make the labels most likely."""
    model = LogisticRegression(C=np.inf, max_iter=1000).fit(log_odds(probabilities).reshape(-1, 1), positive)
    return float(model.coef_[0, 0]), float(model.intercept_[0])


def _least_error(positive: np.ndarray, probabilities: np.ndarray) -> float:
    """Return the threshold with the fewest errors; of several, the one nearest to 0.5."""
    wrong = ((probabilities >= _THRESHOLDS[:, None]) != positive).sum(axis=1)
    return float(min(zip(wrong, abs(_THRESHOLDS - 0.5), _THRESHOLDS, strict=True))[2])


@contextmanager
def _timed(seconds: dict[str, float], stage: str) -> Iterator[None]:
    start = perf_counter()
    yield
    seconds[stage] = perf_counter() - start
