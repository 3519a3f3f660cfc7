"""End a command without a traceback on Ctrl-C, or when its output cannot be written."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress

# The status of a command that a signal ended: 128 plus the signal's number. Windows has no SIGPIPE.
INTERRUPTED = 128 + int(signal.SIGINT)
BROKEN_PIPE = 128 + int(getattr(signal, "SIGPIPE", 13))


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
        if sys.stdout is not None:  # a program may start without one
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
