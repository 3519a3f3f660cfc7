"""Rates: against counts by hand, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gpuprims.errors import ArgumentError, ShapeError
from gpuprims.models import Rates, rates_table


def test_rates_are_those_of_counting_one_by_one(rng):
    labels, predictions = rng.choice(["ham", "spam"], (2, 1000), p=[0.7, 0.3])
    rates = Rates.of(labels, predictions, positive="spam")
    pairs = list(zip(labels, predictions, strict=True))
    counts = [pairs.count(pair) for pair in [("spam", "spam"), ("spam", "ham"), ("ham", "spam"), ("ham", "ham")]]
    assert rates == Rates(*counts)
    assert (rates.positives, rates.negatives, rates.samples) == (sum(counts[:2]), sum(counts[2:]), 1000)
    assert rates.true_positive_rate == counts[0] / sum(counts[:2])
    assert rates.false_positive_rate == counts[2] / sum(counts[2:])
    assert rates.error == pytest.approx((labels != predictions).mean())


def test_the_positive_label_need_not_be_the_second():
    assert Rates.of([0, 0, 0, 1], [0, 0, 1, 0], positive=0) == Rates(2, 1, 1, 0)
    assert Rates.of([True, False], [True, True], positive=True) == Rates(1, 0, 1, 0)


def test_a_rate_of_nothing_is_nan_and_shown_as_a_dash():
    none_positive = Rates.of(["ham", "ham", "ham"], ["ham", "ham", "spam"], positive="spam")
    assert math.isnan(none_positive.true_positive_rate)
    assert none_positive.false_positive_rate == pytest.approx(1 / 3)
    none_negative = Rates.of(["spam"], ["spam"], positive="spam")
    assert math.isnan(none_negative.false_positive_rate)
    assert (none_negative.true_positive_rate, none_negative.error) == (1, 0)
    lines = rates_table({"test": none_positive, "others": none_negative}).splitlines()
    assert lines[1].split() == ["test", "3", "0", "-", "33.33", "33.33"]
    assert lines[2].split() == ["others", "1", "1", "100.00", "-", "0.00"]


def test_the_tables_columns_end_where_their_headings_do():
    parts = {"train": Rates(1_234_567, 0, 3, 9), "held out": Rates(0, 1, 0, 1)}
    lines = rates_table(parts).splitlines()
    assert len({len(line) for line in lines}) == 1
    assert lines[0].split("  ")[-1] == "error %"


@pytest.mark.parametrize(
    ("labels", "predictions", "error", "message"),
    [
        (["spam", "ham"], ["spam"], ShapeError, r"a prediction for each label; got shapes \(2,\) and \(1,\)"),
        (np.zeros((2, 2)), np.zeros((2, 2)), ShapeError, r"got shapes \(2, 2\)"),
        ([], [], ArgumentError, "at least one sample; got none"),
        (["spam", "ham"], ["spam", "junk"], ArgumentError, "'spam' and one other; got 2 others, 'ham' and 'junk'$"),
        (list("abc"), list("abc"), ArgumentError, "'spam' and one other; got 3 others, 'a' and 'b' and more$"),
    ],
)
def test_what_has_no_rates_is_refused(labels, predictions, error, message):
    with pytest.raises(error, match=f"rates: .*{message}"):
        Rates.of(labels, predictions, positive="spam")
