"""What the parsers of commands share: their help, the option ``--device``, and numbers such as ``2^20``."""

from __future__ import annotations

import argparse
import math
import re
import shutil
import textwrap
from collections.abc import Sequence
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import TypeAlias

from typing_extensions import override

from gpuprims.errors import ArgumentError, quoted

# The object that commands add their parsers to.
Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"

# Lines of help are not longer on wide terminals either.
_WIDEST = 100
# Arrays have fewer elements.
_MOST = 2**63


class Help(argparse.RawDescriptionHelpFormatter):
    """Help with the default of each option, and with examples as they are written."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26, width=min(shutil.get_terminal_size().columns, _WIDEST) - 2)
        self._action_max_length = 18  # argparse forgets that commands are indented

    @override
    def _fill_text(self, text: str, width: int, indent: str) -> str:
        """Wrap paragraphs, but for those with indented lines, such as examples."""
        parts = text.split("\n\n")
        return "\n\n".join(part if "\n  " in part else textwrap.fill(part, width) for part in parts)

    @override
    def _get_help_string(self, action: argparse.Action) -> str:
        said = action.help or ""
        known = action.default not in (None, False, argparse.SUPPRESS) and "(default" not in said
        return f"{said} (default: %(default)s)" if known else said

    @override
    def _format_action(self, action: argparse.Action) -> str:
        text = super()._format_action(action)
        if not isinstance(action, argparse._SubParsersAction):
            return text
        return text.partition("\n")[2]  # without a line for the whole list


def add_command(
    commands: Subparsers, name: str, summary: str, *, about: str = "", examples: Sequence[tuple[str, str]]
) -> argparse.ArgumentParser:
    """Add a command, with a sentence for the list of commands, a text for its help, and examples with their results."""
    return commands.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.{about and f'{chr(10) * 2}{about}'}",
        epilog=as_examples(examples),
        formatter_class=Help,
    )


def as_examples(examples: Sequence[tuple[str, str]]) -> str:
    """Return the lines of a help's examples, each a command with what it does."""
    lines = [f"  {command}{result and f'{chr(10)}      {result}'}" for command, result in examples]
    return "\n".join(["examples:", *lines])


def add_device(parser: argparse.ArgumentParser, otherwise: str = "the fastest; see gpuprims info") -> None:
    """Add ``--device``."""
    known = "a spec such as cuda:0, opencl:gpu, opencl:cpu or reference"
    parser.add_argument("--device", help=f"{known} (default: {otherwise})")


def make_folder(command: str, folder: Path) -> None:
    """Make the folder of ``--out``, or raise before a command spends its time."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        got = f"{str(folder)!r} ({error.strerror})"
        raise ArgumentError(f"{command}: --out with a folder to write to; got {got}") from error


def positive(text: str) -> float:
    """Return a positive finite number; a type of arguments.

    >>> positive("0.5")
    0.5
    """
    with suppress(ValueError):
        number = float(text)
        if 0 < number < math.inf:
            return number
    raise argparse.ArgumentTypeError(f"a positive number; got {quoted(text)}")


def count(text: str) -> int:
    """Return a whole number, written as 4096, 1_000_000, 2^20 or 1e6; a type of arguments.

    >>> count("2^20"), count("1e6"), count("1_000")
    (1048576, 1000000, 1000)
    """
    found = re.fullmatch(r"([0-9]+)\^([0-9]{1,2})|(-?[0-9][0-9_]*(\.[0-9]+)?(e[0-9]{1,2})?)", text.lower())
    number = None if found is None else Decimal(found[3]) if found[3] else Decimal(found[1]) ** int(found[2])
    if number is None or abs(number) >= _MOST or number % 1:
        raise argparse.ArgumentTypeError(f"a whole number such as 4096, 2^20 or 1e6; got {quoted(text)}")
    return int(number)
