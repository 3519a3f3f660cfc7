"""What commands share: options, tables, and an end without a traceback."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeAlias

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
    """Run a command, and flush its output.

    Parameters
    ----------
    command : callable
        Returns the exit status.

    Returns
    -------
    int
        The command's status; 141 if the reader of standard output went away, as with ``gpuprims explain | head``; 130
        after Ctrl-C; 1, with a line on standard error, if standard output cannot be written for another reason.
    """
    try:
        return _written(command)
    except KeyboardInterrupt:
        status = INTERRUPTED
    except BrokenPipeError:
        status = BROKEN_PIPE
    except OSError as error:
        if _writes(sys.stdout):  # the error is about another file
            raise
        print(f"gpuprims: standard output: a place to write to; got {error}", file=sys.stderr)
        status = 1
    _let_go()
    return status


def _written(command: Callable[[], int]) -> int:
    """Run a command and flush its output here, because errors at the interpreter's exit come too late."""
    try:
        return command()
    finally:
        if sys.stdout is not None:  # a program may start without standard output
            sys.stdout.flush()


def _writes(stream: object) -> bool:
    try:
        print(file=stream, flush=True)  # type: ignore[call-overload]  # None, or a replacement of the stream
    except OSError:
        return False
    return True


def _let_go() -> None:
    """Discard unwritten output, so that the interpreter does not try again at its exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            with suppress(OSError, ValueError):  # streams of tests have no file number
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, stream.fileno())
                os.close(nowhere)
