"""How well a classifier of two labels does: true and false positive rate and error, and a table of them."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from sklearn.metrics import confusion_matrix

from gpuprims.errors import ArgumentError, ShapeError, quoted
from gpuprims.expressions.masks import plain_array
from gpuprims.models.logreg.labels import to_host

_LABEL = "rates"


@dataclass(frozen=True)
class Rates:
    """The rates of a classifier on some samples, and the counts that they are made of.

    Parameters
    ----------
    true_positives, false_negatives : int
        Positive samples that were found, and that were missed.
    false_positives, true_negatives : int
        Negative samples that were taken for positive ones, and that were not.

    Examples
    --------
    >>> from gpuprims.models import Rates
    >>> rates = Rates.of(["spam", "spam", "ham", "ham"], ["spam", "ham", "ham", "ham"], positive="spam")
    >>> rates.true_positive_rate, rates.false_positive_rate, rates.error
    (0.5, 0.0, 0.25)
    """

    true_positives: int
    false_negatives: int
    false_positives: int
    true_negatives: int

    @classmethod
    def of(cls, labels: Any, predictions: Any, *, positive: Hashable) -> Self:
        """Count how predictions compare with labels.

        Parameters
        ----------
        labels, predictions : array_like of shape (n,), on the host or a device
            What the samples are, and what they were taken for: the positive label and one other.
        positive : hashable
            The label that is looked for.

        Raises
        ------
        ArgumentError
            No samples, or more than two labels with ``positive`` among them.
        ShapeError
            Lengths that differ.
        """
        truth, guess = (plain_array(_LABEL, to_host(given)) for given in (labels, predictions))
        if truth.ndim != 1 or truth.shape != guess.shape:
            raise ShapeError(f"{_LABEL}: a prediction for each label; got shapes {truth.shape} and {guess.shape}")
        if not truth.size:
            raise ArgumentError(f"{_LABEL}: one sample or more; got none")
        known = {positive, *truth.tolist(), *guess.tolist()}
        if len(known) > 2:
            others = sorted(map(repr, known - {positive}))
            got = f"{len(others)} beside it, {' and '.join(others[:2])}{' and more' if len(others) > 2 else ''}"
            raise ArgumentError(f"{_LABEL}: the label {quoted(positive)} and one other; got {got}")
        # Of truth values, so that the table is 2 x 2 where all samples have one label, too.
        counts = confusion_matrix(truth == positive, guess == positive, labels=[False, True])
        (true_negatives, false_positives), (false_negatives, true_positives) = counts.tolist()
        return cls(true_positives, false_negatives, false_positives, true_negatives)

    @property
    def positives(self) -> int:
        """Samples that are positive."""
        return self.true_positives + self.false_negatives

    @property
    def negatives(self) -> int:
        """Samples that are not."""
        return self.false_positives + self.true_negatives

    @property
    def samples(self) -> int:
        """All samples."""
        return self.positives + self.negatives

    @property
    def true_positive_rate(self) -> float:
        """Share of the positive samples that were found; nan where there is none."""
        return _share(self.true_positives, self.positives)

    @property
    def false_positive_rate(self) -> float:
        """Share of the negative samples that were taken for positive ones; nan where there is none."""
        return _share(self.false_positives, self.negatives)

    @property
    def error(self) -> float:
        """Share of all samples that were taken for what they are not."""
        return _share(self.false_negatives + self.false_positives, self.samples)


def rates_table(parts: Mapping[str, Rates]) -> str:
    """Return a table with a line for each part of the samples, rates in per cent; a rate of nothing is "-".

    Parameters
    ----------
    parts : mapping of str to Rates
        Such as ``{"train": ..., "test": ...}``.

    Examples
    --------
    >>> from gpuprims.models import Rates, rates_table
    >>> print(rates_table({"train": Rates(1659, 0, 0, 2841), "test": Rates(174, 10, 6, 310)}))
           samples  positive   TPR %  FPR %  error %
    train    4,500     1,659  100.00   0.00     0.00
    test       500       184   94.57   1.90     3.20
    """
    rows = [("", "samples", "positive", "TPR %", "FPR %", "error %"), *(_row(name, parts[name]) for name in parts)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))])
        for row in rows
    )


def _row(name: str, rates: Rates) -> tuple[str, ...]:
    shares = (rates.true_positive_rate, rates.false_positive_rate, rates.error)
    return (name, f"{rates.samples:,}", f"{rates.positives:,}", *map(_per_cent, shares))


def _per_cent(share: float) -> str:
    return "-" if math.isnan(share) else f"{100 * share:.2f}"


def _share(count: int, whole: int) -> float:
    return count / whole if whole else math.nan
