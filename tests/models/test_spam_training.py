"""Features and training of the spam filter."""

from __future__ import annotations

import os
import re

import numpy as np
import pytest
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import LogisticRegression

from gpuprims import models
from gpuprims.errors import ArgumentError
from gpuprims.models import Mail, generated_mail, read_mail, spam, train_filter
from gpuprims.models.spam import training as spam_training

REAL = "GPUPRIMS_SMS_SPAM"


def test_features_are_those_of_a_binary_vectorizer(device):
    texts = ["WIN £1000 cash!!! Call 08001234567 now", "", "win win win", "Ünïcode 你好, ok?"]
    vectorizer = HashingVectorizer(
        n_features=64, alternate_sign=False, norm=None, binary=True, analyzer=spam.words_and_marks
    )
    features = spam.text_features(texts, 64, device=device)
    np.testing.assert_array_equal(features, vectorizer.transform(texts).toarray())
    assert features.dtype == np.float32


def test_numbers_of_one_length_share_a_feature():
    assert set(spam.words_and_marks("call 0800")) & set(spam.words_and_marks("text 1234")) == {"#4"}
    assert "#3" not in spam.words_and_marks("b2b a #")


def test_it_learns_to_tell_mail_of_the_shape_that_the_thesis_had():
    """4,500 documents to learn from and 500 held out, 37 % of them spam, 1,024 features: 3.2 % error at best there."""
    training = train_filter(generated_mail(5000), test_share=0.1)
    train, test = training.parts["train"], training.parts["test"]
    assert (train.samples, test.samples) == (4500, 500)
    assert test.positives / test.samples == pytest.approx(0.37, abs=0.002)
    assert train.error < test.error <= 0.05
    assert test.true_positive_rate > 0.9
    assert test.false_positive_rate < 0.05


@pytest.mark.skipif(REAL not in os.environ, reason=f"{REAL} names no file of the SMS Spam Collection")
@pytest.mark.parametrize("seed", range(3))
def test_it_learns_to_tell_real_messages(either, seed):
    training = train_filter(read_mail(os.environ[REAL]), seed=seed)
    assert training.parts["test"].samples == 1115
    assert training.parts["test"].error <= 0.025


class Spy(LogisticRegression):
    """Remembers every row that it was fitted to."""

    seen: set[bytes]

    def fit(self, X, y):
        Spy.seen |= {row.tobytes() for row in X}
        return super().fit(X, y)


def test_no_choice_sees_what_is_held_out(mail):
    Spy.seen = set()
    training = train_filter(mail, test_share=0.25, estimator=Spy(solver="liblinear"))
    rows = [row.tobytes() for row in spam.text_features(mail.texts, 1024)]
    assert len(set(rows)) == 300
    assert len(Spy.seen) == training.parts["train"].samples == 225
    held_out = [k for k, row in enumerate(rows) if row not in Spy.seen]
    labels, _ = training.filter.label([mail.texts[k] for k in held_out])
    assert models.Rates.of(mail.labels[held_out], labels, positive="spam") == training.parts["test"]


def test_a_seed_gives_one_split(peer, mail):
    first, again, other = (train_filter(mail, seed=seed) for seed in (3, 3, 4))
    assert (first.C, first.filter.threshold, first.parts) == (again.C, again.filter.threshold, again.parts)
    np.testing.assert_array_equal(first.filter.model.coef_, again.filter.model.coef_)
    assert not np.array_equal(first.filter.model.coef_, other.filter.model.coef_)


def test_a_threshold_trades_one_rate_for_the_other(peer, mail):
    low, high = (train_filter(mail, threshold=threshold).parts["test"] for threshold in (0.02, 0.98))
    assert low.true_positive_rate > high.true_positive_rate
    assert low.false_positive_rate > high.false_positive_rate
    everything = train_filter(mail, threshold=0).parts["test"]
    assert (everything.true_positive_rate, everything.false_positive_rate) == (1, 1)


def test_a_text_is_spam_from_the_threshold_on(peer, mail):
    made = train_filter(mail, threshold=0.5).filter
    assert made.labels_from(np.array([np.nextafter(0.5, 0), 0.5, 1])).tolist() == ["ham", "spam", "spam"]


def test_the_chosen_threshold_has_the_least_error_and_is_nearest_to_a_half(rng):
    probabilities = rng.random(300)
    found = probabilities + rng.normal(0, 0.2, 300) > 0.3
    chosen = spam_training._least_error(found, probabilities)
    errors = {k: ((probabilities >= k / 20) != found).sum() for k in range(1, 20)}
    assert errors[round(chosen * 20)] == min(errors.values()) < errors[10]
    assert spam_training._least_error(np.array([True, False]), np.array([0.9, 0.1])) == 0.5


def test_another_positive_label(mail):
    labels = np.where(mail.labels == "spam", "a fraud", "z")
    training = train_filter(Mail(labels, mail.texts), positive="a fraud", estimator=LogisticRegression())
    assert training.parts["test"].positives == 22  # 37 % of 60
    assert training.parts["test"].error < 0.4  # the other label's probabilities would give more than a half
    assert set(training.filter.label(mail.texts[:50])[0]) == {"a fraud", "z"}


def test_the_report_tells_settings_rates_and_times(peer, mail):
    training = train_filter(mail, n_features=128)
    lines = str(training).splitlines()
    expected = f"128 features, C = {training.C:g}, spam from probability {training.filter.threshold:g}"
    assert lines[0] == expected
    assert [line.split()[0] for line in lines[3:5]] == ["train", "test"]
    assert lines[4].endswith(f"{100 * training.parts['test'].error:.2f}")
    assert [re.fullmatch(r"(\S+) +[\d.]+ ms", line)[1] for line in lines[6:]] == list(training.seconds)
    assert min(training.seconds.values()) > 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"positive": "junk"}, "texts of the label 'junk' and one other; got 'ham' and 'spam'"),
        (
            {"test_share": 0.999},
            "texts of both labels and leaves 5 of each for training; got 0.999 of 300",
        ),
        ({"test_share": 0.98}, "leaves 5 of each for training; got 0.98 of 300"),
        ({"test_share": 0.0001}, "got 0.0001 of 300"),
        ({"test_share": 1.5}, "got 1.5 of 300"),
        ({"seed": -1}, "a seed from 0 to 2.32 - 1; got -1"),
        ({"threshold": 1.5}, "a threshold from 0 to 1; got 1.5"),
        ({"threshold": float("nan")}, "a threshold from 0 to 1; got nan"),
        ({"n_features": 0}, "n_features from 1 to 2.30; got 0"),
    ],
)
def test_what_cannot_be_trained_is_refused(peer, mail, changes, message):
    with pytest.raises(ArgumentError, match=message):
        train_filter(mail, **changes)


def test_too_few_texts_are_refused(peer):
    labels = np.array(["ham"] * 20 + ["spam"] * 5)
    with pytest.raises(ArgumentError, match="more than 5 texts of each label for cross-validation; got 5 of 'spam'"):
        train_filter(Mail(labels, ("text",) * 25))
    with pytest.raises(ArgumentError, match="and one other; got no texts"):
        train_filter(Mail(labels[:0], ()))
