"""``gpuprims bench``: where the suite lies, and what the command takes."""

from __future__ import annotations

import argparse
import importlib
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gpuprims.errors import ArgumentError, GpuprimsError

_LABEL = "bench"
_NEEDED = {"pytest": "pytest", "pytest_benchmark": "pytest-benchmark"}


def add_bench_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes, but for ``--device``."""
    parser.add_argument("--peers", action="store_true", help="other libraries in the same rounds, as far as there are")
    parser.add_argument("--full", action="store_true", help="large sizes and all cases, for a GPU")
    parser.add_argument("--variants", action="store_true", help="every kernel by name, beside the one that is chosen")
    parser.add_argument("--cases", help="names, parts of names or patterns, with semicolons between them")
    parser.add_argument("--out", type=Path, help="folder of the report and the page (gpuprims-bench)")
    parser.add_argument("--append", action="store_true", help="add to the report that is there")
    parser.add_argument("--html", action="store_true", help="draw the report as a page, with its pictures beside it")
    parser.add_argument("--from", dest="report", metavar="REPORT.json", type=Path, help="a report, in place of a run")
    parser.add_argument("--compare", metavar="OLD.json", type=Path, help="fail where something became slower")
    parser.add_argument("--band", type=float, default=0.1, help="part of a time that is noise (0.1)")
    parser.add_argument("--commit", help="what the report says was measured, where there is no git to ask")


def run_bench(chosen: argparse.Namespace) -> int:
    """Run the suite, or draw or compare what it measured before; returns the exit status.

    Parameters
    ----------
    chosen : argparse.Namespace
        What :func:`add_bench_arguments` and ``--device`` give.

    Raises
    ------
    GpuprimsError
        The suite is not here, or what it needs is not installed.
    """
    missing = [package for module, package in _NEEDED.items() if find_spec(module) is None]
    if missing:
        raise GpuprimsError(f"{_LABEL}: {' and '.join(missing)} installed; got none: pip install 'gpuprims[bench]'")
    suite = _suite()
    try:
        return int(suite.run(chosen))
    except ValueError as error:  # of reports: none, of another schema, of another device
        raise ArgumentError(str(error)) from error


def _suite() -> Any:
    """Return the suite's module: of the wheel, or of the clone that the package lies in."""
    package = Path(__file__).parents[1]
    if (package / "_bench").is_dir():
        return importlib.import_module("gpuprims._bench.command")
    if not (package.parent / "bench" / "command.py").is_file():
        raise GpuprimsError(f"{_LABEL}: the folder bench beside the package; got none in {package.parent}")
    if str(package.parent) not in sys.path:
        sys.path.insert(0, str(package.parent))
    return importlib.import_module("bench.command")
