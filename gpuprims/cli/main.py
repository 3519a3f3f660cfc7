"""The command line: parse the arguments and run the command's module."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import NoReturn

from typing_extensions import TypeIs, override

import gpuprims
from gpuprims.cli import bench, completion, demo, explain, fingerprint, info, kernels, probe, profile, spam, tune
from gpuprims.cli.arguments import Help
from gpuprims.cli.terminal import fail, run_command
from gpuprims.errors import GpuprimsError, did_you_mean

# All commands, in the order of ``gpuprims --help``. A module has ``add_parser(commands)``, which adds the parser that
# has the module's name, and ``run(chosen)``, which takes the parsed arguments and returns the exit status.
MODULES = info, explain, kernels, tune, profile, probe, fingerprint, bench, spam, demo, completion
COMMANDS = {module.__name__.rpartition(".")[2]: module for module in MODULES}

_EPILOG = """\
gpuprims COMMAND --help shows a command's options, defaults and examples.

exit status:
  0    the command did what it was asked
  1    an error, printed to standard error; in bench also: a result is wrong, or
       a case became slower
  2    wrong arguments
  130  Ctrl-C
  141  the reader of the output closed the pipe

NO_COLOR=1 turns colours off. GPUPRIMS_DEVICE names the device where --device does not."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return the exit status that ``gpuprims --help`` lists; argparse exits with 2 by itself."""
    return run_command(lambda: _run(arguments))


class _Parser(argparse.ArgumentParser):
    """A parser whose errors suggest a choice or an option that is close to a wrong one."""

    @override
    def error(self, message: str) -> NoReturn:
        """Print the message and where help is, and exit."""
        hint = ""
        if found := re.search(r"invalid choice: '(.*?)' \(choose from (.*)\)", message):
            hint = did_you_mean(found[1], [name.strip(" '") for name in found[2].split(",")])
        fail(f"{message}{hint}\nSee {self.prog} --help")
        raise SystemExit(2)

    def refuse(self, command: str | None, rest: list[str]) -> NoReturn:
        """Exit because of words that a command does not take; suggest one of its options that is close."""
        commands = next(action.choices for action in self._actions if _is_commands(action))
        chosen = commands.get(command or "", self)
        option, own = rest[0].partition("=")[0], chosen._option_string_actions
        others = any(option in one._option_string_actions for one in commands.values())
        hint = did_you_mean(option, own) or (" (an option of another command)" if others else "")
        chosen.error(f"unrecognized arguments: {' '.join(rest)}{hint}")


def _is_commands(action: argparse.Action) -> TypeIs[argparse._SubParsersAction[argparse.ArgumentParser]]:
    return isinstance(action, argparse._SubParsersAction)


def parser() -> _Parser:
    """Return the parser of all commands."""
    about = "Parallel primitives for any array on any GPU, or on the CPU you already have."
    made = _Parser(prog="gpuprims", description=about, epilog=_EPILOG, formatter_class=Help)
    made.add_argument("--version", action="version", version=f"gpuprims {gpuprims.__version__}")
    commands = made.add_subparsers(dest="command", title="commands", metavar="COMMAND")
    for module in MODULES:
        module.add_parser(commands)
    return made


def _run(arguments: Sequence[str] | None) -> int:
    known = parser()
    chosen, rest = known.parse_known_args(arguments)
    if rest:
        known.refuse(chosen.command, rest)
    if chosen.command is None:
        known.print_help()
        return 0
    try:
        status: int = COMMANDS[chosen.command].run(chosen)
    except GpuprimsError as error:
        fail(str(error))
        return 1
    return status
