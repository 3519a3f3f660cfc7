"""What commands share: options, tables, and an end without a traceback."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TextIO, TypeAlias

# The object that commands add their parsers to.
Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"

# The status of a command that a signal ended: 128 plus the signal's number. Windows has no SIGPIPE.
INTERRUPTED = 128 + int(signal.SIGINT)
BROKEN_PIPE = 128 + int(getattr(signal, "SIGPIPE", 13))


def add_device(parser: argparse.ArgumentParser) -> None:
    """Add ``--device``."""
    parser.add_argument("--device", help="a spec such as cuda:0, opencl:gpu, opencl:cpu or reference")


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return lines with aligned columns; all rows have the same number of cells."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def run_command(command: Callable[[], int]) -> int:
    """Run a command, flush its output, and return its exit status.

    The status is 141 if the reader of standard output went away, as with ``gpuprims explain | head``; 130 after Ctrl-C;
    1, with a line on standard error, if standard output cannot be written for another reason.
    """
    try:
        try:
            return command()
        finally:  # here, because errors at the interpreter's exit come too late
            if sys.stdout is not None:  # a program may start without standard output
                sys.stdout.flush()
    except KeyboardInterrupt:
        status = INTERRUPTED
    except BrokenPipeError:
        status = BROKEN_PIPE
    except OSError as error:
        if _writes(sys.stdout, "\n"):  # the error is about another file
            raise
        print(f"gpuprims: standard output: a place to write to; got {error}", file=sys.stderr)
        status = 1
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and not _writes(stream):
            _discard(stream)
    return status


def _writes(stream: TextIO | None, text: str = "") -> bool:
    """Return True if a stream takes a text after its unwritten output."""
    try:
        print(text, end="", file=stream, flush=True)
    except OSError:
        return False
    return True


def _discard(stream: TextIO) -> None:
    """Discard unwritten output, so that the interpreter does not try again at its exit."""
    with suppress(OSError, ValueError):  # streams of tests have no file number
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
