"""``gpuprims tune``: a search that is shown as it goes, and the choices that are kept."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from gpuprims.core.device import Device, devices, pick_device
from gpuprims.core.tuned_choices import Entries, Place, read_entries, reset, state_of, tuning_path
from gpuprims.tuning.search import DTYPES, PRIMITIVES, Found, tune

_SECONDS = 60.0
_HEADINGS = ("primitive", "dtype", "by rank", "ms", "best", "ms", "gain", "tried")


def add_tune_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes, but for ``--device``."""
    parser.add_argument("--primitive", nargs="+", choices=PRIMITIVES, default=PRIMITIVES, help="by default all of them")
    parser.add_argument("--dtype", nargs="+", default=DTYPES, help=f"of elements ({' '.join(DTYPES)})")
    parser.add_argument("--seconds", type=float, default=_SECONDS, help=f"for the whole search ({_SECONDS:.0f})")
    parser.add_argument("--size", type=int, help="elements to measure with (2^26, on CPUs 2^24)")
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument("--show", action="store_true", help="list what is kept, and whether it is used")
    instead.add_argument("--reset", action="store_true", help="forget what is kept, with --device of that device alone")


def run_tune(chosen: argparse.Namespace) -> None:
    """Search, show or reset.

    Parameters
    ----------
    chosen : argparse.Namespace
        What :func:`add_tune_arguments` and ``--device`` give.

    Raises
    ------
    GpuprimsError
        As :func:`gpuprims.tuning.search.tune`; a file that cannot be read.
    """
    path = tuning_path()
    if path is None and (chosen.show or chosen.reset):
        print("GPUPRIMS_TUNING is off: no file is read, and nothing is used")
    elif chosen.show and path is not None:
        print(shown(path, read_entries(path)))
    elif chosen.reset and path is not None:
        _reset(path, chosen.device)
    else:
        _search(chosen)


def _search(chosen: argparse.Namespace) -> None:
    device = pick_device(None, chosen.device)
    print(f"{device.spec} {device.capabilities.name} ({device.capabilities.driver}), {chosen.seconds:g} s")
    results: list[Found] = []
    search = tune(
        device, chosen.primitive, chosen.dtype, seconds=chosen.seconds, size=chosen.size, say=_line(chosen.seconds)
    )
    try:
        for found in search:
            results.append(found)  # noqa: PERF402 - one by one, so that those before a break are there
    except KeyboardInterrupt:
        _clear()
        print(f"{table_of(results)}\nbroken off; what is listed is kept\n\nkept in {tuning_path()}")
        raise
    finally:
        _clear()
    print(f"{table_of(results)}\n\nkept in {tuning_path()}")


def table_of(results: Sequence[Found]) -> str:
    """Return a line for each primitive and dtype, and below them what was dropped, with the reasons."""
    rows = [_HEADINGS, *(_row(found) for found in results)]
    widths = [max(len(row[k]) for row in rows) for k in range(len(_HEADINGS))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    dropped = [f"dropped: {found.primitive}/{named}, {reason}" for found in results for named, reason in found.dropped]
    return "\n".join([*lines, *dropped])


def _row(found: Found) -> tuple[str, ...]:
    begin: tuple[str, ...] = (found.primitive, found.dtype)
    if found.note or found.default is None:
        return (*begin, found.note, *[""] * 5)
    begin = *begin, str(found.default), f"{found.default_seconds * 1e3:.4g}"
    if found.chosen is None:
        return (*begin, "the same", "", "", str(found.tried))
    return (*begin, str(found.chosen), f"{found.seconds * 1e3:.4g}", f"{found.gain:.2f}x", str(found.tried))


def shown(path: Path, entries: Entries) -> str:
    """Return every choice of a file, and whether it is used here."""
    if not any(entries.values()):
        return f"{path}: nothing is tuned"
    here = [Place.of(device.backend, device.capabilities) for device in (*devices(), Device("reference"))]
    lines = [f"{path}:"]
    for place, kept in entries.items():
        lines += ["", f"{place.backend} {place.device} ({place.driver}), gpuprims {place.version}"]
        for entry in kept:
            lines.append(f"  {entry.primitive:10}{entry.dtype:9}{entry.gain:.2f}x  {entry.chosen.name} {entry}")
            lines.append(f"  {'':26}for {entry.least} elements or more; {state_of(place, entry, here)}")
    return "\n".join(lines)


def _reset(path: Path, spec: str | None) -> None:
    if spec is None:
        reset(path)
        print(f"{path}: nothing is tuned")
    else:
        device = Device(spec)
        reset(path, device.backend, device.capabilities.name)
        print(f"{path}: nothing is tuned for {device.backend} {device.capabilities.name}")


def _line(seconds: float) -> Callable[[str], None]:
    """Return what shows in one line what is tried, and the time that is left, where somebody looks on."""
    end = time.monotonic() + seconds

    def say(text: str) -> None:
        if sys.stderr.isatty():
            left = max(end - time.monotonic(), 0)
            print(f"\r\x1b[K{left:4.0f} s left  {text}", end="", file=sys.stderr, flush=True)

    return say


def _clear() -> None:
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
