"""The spam filter: mail that is read or generated, what it learns from, training, the saved file, and the command."""

from __future__ import annotations

import io
import os
import re
import shutil
import signal
import sys
import zipfile

import numpy as np
import pytest
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import LogisticRegression

from gpuprims import models
from gpuprims.cli import main as cli
from gpuprims.errors import ArgumentError, ModelFileError
from gpuprims.models import LogReg, Mail, SpamFilter, generated_mail, read_mail, spam, train_filter
from gpuprims.models.spam import filter as spam_filter
from gpuprims.models.spam import training as spam_training

REAL = "GPUPRIMS_SMS_SPAM"


class Peer(LogisticRegression):
    """scikit-learn's logistic regression, with LogReg's parameters."""

    def __init__(self, backend=None, *, C=1.0, max_iter=100):
        self.backend = backend
        super().__init__(C=C, max_iter=max_iter)


@pytest.fixture
def peer(monkeypatch):
    """Filters are trained by scikit-learn, where what is tested is not the solver."""
    for module in (spam_filter, spam_training):
        monkeypatch.setattr(module, "LogReg", Peer)


@pytest.fixture(params=["scikit-learn", "LogReg"])
def either(request):
    """Filters are trained by scikit-learn, and by LogReg."""
    if request.param == "scikit-learn":
        request.getfixturevalue("peer")


@pytest.fixture(scope="module")
def mail():
    return generated_mail(300)


def written(mail, folder):
    path = folder / "mail.tsv"
    path.write_text("".join(f"{label}\t{text}\n" for label, text in zip(mail.labels, mail.texts, strict=True)))
    return path


def run(capsys, *arguments):
    status = cli.main(["spam", *map(str, arguments)])
    shown = capsys.readouterr()
    return status, shown.out, shown.err


# mail ----------------------------------------------------------------------------------------------------------------


def test_a_file_is_read_line_by_line(tmp_path):
    path = tmp_path / "mail.tsv"
    path.write_bytes("\ufeffham\t naïve\tcafé \t\t\r\n spam \tfree \N{LINE SEPARATOR} 你好\nham\t".encode())
    mail = read_mail(path)
    assert mail.labels.tolist() == ["ham", "spam", "ham"]
    assert mail.texts == ("naïve\tcafé", "free \N{LINE SEPARATOR} 你好", "")
    assert read_mail(str(path)).texts == mail.texts


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"ham\ta\nspam b\n", "line 2: a label, a tab and a text; got no tab in 'spam b'"),
        (b"ham\ta\n\nspam\tb", "line 2: a label, a tab and a text; got no tab in ''"),
        (b"ham\ta\n \tb\n", "line 2: a label before the tab; got ' '"),
        (b"ham\ta\nspam\tb\nham\tc\njunk\td\n", "line 4: a label that is 'ham' and 'spam'; got 'junk'"),
        (b"ham\ta\nspam\tcaf\xe9\n", r"line 2: text in UTF-8; got b'\xe9'"),
        (b"ham\ta\nham\tb\n", "lines of two labels; got 'ham' alone"),
        (b"", "lines of two labels; got no lines"),
    ],
)
def test_a_file_of_another_form_is_refused_where_it_is_wrong(tmp_path, content, message):
    path = tmp_path / "mail.tsv"
    path.write_bytes(content)
    with pytest.raises(ArgumentError, match=re.escape(f"{path}") + ",? ?.*" + re.escape(message)):
        read_mail(path)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ArgumentError, match=r"mail: a file that can be read; got .*nowhere.tsv' \(No such file"):
        read_mail(tmp_path / "nowhere.tsv")


def test_generated_mail_has_its_share_of_spam_and_comes_again():
    mail, again, other = generated_mail(200, spam_share=0.25), generated_mail(200, spam_share=0.25), generated_mail(200)
    assert (mail.labels == "spam").sum() == 50
    assert len(mail.texts) == len(set(mail.texts)) == 200
    assert (mail.texts, mail.labels.tolist()) == (again.texts, again.labels.tolist())
    assert other.texts != generated_mail(200, seed=1).texts
    assert 0 < (mail.labels[:100] == "spam").sum() < 50  # in no order


