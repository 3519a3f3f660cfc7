"""``gpuprims probe``: measure a device's latencies, bandwidths, barriers, atomics and launches."""

from __future__ import annotations

import argparse
from pathlib import Path

from gpuprims.cli.arguments import Subparsers, add_command, add_device
from gpuprims.errors import ArgumentError

_ABOUT = """\
One group repeats an operation many times, each after the one before: loads that wait for each other, barriers, atomic
additions, shuffles. Takes some ten seconds, and needs an idle device."""
_EXAMPLES = [
    ("gpuprims probe", "the fastest device, as text"),
    ("gpuprims probe --device opencl:cpu --json probe.json", "also write the numbers to a file"),
]


def add_parser(commands: Subparsers) -> None:
    """Add the command and its arguments."""
    parser = add_command(
        commands, "probe", "measure how long a device's basic operations take", about=_ABOUT, examples=_EXAMPLES
    )
    add_device(parser)
    parser.add_argument("--json", metavar="FILE", help="write all numbers to a file too")


def run(chosen: argparse.Namespace) -> int:
    """Measure, print the table, and write the file."""
    from gpuprims.profiling.probe import probe

    if chosen.json and (Path(chosen.json).is_dir() or not Path(chosen.json).resolve().parent.is_dir()):
        raise ArgumentError(f"probe: --json with a file in a folder that exists; got {chosen.json!r}")
    found = probe(chosen.device)
    print(found)
    if chosen.json:
        found.to_json(chosen.json)
    return 0
