"""Training of a spam filter: the split, the choice of its settings by cross-validation, and how well it does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict, train_test_split

from gpuprims.core.device import Device
from gpuprims.errors import ArgumentError, quoted
from gpuprims.models.logreg.estimator import LogReg
from gpuprims.models.metrics import Rates, rates_table
from gpuprims.models.spam.filter import SpamFilter, checked_threshold, positive_probabilities, text_features
from gpuprims.models.spam.mail import Mail

_LABEL = "spam"
_FOLDS = 5
# What cross-validation chooses from: of the SMS Spam Collection's 5,574 messages it takes 1 or 3, whatever the split.
_STRENGTHS = (0.3, 1.0, 3.0, 10.0)
_THRESHOLDS = np.arange(1, 20) / 20


@dataclass(frozen=True)
class Training:
    """A trained filter, and how it came about; ``str`` makes a report of it.

    Parameters
    ----------
    filter : SpamFilter
    C : float
        The inverse strength of the penalty, as cross-validation chose it.
    parts : dict of str to Rates
        The rates on the texts learnt from, ``"train"``, and on those held out, ``"test"``.
    seconds : dict of str to float
        The time that each step took.
    """

    filter: SpamFilter
    C: float
    parts: dict[str, Rates]
    seconds: dict[str, float]

    def __str__(self) -> str:
        """Return the settings, the table of rates and the times, in lines."""
        chosen = f"{self.filter.n_features:,} features, C = {self.C:g}, {self.filter.positive} from probability"
        times = [f"{step:16} {1e3 * taken:8.1f} ms" for step, taken in self.seconds.items()]
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
) -> Training:
    """Train a spam filter on one part of labelled texts and try it on the other.

    Parameters
    ----------
    mail : Mail
        Texts of two labels.
    n_features : int, default 1024
        Columns that words are hashed to.
    test_share : float, default 0.2
        Share of the texts that is held out, of both labels alike.
    seed : int, default 0
        Of the split, and of that into folds.
    threshold : float, optional
        A text is positive from this probability on; by default the one of least error in cross-validation.
    positive : str, default "spam"
        The label that is looked for.
    device : str or Device, optional
        Where to compute; by default the best device there is.
    estimator : classifier, optional
        With scikit-learn's interface and a parameter ``C``; by default a :class:`LogReg`.

    Returns
    -------
    Training

    Raises
    ------
    ArgumentError
        Labels without ``positive``, a share or threshold outside its range, too few texts of a label.

    Notes
    -----
    Of each text it learns which words, punctuation marks and lengths of numbers are there, not how often; see
    :func:`gpuprims.models.spam.text_features`. ``C`` has the least log loss of 0.3, 1, 3 and 10, and the threshold the
    least error of 0.05, 0.1, ..., 0.95, in a cross-validation of five folds which sees the training part alone.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from gpuprims.models import generated_mail, train_filter
    >>> training = train_filter(generated_mail(500), device="reference", estimator=LogisticRegression())
    >>> sorted(training.parts), training.parts["test"].samples
    (['test', 'train'], 100)
    """
    _check_labels(mail, positive)
    if threshold is not None:
        checked_threshold(threshold)
    parts = _split(mail.labels, test_share, seed)
    seconds: dict[str, float] = {}
    with _timed(seconds, "hashing"):
        features = text_features(mail.texts, n_features, device=device)
    samples, labels = features[parts["train"]], mail.labels[parts["train"]]
    fresh = LogReg(device, max_iter=1000) if estimator is None else estimator
    with _timed(seconds, "cross-validation"):
        strength, held_out = _chosen_strength(fresh, samples, labels, positive, seed)
    with _timed(seconds, "training"):
        model = clone(fresh).set_params(C=strength).fit(samples, labels)
    chosen = _least_error(labels == positive, held_out) if threshold is None else threshold
    made = SpamFilter(model, n_features, chosen, positive, device)
    with _timed(seconds, "testing"):
        rates = {part: _rates(made, features[places], mail.labels[places]) for part, places in parts.items()}
    return Training(made, strength, rates, seconds)


def _check_labels(mail: Mail, positive: str) -> None:
    known, counts = np.unique(mail.labels, return_counts=True)
    names = known.tolist()
    if len(names) != 2 or positive not in names:
        got = " and ".join(map(repr, names[:3])) or "no texts"
        raise ArgumentError(f"{_LABEL}: texts of the label {quoted(positive)} and one other; got {got}")
    if counts.min() <= _FOLDS:
        got = f"{counts.min()} of {quoted(names[counts.argmin()])}"
        raise ArgumentError(f"{_LABEL}: more than {_FOLDS} texts of each label, for as many folds; got {got}")


def _split(labels: np.ndarray, test_share: float, seed: int) -> dict[str, np.ndarray]:
    """Return which texts are learnt from and which are held out."""
    if not 0 <= seed < 2**32:
        raise ArgumentError(f"{_LABEL}: a seed from 0 to 2^32 - 1; got {seed}")
    rule = f"{_LABEL}: a test share that holds out texts of both labels and leaves {_FOLDS} of each"
    try:
        train, test = train_test_split(
            np.arange(len(labels)), test_size=float(test_share), random_state=seed, stratify=labels
        )
    except ValueError as error:
        raise ArgumentError(f"{rule}; got {test_share} of {len(labels)}") from error
    counts = [np.unique(labels[part], return_counts=True)[1] for part in (train, test)]
    if counts[0].min() < _FOLDS or len(counts[1]) < 2:
        raise ArgumentError(f"{rule}; got {test_share} of {len(labels)}")
    return {"train": train, "test": test}


def _chosen_strength(
    estimator: Any, samples: np.ndarray, labels: np.ndarray, positive: str, seed: int
) -> tuple[float, np.ndarray]:
    """Return the C of least log loss, and each text's probability by a model that did not learn from it."""
    folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=seed)
    column = np.unique(labels).tolist().index(positive)

    def held_out(strength: float) -> np.ndarray:
        model = clone(estimator).set_params(C=strength)
        tried = cross_val_predict(model, samples, labels, cv=folds, method="predict_proba")
        probabilities: np.ndarray = np.asarray(tried, np.float64)[:, column]
        return probabilities

    tried = {strength: held_out(strength) for strength in _STRENGTHS}
    best = min(tried, key=lambda strength: float(log_loss(labels == positive, tried[strength])))
    return best, tried[best]


def _least_error(found: np.ndarray, probabilities: np.ndarray) -> float:
    """Return the threshold that mistakes the fewest texts; of several, the one nearest to a half."""
    wrong = ((probabilities >= _THRESHOLDS[:, None]) != found).sum(axis=1)
    return float(min(zip(wrong, abs(_THRESHOLDS - 0.5), _THRESHOLDS, strict=True))[2])


def _rates(made: SpamFilter, features: np.ndarray, labels: np.ndarray) -> Rates:
    guesses = made.labels_from(positive_probabilities(made.model, features, made.positive))
    return Rates.of(labels, guesses, positive=made.positive)


@contextmanager
def _timed(seconds: dict[str, float], step: str) -> Iterator[None]:
    start = perf_counter()
    yield
    seconds[step] = perf_counter() - start
