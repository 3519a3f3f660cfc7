"""``gpuprims tune``: search for faster kernels, and show or delete the choices in the file."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gpuprims import __version__
from gpuprims.cli.arguments import Subparsers, add_command, add_device, count, positive
from gpuprims.cli.terminal import progress, show, table
from gpuprims.core.device import Device, devices, pick_device
from gpuprims.core.tuned_choices import Entries, Entry, Place, read_entries, reset, tuning_path
from gpuprims.tuning.cases import PRIMITIVES
from gpuprims.tuning.search import DTYPES, Found, tune

if TYPE_CHECKING:
    from rich.console import RenderableType

_HEADINGS = ("primitive", "dtype", "by rank", "its ms", "best", "best ms", "gain", "tried")
_NUMBERS = "its ms", "best ms", "gain", "tried"
_ABOUT = """\
Each candidate is checked against NumPy before it is timed. The choices are kept in a file of the user's cache folder,
or in the one that GPUPRIMS_TUNING names, and calls like the measured ones use them. Leave the machine idle meanwhile.
Ctrl-C ends the search and keeps the choices so far."""
_EXAMPLES = [
    ("gpuprims tune", "one minute for the fastest device"),
    ("gpuprims tune --device opencl:cpu --primitive stencil --seconds 20", ""),
    ("gpuprims tune --show", "the choices, and whether calls use them"),
    ("gpuprims tune --reset", "forget them"),
]


def add_parser(commands: Subparsers) -> None:
    """Add the command and its arguments."""
    parser = add_command(
        commands, "tune", "search for faster kernels on a device, and use them from then on", about=_ABOUT,
        examples=_EXAMPLES,
    )  # fmt: skip
    add_device(parser)
    parser.add_argument(
        "--primitive", nargs="+", choices=PRIMITIVES, default=PRIMITIVES, metavar="NAME",
        help=f"{', '.join(PRIMITIVES)} (default: all)",
    )  # fmt: skip
    dtypes = f"dtypes of the elements (default: {' '.join(DTYPES)})"
    parser.add_argument("--dtype", nargs="+", default=DTYPES, help=dtypes)
    parser.add_argument("--seconds", type=positive, default=60, help="duration of the search")
    sizes = "number of elements to measure with (default: 2^26, on CPUs 2^24)"
    parser.add_argument("--size", type=count, metavar="N", help=sizes)
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument("--show", action="store_true", help="list the choices in the file, and whether they are used")
    instead.add_argument("--reset", action="store_true", help="delete all choices, or those of --device")


def run(chosen: argparse.Namespace) -> int:
    """Search, show or reset."""
    path = tuning_path()
    if not (chosen.show or chosen.reset):
        _search(chosen)
    elif path is None:
        print("GPUPRIMS_TUNING is off: no choices are read or used")
    elif chosen.show:
        print(shown(path, read_entries(path)))
    else:
        _reset(path, chosen.device)
    return 0


def _search(chosen: argparse.Namespace) -> None:
    device = pick_device(None, chosen.device)
    print(f"{device.spec} {device.capabilities.name} ({device.capabilities.driver}), {chosen.seconds:g} s")
    results: list[Found] = []
    try:
        with progress(chosen.seconds) as tell:
            start = time.monotonic()
            search = tune(
                device, chosen.primitive, chosen.dtype, seconds=chosen.seconds, size=chosen.size,
                say=lambda text: tell(time.monotonic() - start, text),
            )  # fmt: skip
            for found in search:
                results.append(found)  # noqa: PERF402 - Ctrl-C leaves the ones before it
    except KeyboardInterrupt:
        show(*told(results), "interrupted; the choices above are saved", "", f"saved in {tuning_path()}")
        raise
    show(*told(results), "", f"saved in {tuning_path()}")


def told(results: Sequence[Found]) -> list[RenderableType]:
    """Return a table with a line for each primitive and dtype, then the dropped candidates, with the reasons."""
    dropped = [f"dropped: {found.primitive}/{named}, {reason}" for found in results for named, reason in found.dropped]
    return [table(_HEADINGS, map(_row, results), right=_NUMBERS, fold=("by rank", "best")), *dropped]


def _row(found: Found) -> tuple[str, ...]:
    if found.note or found.default is None:
        return (found.primitive, found.dtype, found.note, *[""] * 5)
    best: tuple[str, ...] = "the same", "", ""
    if found.chosen is not None:
        best = str(found.chosen), f"{found.seconds * 1e3:.4g}", f"{found.gain:.2f}x"
    seconds = f"{found.default_seconds * 1e3:.4g}"
    return (found.primitive, found.dtype, str(found.default), seconds, *best, str(found.tried))


def shown(path: Path, entries: Entries) -> str:
    """List the choices of a file, each with its state on this machine."""
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


def state_of(place: Place, entry: Entry, here: Sequence[Place]) -> str:
    """Return "used", or the reason why this machine does not use a choice."""
    if place not in here:
        drivers = [other.driver for other in here if other[:2] == place[:2]]
        if not drivers:
            return "not used: no such device here"
        if place.driver not in drivers:
            return f"not used: the driver is {' or '.join(drivers)} now"
        return f"not used: gpuprims is {__version__} now"
    variant = entry.variant(place.backend)
    return f"not used: {variant}" if isinstance(variant, str) else "used"


def _reset(path: Path, spec: str | None) -> None:
    if spec is None:
        reset(path)
        print(f"{path}: nothing is tuned")
    else:
        device = Device(spec)
        reset(path, device.backend, device.capabilities.name)
        print(f"{path}: nothing is tuned for {device.backend} {device.capabilities.name}")
