"""What commands share: tables, colour, progress, and an end without a traceback.

rich is imported where something is printed, because ``python -m gpuprims`` imports this module first and others that
print no table need none.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from io import StringIO
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.padding import Padding
    from rich.table import Table

# The status of a command that a signal ended: 128 plus the signal's number. Windows has no SIGPIPE.
INTERRUPTED = 128 + int(signal.SIGINT)
BROKEN_PIPE = 128 + int(getattr(signal, "SIGPIPE", 13))

# The colours of cells with these texts, in every table.
_STYLES = {
    "chosen": "green", "able": "", "refused": "dim", "none": "red", "yes": "green", "no": "red", "reached": "green",
    "missed": "red", "faster": "green", "slower": "red",
}  # fmt: skip
# Columns of a pipe, where COLUMNS does not tell: tables keep each row in one line, for grep.
_UNBOUNDED = 10_000


def show(*parts: RenderableType, piped: int = _UNBOUNDED) -> None:
    """Print texts and tables: in colour and at most as wide as the terminal, or plain and ``piped`` wide to a pipe."""
    out = console(sys.stdout, piped)
    with out.capture() as held:
        out.print(*parts, sep="\n")
    text = held.get()
    if not out.is_terminal:  # rich fills the last column up
        text = "".join(f"{line.rstrip()}\n" for line in text.splitlines())
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    print(text.encode(encoding, "replace").decode(encoding), end="")


def text_of(*parts: RenderableType) -> str:
    """Return texts and tables as lines without colour."""
    out = console(StringIO())
    out.width = _UNBOUNDED
    with out.capture() as held:
        out.print(*parts, sep="\n")
    return "\n".join(line.rstrip() for line in held.get().splitlines())


def table(
    headings: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[str] = (), cut: Sequence[str] = (),
    fold: Sequence[str] = (),
) -> Table:  # fmt: skip
    """Return a table for :func:`show`.

    The headings in ``right`` name columns that are aligned right. Where a terminal is too narrow, cells of columns in
    ``cut`` are cut, and cells of columns in ``fold`` take several lines.
    """
    from rich.table import Table
    from rich.text import Text

    made = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for heading in headings:
        side: Any = "right" if heading in right else "left"
        made.add_column(Text(heading), justify=side, overflow="fold", no_wrap=heading not in {*cut, *fold})
    for row in rows:
        cells = [Text(cell, style=_STYLES.get(cell, "")) for cell in row]
        for heading, cell in zip(headings, cells, strict=True):
            if heading in cut:  # a column that is not wrapped itself would make the others narrower too
                cell.no_wrap, cell.overflow = True, "ellipsis"
        made.add_row(*cells)
    return made


def indented(text: str) -> Padding:
    """Return a text for :func:`show` that is indented by four columns on all of its lines."""
    from rich.padding import Padding
    from rich.text import Text

    return Padding(Text(text), (0, 0, 0, 4))


def console(stream: TextIO | None, piped: int = _UNBOUNDED) -> Console:
    """Return a console in memory with a stream's width and colours; rich reads NO_COLOR, FORCE_COLOR, COLUMNS and TERM.

    It writes nothing itself, because rich ends the program if the reader goes away. ``piped`` is the width of a pipe
    where COLUMNS does not tell.
    """
    from rich.console import Console

    real = Console(file=stream)
    return Console(
        file=StringIO(), force_terminal=real.is_terminal, legacy_windows=False, markup=False, highlight=False,
        emoji=False, width=real.width if real.is_terminal or "COLUMNS" in os.environ else piped,
    )  # fmt: skip


@contextmanager
def progress(total: float) -> Iterator[Callable[[float, str], None]]:
    """Show how far a command is and the time left in one line, if standard error is a terminal.

    The function that the block gets takes what is done, as a part of ``total``, and what comes now. It draws at once:
    a thread that draws would disturb measurements, and rich's own display hides the cursor, also after Ctrl-C.
    """
    stream, start = sys.stderr, time.monotonic()  # this one, also while pytest has replaced it
    out = console(stream)

    def tell(done: float, text: str) -> None:
        spent = time.monotonic() - start
        left = f"{_clock(spent * max(total / done - 1, 0))} left" if done else ""
        print(f"\r\x1b[K{_drawn(out, done / total, left, text)}", end="", file=stream, flush=True)

    try:
        yield tell if out.is_terminal else lambda done, text: None
    finally:
        if out.is_terminal:
            print("\r\x1b[K", end="", file=stream, flush=True)


def _drawn(out: Console, share: float, left: str, text: str) -> str:
    """Return a line with a bar, the time left, and a text that is cut at the terminal's width."""
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    line = Table.grid(padding=(0, 2, 0, 0))
    line.add_row(ProgressBar(1, min(share, 1), width=24), left, Text(text, no_wrap=True, overflow="ellipsis"))
    with out.capture() as held:
        out.print(line, width=out.width - 1)
    return held.get().rstrip("\n")


def _clock(seconds: float) -> str:
    """Return minutes and seconds.

    >>> _clock(75.4)
    '1:15'
    """
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def fail(message: str) -> None:
    """Print an error as a line on standard error."""
    from rich.text import Text

    out = console(sys.stderr)
    with out.capture() as held:
        out.print(Text("gpuprims: ", style="bold red"), end="")
    print(held.get() + message, file=sys.stderr)


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
