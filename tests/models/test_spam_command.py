"""The command ``gpuprims spam``."""

from __future__ import annotations

import io
import re
import signal
import sys

import pytest

from gpuprims.cli import main as cli
from gpuprims.models import LogReg, SpamFilter


def written(mail, folder):
    path = folder / "mail.tsv"
    path.write_text("".join(f"{label}\t{text}\n" for label, text in zip(mail.labels, mail.texts, strict=True)))
    return path


def run(capsys, *arguments):
    status = cli.main(["spam", *map(str, arguments)])
    shown = capsys.readouterr()
    return status, shown.out, shown.err


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
        (("nowhere.tsv",), "a readable file; got 'nowhere.tsv'"),
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
