"""Error rates of binary classifiers, and a table of them."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from sklearn.metrics import confusion_matrix

from gpuprims.errors import ArgumentError, ShapeError, quoted
from gpuprims.expressions.masks import plain_array
from gpuprims.models.device_arrays import to_host

_LABEL = "rates"


@dataclass(frozen=True)
class Rates:
    """The confusion matrix of a binary classifier and its rates.

    Parameters
    ----------
    true_positives, false_negatives : int
        Positive samples predicted positive and negative.
    false_positives, true_negatives : int
        Negative samples predicted positive and negative.

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
        """Compare predictions with labels.

        Parameters
        ----------
        labels, predictions : array_like of shape (n,)
            Arrays of two labels, on the host or a device.
        positive : hashable
            The positive label.

        Raises
        ------
        ArgumentError
            No samples, or more than one label besides ``positive``.
        ShapeError
            ``labels`` and ``predictions`` differ in length.

        Examples
        --------
        >>> from gpuprims.models import Rates
        >>> Rates.of([1, 1, 0], [1, 0, 0], positive=1)
        Rates(true_positives=1, false_negatives=1, false_positives=0, true_negatives=1)
        """
        truth, guess = (plain_array(_LABEL, to_host(_LABEL, given)) for given in (labels, predictions))
        if truth.ndim != 1 or truth.shape != guess.shape:
            raise ShapeError(f"{_LABEL}: a prediction for each label; got shapes {truth.shape} and {guess.shape}")
        if not truth.size:
            raise ArgumentError(f"{_LABEL}: at least one sample; got none")
        if not isinstance(positive, Hashable):
            raise ArgumentError(f"{_LABEL}: positive= a label; got {quoted(positive)}")
        known = {positive, *truth.tolist(), *guess.tolist()}
        if len(known) > 2:
            others = sorted(map(repr, known - {positive}))
            got = f"{len(others)} others, {' and '.join(others[:2])}{' and more' if len(others) > 2 else ''}"
            raise ArgumentError(f"{_LABEL}: the label {quoted(positive)} and one other; got {got}")
        # Booleans give a 2 x 2 table even if all samples have one label.
        counts = confusion_matrix(truth == positive, guess == positive, labels=[False, True])
        (true_negatives, false_positives), (false_negatives, true_positives) = counts.tolist()
        return cls(true_positives, false_negatives, false_positives, true_negatives)

    @property
    def positives(self) -> int:
        """Number of positive samples."""
        return self.true_positives + self.false_negatives

    @property
    def negatives(self) -> int:
        """Number of negative samples."""
        return self.false_positives + self.true_negatives

    @property
    def samples(self) -> int:
        """Number of samples."""
        return self.positives + self.negatives

    @property
    def true_positive_rate(self) -> float:
        """Share of the positive samples that are predicted positive; NaN without positive samples."""
        return _share(self.true_positives, self.positives)

    @property
    def false_positive_rate(self) -> float:
        """Share of the negative samples that are predicted positive; NaN without negative samples."""
        return _share(self.false_positives, self.negatives)

    @property
    def error(self) -> float:
        """Share of the samples whose prediction is wrong."""
        return _share(self.false_negatives + self.false_positives, self.samples)


def rates_table(parts: Mapping[str, Rates]) -> str:
    """Format rates as a table of percentages, one line per set of samples; NaN prints as "-".

    Parameters
    ----------
    parts : mapping of str to Rates
        For example ``{"train": ..., "test": ...}``.

    Examples
    --------
    >>> from gpuprims.models import Rates, rates_table
    >>> print(rates_table({"train": Rates(1659, 0, 0, 2841), "test": Rates(174, 10, 6, 310)}))
           samples  positive   TPR %  FPR %  error %
    train    4,500     1,659  100.00   0.00     0.00
    test       500       184   94.57   1.90     3.20
    """
    rows = [["", "samples", "positive", "TPR %", "FPR %", "error %"]]
    for name, rates in parts.items():
        shares = (rates.true_positive_rate, rates.false_positive_rate, rates.error)
        per_cent = ("-" if math.isnan(share) else f"{100 * share:.2f}" for share in shares)
        rows.append([name, f"{rates.samples:,}", f"{rates.positives:,}", *per_cent])
    first, *others = (max(map(len, column)) for column in zip(*rows, strict=True))
    lines = ([name.ljust(first), *map(str.rjust, numbers, others)] for name, *numbers in rows)
    return "\n".join(map("  ".join, lines))


def _share(count: int, whole: int) -> float:
    return count / whole if whole else math.nan
