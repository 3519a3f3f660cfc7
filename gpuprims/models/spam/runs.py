"""Several trainings of a spam filter, each with another split: mean and spread of times and error rates."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from gpuprims.core.device import Device
from gpuprims.errors import ArgumentError, quoted
from gpuprims.models.spam.features import PLAIN, TextOptions
from gpuprims.models.spam.mail import Mail
from gpuprims.models.spam.training import Task, Training, split

_LABEL = "spam"
_PARTS = ("train", "test")
_RATES = ("true_positive_rate", "false_positive_rate", "error")


@dataclass(frozen=True)
class TrainingRuns:
    """Trainings of a spam filter on several splits; :func:`gpuprims.models.train_filter_runs` returns them.

    Parameters
    ----------
    runs : tuple of Training
    first_seed : int
        The seed of the first split. Each further run uses the next seed.
    """

    runs: tuple[Training, ...]
    first_seed: int

    def rows(self) -> list[dict[str, float]]:
        """Return a dictionary for each run: seed, settings, seconds of the fit, and rates from 0 to 1."""
        return [_row(seed, run) for seed, run in enumerate(self.runs, self.first_seed)]

    def mean(self) -> dict[str, float]:
        """Return the mean of each number of :meth:`rows`."""
        return self._folded(np.mean)

    def spread(self) -> dict[str, float]:
        """Return the standard deviation of each number of :meth:`rows`; NaN for a single run."""
        return self._folded(lambda column: np.std(column, ddof=1) if len(column) > 1 else np.nan)

    def to_csv(self, path: str | PathLike[str]) -> None:
        """Write :meth:`rows` to a CSV file with a header line.

        Raises
        ------
        ArgumentError
            The file cannot be written.
        """
        rows = self.rows()
        try:
            with open(path, "w", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
                writer.writeheader()
                writer.writerows(rows)
        except OSError as error:
            got = f"{str(path)!r} ({error.strerror})"
            raise ArgumentError(f"{_LABEL}: a CSV file that can be written; got {got}") from error

    def __str__(self) -> str:
        """Return a table of percentages with the columns of the thesis' Figure 11: mean, spread, least and most."""
        heads = ["", "train ms", *(f"{part} {name} %" for part in _PARTS for name in ("TPR", "FPR", "error"))]
        folds = {"mean": self.mean(), "spread": self.spread()}
        folds |= {"least": self._folded(np.min), "most": self._folded(np.max)}
        table = [heads, *([name, *_cells(found)] for name, found in folds.items())]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = ("  ".join([first.ljust(widths[0]), *map(str.rjust, others, widths[1:])]) for first, *others in table)
        train, test = (self.runs[0].parts[part] for part in _PARTS)
        last = self.rows()[-1]["iterations"]
        about = f"{len(self.runs)} runs, {train.samples:,} texts to train and {test.samples:,} to test, "
        about += f"{self.runs[0].filter.n_features:,} features"
        about += "" if np.isnan(last) else f", {last:,.0f} iterations in the last run"
        return "\n".join([about, "", *lines])

    def _folded(self, fold: Callable[[Any], Any]) -> dict[str, float]:
        rows = self.rows()
        return {name: float(fold(np.array([row[name] for row in rows]))) for name in rows[0] if name != "seed"}


def train_filter_runs(
    mail: Mail,
    runs: int = 30,
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
    callback: Callable[[int], None] | None = None,
) -> TrainingRuns:
    """Train and test a spam filter several times, each time on texts that are shuffled and split anew.

    Parameters
    ----------
    mail : Mail
        Texts of two labels.
    runs : int, default 30
        Number of trainings. Another one before them compiles the kernels and does not count.
    seed : int, default 0
        Seed of the first split. Each further run uses the next seed.
    n_features, test_share, threshold, positive, device, estimator, options, calibrate
        As for :func:`gpuprims.models.train_filter`.
    callback : callable, optional
        Called before each run, with the number of completed runs.

    Returns
    -------
    TrainingRuns

    Raises
    ------
    ArgumentError
        ``runs`` is less than 1, or :func:`gpuprims.models.train_filter` refuses an argument.

    Notes
    -----
    Source of the protocol: J. Selig, "Hardware Accelerated Machine Learning Via Parallel Programming on GPUs", 2017,
    section 3.2.2. Words are hashed once for all runs.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from gpuprims.models import generated_mail, train_filter_runs
    >>> model = LogisticRegression(solver="liblinear")
    >>> found = train_filter_runs(generated_mail(200), 2, device="reference", estimator=model)
    >>> len(found.runs), found.mean()["test_error"] < 0.4
    (2, True)
    """
    number: Any = runs
    if not isinstance(number, int | np.integer) or isinstance(number, bool) or number < 1:
        raise ArgumentError(f"{_LABEL}: runs, a whole number from 1 on; got {quoted(runs)}")
    task = Task(mail, n_features, threshold, positive, device, estimator, options, calibrate)
    splits = [split(mail.labels, test_share, seed + k) for k in range(runs)]
    features = task.hashed({})
    task.trained(features, splits[0], seed, {})
    found = []
    for k, parts in enumerate(splits):
        if callback is not None:
            callback(k)
        found.append(task.trained(features, parts, seed + k, {}))
    return TrainingRuns(tuple(found), seed)


def _row(seed: int, run: Training) -> dict[str, float]:
    iterations = getattr(run.filter.model, "n_iter_", np.nan)
    row: dict[str, float] = {"seed": seed, "C": run.C, "threshold": run.filter.threshold}
    row |= {"iterations": np.max(iterations).item(), "train_seconds": run.seconds["training"]}
    rates = {f"{part}_{name}": getattr(run.parts[part], name) for part in _PARTS for name in _RATES}
    return row | rates


def _cells(found: dict[str, float]) -> list[str]:
    rates = (found[f"{part}_{name}"] for part in _PARTS for name in _RATES)
    return [_number(1e3 * found["train_seconds"]), *(_number(100 * rate) for rate in rates)]


def _number(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.2f}"