@pytest.mark.parametrize(("documents", "share", "got"), [(1, 0.5, 0), (10, 0.0, 0), (10, 1.0, 10), (10, 1.5, 15)])
def test_mail_of_one_label_is_not_generated(documents, share, got):
    with pytest.raises(ArgumentError, match=f"documents of both labels; got {got} of {documents}"):
        generated_mail(documents, spam_share=share)


# features ------------------------------------------------------------------------------------------------------------


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


# training ------------------------------------------------------------------------------------------------------------


def test_it_learns_to_tell_mail_of_the_shape_that_the_thesis_had(either):
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
    training = train_filter(mail, test_share=0.25, estimator=Spy())
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
            "holds out texts of both labels and leaves 5 of each; got 0.999 of 300",
        ),
        ({"test_share": 0.98}, "leaves 5 of each; got 0.98 of 300"),
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
    with pytest.raises(ArgumentError, match="more than 5 texts of each label, for as many folds; got 5 of 'spam'"):
        train_filter(Mail(labels, ("text",) * 25))
    with pytest.raises(ArgumentError, match="and one other; got no texts"):
        train_filter(Mail(labels[:0], ()))


# the saved file ------------------------------------------------------------------------------------------------------


def test_a_filter_comes_back_from_its_file(mail, tmp_path, device):
    made = train_filter(mail, n_features=200, threshold=0.3, device=device).filter
    made.save(tmp_path / "filter.npz")
    loaded = SpamFilter.load(tmp_path / "filter.npz", device=device)
    assert (loaded.n_features, loaded.threshold, loaded.positive) == (200, 0.3, "spam")
    for ours, kept in zip(loaded.label(mail.texts), made.label(mail.texts), strict=True):
        np.testing.assert_array_equal(ours, kept)
    made.save(tmp_path / "filter.npz")  # over itself
    assert SpamFilter.load(tmp_path / "filter.npz", threshold=0.9).threshold == 0.9
    labels, probabilities = loaded.label([])
    assert (labels.size, probabilities.size) == (0, 0)


@pytest.fixture(scope="module")
def written_once(mail, tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "filter.npz"
    train_filter(mail, device="reference").filter.save(path)
    return path


@pytest.fixture
def saved(written_once, tmp_path):
    return shutil.copy(written_once, tmp_path)


def test_a_filter_of_other_features_is_refused(saved, monkeypatch):
    monkeypatch.setattr(spam, "_KIND", "letters")
    with pytest.raises(
        ModelFileError, match=r"got .*filter.npz' \(its features differ from this release's; train it again\)"
    ):
        SpamFilter.load(saved)


def test_a_filter_is_saved_where_it_is_said_or_not_at_all(saved, tmp_path):
    made = SpamFilter.load(saved)
    with pytest.raises(ArgumentError, match=r"a model's name that ends in \.npz; got .*model\.bin'"):
        made.save(tmp_path / "model.bin")
    with pytest.raises(ArgumentError, match=r"a file to write; got .*model\.npz' \(No such file"):
        made.save(tmp_path / "nowhere" / "model.npz")


def test_the_file_holds_plain_arrays(saved):
    with np.load(saved, allow_pickle=False) as archive:
        assert {"spam_filter", "coef_"} <= set(archive.files)
        assert all(archive[name].dtype != object for name in archive.files)
    assert zipfile.ZipFile(saved).testzip() is None


# the command ---------------------------------------------------------------------------------------------------------


def test_the_command_trains_saves_and_labels(mail, tmp_path, capsys, monkeypatch, device):
    model = tmp_path / "model.npz"
    trained = ("--device", device.spec, "--features", "512", "--test-share", "0.25", "--seed", "7", "--save", model)
    status, out, err = run(capsys, written(mail, tmp_path), *trained)
    assert (status, err) == (0, "")
    assert out.startswith("512 features, C = ")
    assert re.search(r"^train +225 ", out, re.MULTILINE)
    assert re.search(r"^test +75 ", out, re.MULTILINE)
    assert out.endswith(f"saved in {model}\n")

    monkeypatch.setattr("gpuprims.cli.spam._LINES", 7)  # several parts, of which the last is short
    lines = io.TextIOWrapper(io.BytesIO("\n".join(mail.texts[:30]).encode()))
    monkeypatch.setattr(sys, "stdin", lines)
    status, out, err = run(capsys, "--load", model, "--device", device.spec)
    assert (status, err) == (0, "")
    labels, probabilities = SpamFilter.load(model, device=device).label(mail.texts[:30])
    expected = [f"{label}\t{probability:.4f}" for label, probability in zip(labels, probabilities, strict=True)]
    assert out.splitlines() == expected
    assert set(labels) == {"ham", "spam"}


def test_the_command_labels_by_another_threshold(saved, mail, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("\r\n".join(mail.texts[:9]).encode())))
    status, out, _ = run(capsys, "--load", saved, "--threshold", "0", "--device", "reference")
    assert status == 0
    assert [line.split("\t")[0] for line in out.splitlines()] == ["spam"] * 9


