"""``gpuprims spam``: train a spam filter on a file, or label the lines of standard input."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

from gpuprims.cli.arguments import Subparsers, add_command, add_device, count
from gpuprims.cli.terminal import progress
from gpuprims.errors import ArgumentError

# Lines to label at a time, so that memory need not hold the features of a long input.
_LINES = 4096

_ABOUT = """\
Training prints the rates of errors on the texts that it holds out, and the times of the stages. Labelling prints a
line for each line of standard input: the label, a tab, and the probability of spam. Needs gpuprims[models]."""
_EXAMPLES = [
    ("gpuprims spam messages.tsv --save filter.npz", "train, test and save"),
    ("gpuprims spam messages.tsv --features 16384 --characters 2-5 --unit-length", "for short messages"),
    ("gpuprims spam messages.tsv --runs 30 --csv runs.csv", "mean and spread over 30 splits, and a line for each"),
    ("gpuprims spam --load filter.npz < new.txt", "label"),
]


def add_parser(commands: Subparsers) -> None:
    """Add the command and its arguments. An option that is not given is None: the library has the defaults."""
    parser = add_command(
        commands, "spam", "train a spam filter on a file, or label the lines of standard input", about=_ABOUT,
        examples=_EXAMPLES,
    )  # fmt: skip
    add_device(parser)
    parser.add_argument("file", metavar="FILE", nargs="?", help="lines of a label, a tab and a text, in UTF-8")
    parser.add_argument("--features", type=count, metavar="N", help="columns that words are hashed to (default: 1024)")
    parser.add_argument("--test-share", type=float, help="share of the texts to hold out (default: 0.2)")
    parser.add_argument("--seed", type=count, metavar="N", help="seed of the split (default: 0)")
    parser.add_argument(
        "--threshold", type=float, help="lowest probability of spam (default: chosen by cross-validation)"
    )
    parser.add_argument("--word-pairs", action="store_const", const=True, help="count pairs of words too")
    parser.add_argument(
        "--characters", type=_run_lengths, metavar="LOW-HIGH", help="also count runs of so many characters, such as 2-5"
    )
    parser.add_argument(
        "--unit-length",
        action="store_const",
        const=True,
        help="scale the features of each text to length 1",
    )
    parser.add_argument("--calibrate", action="store_const", const=True, help="calibrate the probabilities")
    parser.add_argument(
        "--runs", type=count, metavar="N", help="train N times, each time with a new split; print mean and spread"
    )
    parser.add_argument("--csv", metavar="RUNS.csv", help="file to write each run's settings, time and rates to")
    parser.add_argument("--save", metavar="MODEL.npz", help="file to save the filter in")
    parser.add_argument("--load", metavar="MODEL.npz", help="filter to label the lines of standard input with")


def run(chosen: argparse.Namespace) -> int:
    """Train a filter and print its scores, or label texts."""
    if (chosen.file is None) == (chosen.load is None):
        got = "neither" if chosen.file is None else "both"
        raise ArgumentError(f"spam: a FILE to learn from, or --load with a model; got {got}")
    if chosen.load is None:
        _train(chosen)
    else:
        _label(chosen, sys.stdin.buffer)
    return 0


def _train(chosen: argparse.Namespace) -> None:
    from gpuprims.models import TextOptions, read_mail, train_filter
    from gpuprims.models.archives import checked_model_path

    repeats = chosen.runs is not None or chosen.csv is not None
    if repeats and chosen.save is not None:
        raise ArgumentError("spam: --save with a single training; got --runs or --csv too")
    if chosen.save is not None:
        checked_model_path("spam", chosen.save)  # before the work
    how = {"n_features": chosen.features, "test_share": chosen.test_share}
    how |= {"seed": chosen.seed, "threshold": chosen.threshold, "calibrate": chosen.calibrate}
    what = {"word_pairs": chosen.word_pairs, "characters": chosen.characters, "unit_length": chosen.unit_length}
    how["options"] = TextOptions(**_given(**what))
    if repeats:
        _repeat(chosen, how)
        return
    training = train_filter(read_mail(chosen.file), device=chosen.device, **_given(**how))
    if chosen.save is not None:
        training.filter.save(chosen.save)  # before printing, which may fail
    print(training)
    if chosen.save is not None:
        print(f"\nsaved in {chosen.save}")


def _repeat(chosen: argparse.Namespace, how: dict[str, Any]) -> None:
    from gpuprims.models import read_mail, train_filter_runs

    runs, mail = 1 if chosen.runs is None else chosen.runs, read_mail(chosen.file)
    if chosen.csv is not None:
        _check_writable(Path(chosen.csv))  # before the work
    with progress(max(runs, 1)) as tell:
        found = train_filter_runs(
            mail, runs, device=chosen.device, callback=lambda done: tell(done, f"run {done + 1}"), **_given(**how)
        )
    if chosen.csv is not None:
        found.to_csv(chosen.csv)
    print(found)
    if chosen.csv is not None:
        print(f"\nwritten to {chosen.csv}")


def _check_writable(path: Path) -> None:
    if path.is_dir() or not path.parent.is_dir():
        raise ArgumentError(f"spam: --csv with a file in an existing folder; got {str(path)!r}")


def _label(chosen: argparse.Namespace, lines: Iterable[bytes]) -> None:
    from gpuprims.models import SpamFilter
    from gpuprims.models.spam.mail import decoded

    of_training: tuple[str, ...]
    of_training = ("features", "test_share", "seed", "save", "word_pairs", "characters", "unit_length", "calibrate")
    of_training += ("runs", "csv")
    unused = _given(**{name: getattr(chosen, name) for name in of_training})
    if unused:
        names = " and ".join(f"--{name.replace('_', '-')}" for name in unused)
        raise ArgumentError(f"spam: --load with --threshold and --device alone; got {names}, which are for training")
    try:
        loaded = SpamFilter.load(chosen.load, device=chosen.device, **_given(threshold=chosen.threshold))
    except FileNotFoundError as error:
        raise ArgumentError(f"spam: --load with an existing file; got {chosen.load!r} ({error.strerror})") from error
    texts = (text for _, text in decoded(lines, "standard input"))
    while part := list(islice(texts, _LINES)):
        for label, probability in zip(*loaded.label(part), strict=True):
            print(f"{label}\t{probability:.4f}")


def _run_lengths(text: str) -> tuple[int, int]:
    low, dash, high = text.partition("-")
    return int(low), int(high if dash else low)


def _given(**arguments: Any) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if value is not None}
