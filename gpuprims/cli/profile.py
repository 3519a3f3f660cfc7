"""``gpuprims profile``: run a script or a module, and show what its calls cost."""

from __future__ import annotations

import argparse
import importlib.util
import os
import runpy
import sys
import traceback
from pathlib import Path
from types import TracebackType

from gpuprims.cli.arguments import Subparsers, add_command, add_device
from gpuprims.core.use_device import use_device
from gpuprims.errors import ArgumentError
from gpuprims.profiling.profile import profile

_ABOUT = """\
Prints each kernel's launches, device time, bytes and rate, as a fraction of a copy's, even if the script fails. Keeps
the script's exit status. Options of profile go before the script."""
_EXAMPLES = [
    ("gpuprims profile train.py --epochs 3", "the table, after the script's own output"),
    ("gpuprims profile --counters train.py", "also how long the steps of each kernel take"),
    ("gpuprims profile --trace trace.json -m package.train", "a module, and a timeline for Perfetto"),
]


def add_parser(commands: Subparsers) -> None:
    """Add the command and its arguments."""
    parser = add_command(
        commands, "profile", "run a script, and show what its calls launch, copy and compile", about=_ABOUT,
        examples=_EXAMPLES,
    )  # fmt: skip
    add_device(parser)
    parser.add_argument(
        "--counters", action="store_true", help="also time each kernel's steps, by clocks in the kernels"
    )
    parser.add_argument("--json", metavar="FILE", help="write all records to a file")
    parser.add_argument("--trace", metavar="FILE", help="write a trace for https://ui.perfetto.dev to a file")
    parser.add_argument("-m", dest="module", action="store_true", help="run a module, as python -m does")
    parser.add_argument("script", help="a file with a program in Python, or with -m a module")
    rest = parser.add_argument("arguments", nargs=argparse.REMAINDER, help="the script's own arguments")
    rest.required = False  # or a missing script is reported with its arguments


def run(chosen: argparse.Namespace) -> int:
    """Run the script, print the table, also if the script fails, and return the script's exit status."""
    if not chosen.module and not Path(chosen.script).exists():
        raise ArgumentError(f"profile: a script that exists; got {chosen.script!r} (for a module: profile -m)")
    sys.path.insert(0, os.getcwd() if chosen.module else str(Path(chosen.script).resolve().parent))
    if chosen.module and not _is_module(chosen.script):
        raise ArgumentError(f"profile: -m with a module that Python finds; got {chosen.script!r}")
    for file in filter(None, (chosen.json, chosen.trace)):  # now, because the script may run for long
        if not Path(file).resolve().parent.is_dir():
            raise ArgumentError(f"profile: a file in a folder that exists; got {file!r}")
    if chosen.device is not None:
        use_device(chosen.device)
    seen = profile(counters=chosen.counters)
    try:
        with seen:
            status = _run_script(chosen.script, chosen.arguments, is_module=chosen.module)
    finally:  # also after Ctrl-C
        print(seen)
        if chosen.json is not None:
            seen.to_json(chosen.json)
        if chosen.trace is not None:
            seen.to_chrome_trace(chosen.trace)
    return status


def _is_module(name: str) -> bool:
    """Return False if Python does not find a module; this imports the module's packages, which may fail."""
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError as error:
        return error.name is None or not f"{name}.".startswith(f"{error.name}.")  # a package of it lacks another


def _run_script(script: str, arguments: list[str], *, is_module: bool) -> int:
    """Run a script as Python does, and return its exit status; an error is printed."""
    sys.argv = [script, *arguments]
    try:
        if is_module:
            sys.modules.pop(f"{script}.__main__", None)  # gpuprims itself runs; runpy would warn
            runpy.run_module(script, run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except Exception as error:
        traceback.print_exception(error.with_traceback(_from_script(error.__traceback__)))
        return 1
    return 0


def _from_script(trace: TracebackType | None) -> TracebackType | None:
    """Return the part of a traceback that Python would show: from the script on, without what runs it."""
    outer = trace
    while outer is not None and outer.tb_frame.f_globals.get("__name__") in (__name__, "runpy"):
        outer = outer.tb_next
    return outer