def test_the_command_tells_which_line_of_its_input_is_wrong(saved, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"good\n\xff\n")))
    status, _, err = run(capsys, "--load", saved)
    assert (status, err) == (1, "gpuprims: standard input, line 2: text in UTF-8; got b'\\xff'\n")


@pytest.mark.parametrize(
    ("arguments", "got"),
    [
        ((), "a FILE to learn from, or --load with a model; got neither"),
        (("mail.tsv", "--load", "model.npz"), "a FILE to learn from, or --load with a model; got both"),
        (("--load", "nowhere.npz"), "--load with an existing file; got 'nowhere.npz' (No such file"),
        (
            ("--load", "a.npz", "--test-share", "0.1", "--seed", "0"),
            "got --test-share and --seed, which are for",
        ),
        (("nowhere.tsv",), "a file that can be read; got 'nowhere.tsv'"),
        (("--load", "mail.tsv"), "a file that SpamFilter.save wrote; got 'mail.tsv' (its name does not end in .npz)"),
        (("mail.tsv", "--save", "model.bin"), "ends in .npz; got 'model.bin'"),
        (("mail.tsv", "--features", "-1"), "n_features from 1 to 2^30; got -1"),
        (("mail.tsv", "--test-share", "2"), "got 2.0 of 300"),
        (("mail.tsv", "--threshold", "-0.5"), "a threshold from 0 to 1; got -0.5"),
        (("mail.tsv", "--device", "abacus"), "'abacus'"),
    ],
)
def test_a_wrong_argument_is_one_line_without_a_traceback(mail, tmp_path, capsys, monkeypatch, arguments, got):
    written(mail, tmp_path)
    monkeypatch.chdir(tmp_path)
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (1, "")
    assert err.startswith("gpuprims: ")
    assert got in err
    assert len(err.splitlines()) == 1


def test_an_interrupt_ends_the_training_and_leaves_no_file(mail, tmp_path, monkeypatch):
    fits, fit = [], LogReg.fit

    def third(self, *given):
        fits.append(self)
        if len(fits) == 3:  # of the twenty of the cross-validation
            self.set_params(callback=lambda progress: signal.raise_signal(signal.SIGINT))
        return fit(self, *given)

    monkeypatch.setattr(LogReg, "fit", third)
    asked = [str(written(mail, tmp_path)), "--save", str(tmp_path / "model.npz"), "--device", "reference"]
    assert cli.main(["spam", *asked]) == 130
    assert len(fits) == 3
    assert fits[-1].stop_reason_ == "interrupted"
    assert [path.name for path in tmp_path.iterdir()] == ["mail.tsv"]
