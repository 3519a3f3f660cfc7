"""How a command ends when its output cannot be written or its user presses Ctrl-C: without a traceback."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress

# What shells show for a command that a signal ended: 128 and its number. Windows has no SIGPIPE.
INTERRUPTED = 128 + int(signal.SIGINT)
BROKEN_PIPE = 128 + int(getattr(signal, "SIGPIPE", 13))


def run_command(command: Callable[[], int]) -> int:
    """Run a command, and write out all that it has printed.

    Parameters
    ----------
    command : callable
        Returns the exit status.

    Returns
    -------
    int
        That of the command; 141 where standard output was closed before everything was written, as by
        ``gpuprims explain | head``; 130 after Ctrl-C; 1, and a line on standard error, where standard output cannot be
        written to for another reason.
    """
    try:
        return _written(command)
    except KeyboardInterrupt:
        status = INTERRUPTED
    except BrokenPipeError:
        status = BROKEN_PIPE
    except OSError as error:
        if _writes(sys.stdout):  # of something else
            raise
        print(f"gpuprims: standard output: a place to write to; got {error}", file=sys.stderr)
        status = 1
    _let_go()
    return status


def _written(command: Callable[[], int]) -> int:
    """Run a command, and write out what is left in memory: when the interpreter does so, it is too late for errors."""
    try:
        return command()
    finally:
        if sys.stdout is not None:  # which it is where a program was started without one
            sys.stdout.flush()


def _writes(stream: object) -> bool:
    try:
        print(file=stream, flush=True)  # type: ignore[call-overload]  # None, or whatever stands for the stream
    except OSError:
        return False
    return True


def _let_go() -> None:
    """Send what could not be written nowhere, so that the interpreter does not try it again when it ends."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            with suppress(OSError, ValueError):  # streams of tests have no number
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, stream.fileno())
                os.close(nowhere)
