"""The command line: parse the arguments and run the command's module."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from typing import NoReturn

from typing_extensions import override

import gpuprims
from gpuprims.cli import bench, demo, explain, info, kernels, spam, tune
from gpuprims.cli.terminal import run_command
from gpuprims.errors import GpuprimsError, did_you_mean

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


class _Parser(argparse.ArgumentParser):
    """A parser whose errors suggest a choice or an option that is close to a wrong one."""

    @override
    def error(self, message: str) -> NoReturn:
        """Print the usage and the message, and exit."""
        hint = ""
        if found := re.search(r"invalid choice: '(.*?)' \(choose from (.*)\)", message):
            hint = did_you_mean(found[1], [name.strip(" '") for name in found[2].split(",")])
        elif found := re.search(r"unrecognized arguments: (\S+)", message):
            option, options = found[1].partition("=")[0], self._options()
            hint = " (an option of another command)" if option in options else did_you_mean(option, options)
        super().error(message + hint)

    def _options(self) -> list[str]:
        """Return the options of all commands, because the command's own parser leaves the rest to this one."""
        parsers: list[argparse.ArgumentParser] = [self]
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                parsers += action.choices.values()
        return sorted({option for parser in parsers for option in parser._option_string_actions})


def _run(arguments: Sequence[str] | None) -> int:
    parser = _Parser(prog="gpuprims", description="Parallel primitives on any device.")
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
