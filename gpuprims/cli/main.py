"""The command line: parse the arguments and run the command's module."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Protocol

import gpuprims
from gpuprims.cli import bench, demo, explain, info, kernels, spam, tune
from gpuprims.cli.terminal import Subparsers, run_command
from gpuprims.errors import GpuprimsError


class Command(Protocol):
    """A module of this package. It adds the parser that has the module's name."""

    def add_parser(self, commands: Subparsers) -> None:
        """Add the command and its arguments to the parser."""

    def run(self, chosen: argparse.Namespace) -> int:
        """Run the command with the parsed arguments, and return the exit status."""


# All commands, in the order of ``gpuprims --help``. To add one, add its module here.
MODULES: tuple[Command, ...] = (
    info,
    explain,
    kernels,
    tune,
    bench,
    spam,
    demo,
)  # fmt: skip
COMMANDS = {str(vars(module)["__name__"]).rpartition(".")[2]: module for module in MODULES}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return the exit status: 0, or 1 after an error, which is printed as one line.

    ``bench`` also returns 1 if a result is wrong or a case became slower. The status is 130 after Ctrl-C, and 141 if
    the program that reads the output has ended.
    """
    return run_command(lambda: _run(arguments))


def _run(arguments: Sequence[str] | None) -> int:
    chosen = _parser().parse_args(arguments)
    try:
        return COMMANDS[chosen.command].run(chosen)
    except GpuprimsError as error:
        print(f"gpuprims: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="gpuprims", description="Parallel primitives on any device.")
    parser.add_argument("--version", action="version", version=f"gpuprims {gpuprims.__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    for module in MODULES:
        module.add_parser(commands)
    return parser
