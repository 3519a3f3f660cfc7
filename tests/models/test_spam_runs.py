"""Several trainings of the spam filter: their splits, means, spreads, table and file."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from gpuprims.cli import main as cli
from gpuprims.errors import ArgumentError
from gpuprims.models import LogReg, Mail, train_filter, train_filter_runs

PEER: Any = LogisticRegression(solver="liblinear")


@pytest.fixture(autouse=True)
def one_strength(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave cross-validation one candidate, so that it takes a quarter of the time."""
    monkeypatch.setattr("gpuprims.models.spam.training._STRENGTHS", (1.0,))


def test_each_run_is_a_training_with_the_next_seed(mail: Mail) -> None:
    counted: list[int] = []
    how: dict[str, Any] = {"n_features": 64, "test_share": 0.25, "estimator": PEER, "device": "reference"}
    found = train_filter_runs(mail, 3, seed=5, callback=counted.append, **how)
    alone = [train_filter(mail, seed=seed, **how) for seed in (5, 6, 7)]
    assert [run.parts for run in found.runs] == [run.parts for run in alone]
    assert [run.C for run in found.runs] == [run.C for run in alone]
    assert counted == [0, 1, 2]
    errors = [run.parts["test"].error for run in alone]
    assert len(set(errors)) > 1
    assert [row["test_error"] for row in found.rows()] == errors
    assert [row["seed"] for row in found.rows()] == [5, 6, 7]
    assert found.mean()["test_error"] == pytest.approx(np.mean(errors))
    assert found.spread()["test_error"] == pytest.approx(np.std(errors, ddof=1))
    table = [line.split() for line in str(found).splitlines()]
    assert [row[0] for row in table[3:]] == ["mean", "spread", "least", "most"]
    assert table[3][-1] == f"{100 * np.mean(errors):.2f}"
    assert table[6][-1] == f"{100 * max(errors):.2f}"


def test_the_first_training_does_not_count(mail: Mail) -> None:
    fits: list[int] = []

    class Counted(LogisticRegression):
        def fit(self, X: Any, y: Any) -> Any:
            fits.append(len(X))
            return super().fit(X, y)

    train_filter_runs(mail, 2, n_features=64, estimator=Counted(solver="liblinear"), device="reference")
    assert fits.count(240) == 3  # the fits to all texts of a split, beside those of cross-validation


@pytest.mark.parametrize("runs", [0, -1, 2.5, True, "3"])
def test_numbers_of_runs_that_are_wrong(mail: Mail, runs: Any) -> None:
    with pytest.raises(ArgumentError, match="spam: runs, a whole number from 1 on; got"):
        train_filter_runs(mail, runs, device="reference")


def written(mail: Mail, folder: Path) -> str:
    path = folder / "mail.tsv"
    path.write_text("".join(f"{label}\t{text}\n" for label, text in zip(mail.labels, mail.texts, strict=True)))
    return str(path)


def test_the_command_prints_mean_and_spread_and_writes_each_run(
    mail: Mail, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpuprims.models.spam.training.LogReg", lambda device, **how: LogReg(device, max_iter=5, tol=1))
    path = tmp_path / "runs.csv"
    asked = ["--features", "32", "--device", "reference", "--runs", "2", "--seed", "3", "--csv", str(path)]
    assert cli.main(["spam", written(mail, tmp_path), *asked]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.startswith("2 runs, 240 texts to train and 60 to test, 32 features, ")
    assert out.endswith(f"\n\nwritten to {path}\n")
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["seed"] for row in rows] == ["3", "4"]
    assert f"{100 * np.mean([float(row['test_error']) for row in rows]):.2f}" == out.splitlines()[3].split()[-1]
    assert all(float(row["train_seconds"]) > 0 for row in rows)


@pytest.mark.parametrize(
    ("arguments", "got"),
    [
        (("--runs", "0"), "runs, a whole number from 1 on; got 0"),
        (("--runs", "2", "--save", "model.npz"), "--save with a single training; got --runs or --csv too"),
        (("--csv", "nowhere/runs.csv"), "--csv with a file in an existing folder; got 'nowhere/runs.csv'"),
        (("--csv", "."), "--csv with a file in an existing folder; got '.'"),
    ],
)
def test_arguments_that_are_wrong(
    mail: Mail, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...], got: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert cli.main(["spam", written(mail, tmp_path), "--device", "reference", *arguments]) == 1
    assert got in capsys.readouterr().err
    assert [one.name for one in tmp_path.iterdir()] == ["mail.tsv"]


def test_labelling_takes_no_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["spam", "--load", "a.npz", "--runs", "3"]) == 1
    assert "got --runs, which are for training" in capsys.readouterr().err
