"""The command line: parse the arguments and run the command's module."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import gpuprims
from gpuprims.cli import bench, demo, explain, info, kernels, spam, tune
from gpuprims.cli.terminal import run_command
from gpuprims.errors import GpuprimsError

# All commands, in the order of ``gpuprims --help``. A module has ``add_parser(commands)``, which adds the parser that
# has the module's name, and ``run(chosen)``, which takes the parsed arguments and returns the exit status.
MODULES = info, explain, kernels, tune, bench, spam, demo
COMMANDS = {module.__name__.rpartition(".")[2]: module for module in MODULES}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return the exit status: 0, or 1 after an error, which is printed as one line.

    ``bench`` also returns 1 if a result is wrong or a case became slower. The status is 130 after Ctrl-C, and 141 if
    the program that reads the output has ended.
    """
    return run_command(lambda: _run(arguments))


def _run(arguments: Sequence[str] | None) -> int:
    parser = argparse.ArgumentParser(prog="gpuprims", description="Parallel primitives on any device.")
    parser.add_argument("--version", action="version", version=f"gpuprims {gpuprims.__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    for module in MODULES:
        module.add_parser(commands)
    chosen = parser.parse_args(arguments)
    try:
        status: int = COMMANDS[chosen.command].run(chosen)
    except GpuprimsError as error:
        print(f"gpuprims: {error}", file=sys.stderr)
        return 1
    return status
