"""The spam filter with word pairs, runs of characters, features of unit length, and calibrated probabilities."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.metrics import log_loss
from sklearn.preprocessing import normalize

import gpuprims
from gpuprims.cli import main as cli
from gpuprims.errors import ArgumentError, ModelFileError
from gpuprims.models import Mail, SpamFilter, TextOptions, read_mail, train_filter
from gpuprims.models.archives import write_archive
from gpuprims.models.spam import features as text
from gpuprims.models.spam import filter as spam_filter
from gpuprims.models.spam import text_features, words_and_marks
from gpuprims.models.spam.training import _calibration

REAL = "GPUPRIMS_SMS_SPAM"
TEXTS = ["WIN a  FREE prize,\tnow!", "", "so so so", "Ünïcode 你好, ok? 0800123"]
# Short messages: the first is of the issue that asked for these options, the others are like it.
SPAM = (
    "WIN a FREE prize now, call 0900123456",
    "FREE entry! Text WIN to 80082 now",
    "You have won a prize. Call 09061234567 to claim",
    "Urgent! You have WON a 1000 cash award. Call now",
    "Claim your free ringtone, text TONE to 87654",
    "Win cash now! Txt WIN to 85555",
    "Congratulations! You won a free holiday. Call 08001234567",
    "FREE mobile phone, reply YES to 86688",
    "Your number was chosen for a prize, call 09050001234",
    "Get free texts, reply FREE to 81010",
    "URGENT! Your prize is waiting. Call 08712345678",
    "Winner! Claim your 500 pounds prize now, text CLAIM to 81122",
)
HAM = (
    "Call me when you are free",
    "I won, see you at 8",
    "Can you text me now?",
    "free tonight? want to win at cards",
    "ok call you at 10",
    "I am free at 5, call me",
    "My number is 07712345678",
    "Did you win the game?",
    "Reply when you get this",
)


def test_pairs_are_those_of_a_vectorizer() -> None:
    split = re.compile(r"\w+|[^\w\s]").findall
    analyze = CountVectorizer(ngram_range=(1, 2), tokenizer=split).build_analyzer()
    for one in TEXTS[:3]:
        assert sorted(TextOptions(word_pairs=True).tokens(one)) == sorted(analyze(one))


@pytest.mark.parametrize("lengths", [(1, 1), (2, 4), (5, 16)])
def test_runs_are_those_of_a_vectorizer(lengths: tuple[int, int]) -> None:
    analyze = CountVectorizer(analyzer="char", ngram_range=lengths).build_analyzer()
    for one in TEXTS:
        found = TextOptions(characters=lengths).tokens(one)
        words = words_and_marks(one)
        assert found[: len(words)] == words
        runs = [run[1:] for run in found[len(words) :]]
        assert sorted(runs) == (sorted(analyze(f" {' '.join(one.split())} ")) if one else [])
        assert all(run[0] == "\0" for run in found[len(words) :])


@pytest.mark.parametrize("columns", [64, 5000])
def test_features_of_unit_length(device: gpuprims.Device, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setattr(text, "_TEXTS_AT_ONCE", 3)
    options = TextOptions(word_pairs=True, characters=(2, 3), unit_length=True)
    vectorizer = HashingVectorizer(
        n_features=columns, alternate_sign=False, norm=None, binary=True, analyzer=options.tokens
    )
    found = text_features(TEXTS, columns, options=options, device=device)
    assert (found.dtype, found.shape) == (np.float32, (4, columns))
    assert isinstance(found, np.ndarray) == (columns == 64)
    dense = found if columns == 64 else found.toarray()
    np.testing.assert_allclose(dense, normalize(vectorizer.transform(TEXTS)).toarray(), rtol=1e-6)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"characters": (0, 3)}, r"characters=\(least, largest\), whole numbers from 1 to 16 in order"),
        ({"characters": (4, 2)}, r"got \(4, 2\)"),
        ({"characters": "25"}, "got '25'"),
        ({"characters": 3}, "got 3"),
        ({"word_pairs": "yes"}, "word_pairs= True or False; got 'yes'"),
        ({"unit_length": 1}, "unit_length= True or False; got 1"),
    ],
)
def test_options_that_are_wrong(how: dict[str, Any], words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        TextOptions(**how)


def test_a_filter_with_options_comes_back(mail: Mail, tmp_path: Path) -> None:
    options = TextOptions(word_pairs=True, characters=(2, 3), unit_length=True)
    model = gpuprims.models.LogReg("reference")
    samples = text_features(mail.texts, 128, options=options, device="reference")
    made = SpamFilter(model.fit(samples, mail.labels), 128, 0.4, "spam", "reference", options, (1.5, -0.25))
    made.save(tmp_path / "filter.npz")
    loaded = SpamFilter.load(tmp_path / "filter.npz", device="reference")
    assert (loaded.options, loaded.calibration) == (options, (1.5, -0.25))
    for ours, kept in zip(loaded.label(mail.texts), made.label(mail.texts), strict=True):
        np.testing.assert_array_equal(ours, kept)
    plain = SpamFilter(model, 128, 0.4, "spam", "reference", options)
    odds = np.log(plain.label(mail.texts)[1] / (1 - plain.label(mail.texts)[1]))
    np.testing.assert_allclose(made.label(mail.texts)[1], 1 / (1 + np.exp(0.25 - 1.5 * odds)), rtol=1e-6)


@pytest.mark.parametrize(
    "changes",
    [
        {"options": {"word_pairs": True}},
        {"options": {"word_pairs": 1, "characters": None, "unit_length": False}},
        {"options": {"word_pairs": False, "characters": [1, 99], "unit_length": False}},
        {"options": "all"},
        {"calibration": [1.0]},
        {"calibration": [1.0, "2"]},
        {"calibration": {"slope": 1.0}},
        {"more": 1},
    ],
)
def test_a_file_with_wrong_options_is_refused(saved: Path, changes: dict[str, Any]) -> None:
    with np.load(saved, allow_pickle=False) as archive:
        arrays = dict(archive)
    settings = json.loads(arrays["spam_filter"].item()) | changes
    write_archive("test", saved, {**arrays, "spam_filter": np.array(json.dumps(settings))})
    with pytest.raises(ModelFileError):
        SpamFilter.load(saved)


def test_calibrated_log_odds_are_the_likeliest(rng: np.random.Generator) -> None:
    """Labels drawn with log odds of 0.5 z - 1, where the model says z."""
    odds = rng.normal(0, 3, 20_000)
    positive = rng.random(20_000) < 1 / (1 + np.exp(1 - 0.5 * odds))
    said = 1 / (1 + np.exp(-odds))
    slope, constant = _calibration(said, positive)
    assert slope == pytest.approx(0.5, abs=0.03)
    assert constant == pytest.approx(-1, abs=0.06)
    better = spam_filter.calibrated(said, (slope, constant))
    assert log_loss(positive, better) < log_loss(positive, said) - 0.1
    near = (better > 0.3) & (better < 0.5)
    assert positive[near].mean() == pytest.approx(better[near].mean(), abs=0.03)
    assert np.isfinite(spam_filter.calibrated(np.array([0.0, 1.0]), (2.0, 1.0))).all()


def test_training_with_options(peer: None, mail: Mail) -> None:
    options = TextOptions(word_pairs=True, unit_length=True)
    training = train_filter(mail, n_features=256, options=options, calibrate=True, device="reference")
    assert training.filter.options == options
    assert training.filter.calibration is not None
    assert training.C >= 30
    assert training.parts["test"].error < 0.4


def test_the_command_takes_the_options(peer: None, mail: Mail, tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    seen: dict[str, Any] = {}

    def train(given: Mail, **how: Any) -> Any:
        seen.update(how)
        raise ArgumentError("seen")

    monkeypatch.setattr(gpuprims.models, "train_filter", train)
    path = tmp_path / "mail.tsv"
    path.write_text("ham\tnoon\nspam\tprize\n")
    cli.main(["spam", str(path), "--word-pairs", "--characters", "2-5", "--unit-length", "--calibrate"])
    assert seen["options"] == TextOptions(word_pairs=True, characters=(2, 5), unit_length=True)
    assert seen["calibrate"] is True
    seen.clear()
    cli.main(["spam", str(path), "--characters", "3"])
    assert seen["options"] == TextOptions(characters=(3, 3))
    assert "calibrate" not in seen
    assert cli.main(["spam", "--load", "filter.npz", "--word-pairs"]) == 1
    assert "got --word-pairs, which are for training" in capsys.readouterr().err


@pytest.mark.skipif(REAL not in os.environ, reason=f"{REAL} names no file of the SMS Spam Collection")
def test_short_messages_are_told_apart(peer: None) -> None:
    options = TextOptions(characters=(2, 5), unit_length=True)
    training = train_filter(read_mail(os.environ[REAL]), n_features=16_384, options=options, calibrate=True)
    labels, probabilities = training.filter.label(SPAM + HAM)
    assert labels.tolist() == ["spam"] * len(SPAM) + ["ham"] * len(HAM), probabilities
    assert training.parts["test"].error <= 0.015
